"""Choose the labelled pairs of a dataset, and their splits: in the challenge's way, or all
pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
import pandas as pd

from core.base.errors import InputError, SettingError
from core.base.fields.record import check_values
from core.base.fields.setting import Count, Share, Whole, setting
from core.features.cells.labels import DOWN, NONE, UP
from core.stats.arrays import Floats

SPLITS = ("train", "validation", "test")
NAMES = {UP: "up", DOWN: "down", NONE: "none"}


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How rows are chosen.

    all_pairs: every labelled pair of a split, instead of a sample. most_effects: of a perturbation,
    those with the lowest FDR. least_effects: perturbations that change fewer genes are left out.
    pert_shares, gene_shares: of train, validation and test.
    """

    all_pairs: Annotated[
        bool,
        setting(
            "Every labelled pair of a split, not a sample.",
            title="All labelled pairs, not a sample",
        ),
    ] = False
    most_effects: Annotated[
        Count,
        setting(
            "The most effects of a perturbation.",
            title="Most effects of a perturbation",
            key="most",
        ),
    ] = 9
    least_effects: Annotated[
        Count,
        setting(
            "Perturbations that change fewer genes are left out.",
            title="Least effects of a perturbation",
            key="least",
        ),
    ] = 9
    pert_shares: Annotated[
        tuple[Share, Share, Share],
        setting(
            "Shares of perturbations: train, validation, test.", title="Shares of perturbations"
        ),
    ] = (0.8, 0.1, 0.1)
    gene_shares: Annotated[
        tuple[Share, Share, Share],
        setting("Shares of genes: train, validation, test.", title="Shares of genes"),
    ] = (0.6, 0.2, 0.2)
    seed: Annotated[Whole, setting("The seed of splits and sample.", title="Seed")] = 0

    def __post_init__(self) -> None:
        check_values(self)
        for name, shares in (("pert_shares", self.pert_shares), ("gene_shares", self.gene_shares)):
            if abs(sum(shares) - 1) > 1e-9 or shares[0] == 0:
                raise SettingError(
                    name, f"got {shares}, expected those of {', '.join(SPLITS)}, which sum to 1"
                )


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The chosen rows.

    rows: pert, gene (positions), label ("up", "down", "none"), split, in random order. pert_split,
    gene_split: positions in SPLITS, of shape (n_perts,) and (n_genes,); -1 for perturbations with
    too few effects. short: how many rows of label none a perturbation or gene should have had, but
    no such pair was left.
    """

    rows: pd.DataFrame
    pert_split: np.ndarray
    gene_split: np.ndarray
    short: int


def sample_pairs(codes: np.ndarray, fdr: Floats, settings: SamplingSettings) -> Sample:
    """Return the rows of a dataset; codes and fdr of shape (n_perts, n_genes), codes as in
    `label_pairs`.

    Perturbations and genes are split apart, each at random, and a split's rows are pairs of its own
    perturbations and genes, so that two splits share neither. In a sample, a perturbation keeps its
    effects with the lowest FDR (ties: at random); a gene then gets as many pairs of label none as
    it has effects, and a perturbation with fewer of these than effects is filled up, first from
    genes without effects. Raise InputError if no row is left.
    """
    rng = np.random.default_rng(settings.seed)
    is_effect = (codes == UP) | (codes == DOWN)
    eligible = is_effect.sum(axis=1) >= settings.least_effects
    pert_split = _assign_splits(eligible, settings.pert_shares, rng)
    gene_split = _assign_splits(np.ones(codes.shape[1], dtype=bool), settings.gene_shares, rng)
    chosen = np.zeros(codes.shape, dtype=bool)
    short = 0
    for split in range(len(SPLITS)):
        within = (pert_split == split)[:, None] & (gene_split == split)
        effects, none = is_effect & within, (codes == NONE) & within
        if settings.all_pairs:
            chosen |= effects | none
            continue
        order = np.lexsort((rng.random(fdr.shape), np.where(effects, fdr, np.inf)), axis=1)
        lowest = np.zeros_like(effects)
        np.put_along_axis(lowest, order[:, : settings.most_effects], True, axis=1)
        effects &= lowest
        negatives, missing = _choose_negatives(effects, none, rng)
        chosen |= effects | negatives
        short += missing
    rows = _rows(chosen, codes, pert_split, rng)
    if rows.empty:
        raise InputError(
            f"no row is left: {int(eligible.sum())} of {len(codes)} perturbations change at least"
            f" {settings.least_effects} genes. Lower --least-effects, or the thresholds of an"
            " effect"
        )
    return Sample(rows, pert_split, gene_split, short)


def _assign_splits(
    included: np.ndarray, shares: Sequence[float], rng: np.random.Generator
) -> np.ndarray:
    """Return a split for each that is included, in the shares given (rounded), at random; -1 for
    the others."""
    positions = rng.permutation(np.flatnonzero(included))
    bounds = np.round(np.cumsum([0, *shares]) * len(positions)).astype(int)
    assigned = np.full(len(included), -1)
    for split, (start, stop) in enumerate(pairwise(bounds.tolist())):
        assigned[positions[start:stop]] = split
    return assigned


def _choose_negatives(
    effects: np.ndarray, none: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Return which pairs of label none are chosen (bool), and how many more should have been, but
    there are none."""
    by_gene = _draw(none.T, effects.sum(axis=0), rng.random(none.T.shape)).T
    quiet = ~effects.any(axis=0)
    wanted = np.maximum(effects.sum(axis=1) - by_gene.sum(axis=1), 0)
    filled = _draw(none & ~by_gene, wanted, rng.random(none.shape) + np.where(quiet, 0, 1))
    short = int(
        (effects.sum(axis=0) - by_gene.sum(axis=0)).sum() + (wanted - filled.sum(axis=1)).sum()
    )
    return by_gene | filled, short


def _draw(candidates: np.ndarray, wanted: np.ndarray, keys: Floats) -> np.ndarray:
    """Returns, of each row's candidates (bool), the `wanted` with the lowest keys, or all if there
    are fewer."""
    order = np.argsort(np.where(candidates, keys, np.inf), axis=1)
    rank = np.argsort(order, axis=1)
    return candidates & (rank < wanted[:, None])


def _rows(
    chosen: np.ndarray, codes: np.ndarray, pert_split: np.ndarray, rng: np.random.Generator
) -> pd.DataFrame:
    pert, gene = np.nonzero(chosen)
    mixed = rng.permutation(len(pert))
    pert, gene = pert[mixed], gene[mixed]
    label = [NAMES[code] for code in codes[pert, gene].tolist()]
    split = [SPLITS[i] for i in pert_split[pert].tolist()]
    return pd.DataFrame({"pert": pert, "gene": gene, "label": label, "split": split}).astype(
        {"label": object, "split": object}
    )
