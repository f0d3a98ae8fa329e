"""Labels of (perturbation, gene) pairs from differential expression: up, down, none, or neither of
these (left out)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd
from annotated_types import Gt, Le

from core.base.errors import InputError, SettingError
from core.base.fields.record import check_values
from core.base.fields.setting import Count, Positive, Share, Whole, setting
from core.base.result import LabelMarks
from core.features.cells.columns import GeneNames
from core.features.cells.comparisons import MockChanges
from core.features.cells.differential_expression import GeneChanges, GuideExpression
from core.stats.arrays import Floats
from core.stats.multiplicity import benjamini_hochberg

UP, DOWN, NONE, LEFT_OUT = 1, -1, 0, 2  # codes of labels
MOST_REMAINING = 0.7  # the share of a target's expression that a working guide may leave


_HALF_MORE: Final = math.log2(1.5)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The definition of up, down and none; pairs in between are left out.

    up or down: FDR < fdr and |log2 fold change| ≥ log2_fc. none: FDR ≥ none_fdr and |log2 fold
    change| < none_log2_fc. Source: the BioReasoning challenge, whose fold changes are shrunk; these
    are not.
    """

    fdr: Annotated[
        float, Gt(0), Le(1), setting("Up or down: FDR below this.", title="Up or down: FDR below")
    ] = 0.05
    log2_fc: Annotated[
        Positive,
        setting(
            "Up or down: |log2 fold change| of at least this.",
            title="… and |log2 fold change| from",
        ),
    ] = _HALF_MORE
    none_fdr: Annotated[
        float, Gt(0), Le(1), setting("None: FDR of at least this.", title="None: FDR from")
    ] = 0.05
    none_log2_fc: Annotated[
        Positive,
        setting("None: |log2 fold change| below this.", title="… and |log2 fold change| below"),
    ] = 0.25

    def __post_init__(self) -> None:
        check_values(self)
        if self.none_log2_fc > self.log2_fc:
            raise InputError(
                f"log2 fold changes: got {self.log2_fc:g} for an effect and {self.none_log2_fc:g}"
                " for none, expected the first not below the second"
            )
        if self.none_fdr < self.fdr:
            raise InputError(
                f"FDR of none: got {self.none_fdr:g}, expected at least the FDR of an effect"
                f" ({self.fdr:g})"
            )


def label_pairs(
    changes: GeneChanges, targets: Iterable[str], genes: GeneNames, thresholds: Thresholds
) -> np.ndarray:
    """Return the code of each pair's label (UP, DOWN, NONE, LEFT_OUT), int8 of shape (n_targets,
    n_genes).

    An effect is one of the replicates, too, where they were tested. A perturbation's own target is
    left out, since that it falls says only that the guide works; so are genes without a p.
    """
    size = np.abs(changes.log2_fc)
    effect = (changes.fdr < thresholds.fdr) & (size >= thresholds.log2_fc)
    if changes.replicates is not None:  # NaN where a perturbation has none
        effect &= ~(changes.replicates.fdr >= thresholds.fdr)
    codes = np.full(size.shape, LEFT_OUT, dtype=np.int8)
    codes[(changes.fdr >= thresholds.none_fdr) & (size < thresholds.none_log2_fc)] = NONE
    codes[effect] = np.where(changes.log2_fc[effect] > 0, UP, DOWN)
    position = {gene: i for i, gene in enumerate(genes.names)}
    for i, target in enumerate(targets):
        for own in genes.ambiguous.get(target, (target,)):  # several share its name
            if own in position:
                codes[i, position[own]] = LEFT_OUT
    return codes


def knockdown_table(
    guides: Iterable[GuideExpression], most_remaining: float = MOST_REMAINING
) -> pd.DataFrame:
    """Return a row for each perturbation (guide "") and guide: target, guide, n_cells, mean,
    control_mean, remaining, failed.

    remaining: the target's mean expression over the controls', NaN where these do not express it.
    failed: above `most_remaining`; None if unknown.
    """
    table = pd.DataFrame([*guides], columns=[*GuideExpression._fields])
    remaining = (table["mean"] / table["control_mean"].where(table["control_mean"] > 0)).astype(
        float
    )
    failed = (remaining > most_remaining).astype("boolean").mask(remaining.isna())
    return table.assign(remaining=remaining, failed=failed)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How many effects are found if there are none.

    mocks, cells, guides, genes: how many were drawn, of how many genes. false_effects: a mock's
    mean number of labels up or down, for all genes. real_effects: a perturbation's mean number.
    false_share: the mean share of a perturbation's effects that mocks have too: of one effect where
    a perturbation has fewer, of all at most. nominal: what the FDR allows. p_below: the share of
    the mocks' p (of cells) below 5%.
    """

    mocks: int
    cells: int
    guides: int
    genes: int
    of_genes: int
    false_effects: float
    real_effects: float
    false_share: float
    nominal: float
    p_below: float

    @property
    def marked(self) -> bool:
        """Whether the rate of false effects exceeds twice the nominal rate."""
        return LabelMarks(self.false_share, self.nominal).marked

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"marked": self.marked}


def calibrate(
    changes: MockChanges, thresholds: Thresholds, real_effects: float, n_genes: int
) -> Calibration:
    """Return how often the same thresholds call effects in mocks. real_effects: a perturbation's
    mean number."""
    mocks = changes.mocks
    fdr, replicate_fdr = (
        np.apply_along_axis(benjamini_hochberg, 1, p) for p in (changes.p, changes.replicate_p)
    )
    found = (
        (fdr < thresholds.fdr)
        & (np.abs(changes.log2_fc) >= thresholds.log2_fc)
        & ~(replicate_fdr >= thresholds.fdr)
    )
    effects = found.sum(axis=1)
    scaled = effects * n_genes / len(mocks.genes)
    known = changes.p[np.isfinite(changes.p)]
    return Calibration(
        mocks=len(effects),
        cells=int(np.median([len(each.cells) for each in mocks.groups])),
        guides=mocks.n_guides,
        genes=len(mocks.genes),
        of_genes=n_genes,
        false_effects=float(scaled.mean()),
        real_effects=real_effects,
        false_share=float(np.minimum(scaled / max(1.0, real_effects), 1).mean()),
        nominal=thresholds.fdr,
        p_below=float((known < 0.05).mean()) if len(known) else 0.0,
    )


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
