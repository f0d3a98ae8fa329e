"""Simulated CRISPRi screens whose true effects are known: gene programs, guides that fail, doubles,
batches, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.stats.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

CONTROL_CONDITION, CONTROL_PERTURBATION = "ctrl", "non-targeting"
_CELLS_AT_ONCE = 2_000
_SMALLEST_EFFECT = 0.02  # in natural log; smaller changes are not effects


@dataclass(frozen=True, slots=True)
class ScreenSettings:
    """What a simulated screen is like.

    n_perturbations: genes that guides target one at a time; n_doubles: pairs of these that are
    targeted together. n_guides: a gene. share_control: of cells. share_in_programs: of genes, the
    others change only when their own guide is there. share_failed_guides: of guides, which change
    nothing. knockdown: the share of a target's expression that a working guide takes away. effect:
    the size of effects, in natural log per unit of two loadings. dispersion: of the negative
    binomial, variance = mean + dispersion * mean². depth: the median of a cell's counts, per gene.
    """

    n_cells: int
    n_genes: int
    n_perturbations: int
    n_doubles: int = 0
    n_programs: int = 12
    n_batches: int = 2
    n_guides: int = 3
    share_control: float = 0.1
    share_in_programs: float = 0.5
    share_failed_guides: float = 0.1
    knockdown: float = 0.8
    effect: float = 0.8
    dispersion: float = 0.15
    depth: float = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedScreen:
    """A simulated screen and its truth.

    counts: int32 of shape (n_cells, n_genes). obs: a row for each cell with condition ("ctrl",
    "A+ctrl", "A+B"), perturbation ("non-targeting", "A", "A+B"), guide and batch. true_log2_fc: of
    shape (n_conditions, n_genes), the log2 of a condition's expected share of a gene over the
    controls', by perturbation (rows) and gene (columns), with failed guides counted in; exactly 0
    for genes without an effect.
    """

    counts: csr_matrix
    genes: tuple[str, ...]
    obs: pd.DataFrame
    true_log2_fc: pd.DataFrame
    failed_guides: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    """baseline of shape (n_genes,) sums to 1; loadings of shape (n_genes, n_programs); regulation
    of shape (n_programs, n_programs): how the genes of one program, knocked down, change another;
    batch_effects of shape (n_batches, n_genes)."""

    baseline: np.ndarray
    loadings: np.ndarray
    regulation: np.ndarray
    batch_effects: np.ndarray


def simulate_screen(settings: ScreenSettings, seed: int) -> SimulatedScreen:
    """Return a screen: the same settings and seed return the same counts.

    A knockdown changes the programs of its gene, and the programs change their genes, so genes of
    the same programs have similar effects. Effects do not change the sum of expression, so a gene
    without an effect keeps its share.
    """
    rng = np.random.default_rng(seed)
    genes = tuple(f"G{i:0{len(str(settings.n_genes))}d}" for i in range(1, settings.n_genes + 1))
    world = _draw_world(settings, rng)
    # the genes of each condition but the control: singles among the better expressed half, then
    # doubles of these
    n = settings.n_perturbations
    pool = np.argsort(-world.baseline, kind="stable")[: max(n, settings.n_genes // 2)]
    singles = np.sort(rng.choice(pool, n, replace=False))
    first, second = np.triu_indices(n, 1)
    chosen: list[int] = (
        rng.choice(len(first), settings.n_doubles, replace=False).tolist()
        if settings.n_doubles
        else []
    )
    doubles = [(int(singles[first[k]]), int(singles[second[k]])) for k in chosen]
    targets: list[tuple[int, ...]] = [*((int(i),) for i in singles), *doubles]
    effects = {condition: _log_effects(condition, world, settings) for condition in targets}
    obs, condition_of_cell = _draw_cells(settings, genes, targets, rng)
    guides = np.unique(
        obs["guide"].to_numpy(dtype=str)[obs["perturbation"].ne(CONTROL_PERTURBATION).to_numpy()]
    )
    failed = tuple(map(str, guides[rng.random(len(guides)) < settings.share_failed_guides]))
    works = ~obs["guide"].isin(failed).to_numpy() & (condition_of_cell >= 0)
    # the last for cells without an effect
    log_folds = np.vstack([*effects.values(), np.zeros(settings.n_genes)])
    effect_of_cell = np.where(works, condition_of_cell, -1)
    counts = _draw_counts(
        settings, world, log_folds, effect_of_cell, obs["batch"].cat.codes.to_numpy(), rng
    )
    names = [_perturbation_name(condition, genes) for condition in targets]
    n_cells = np.bincount(condition_of_cell[condition_of_cell >= 0], minlength=len(effects))
    n_works = np.bincount(condition_of_cell[works], minlength=len(effects))
    share = np.divide(n_works, n_cells, out=np.zeros(len(effects)), where=n_cells > 0)
    truth = np.log2(1 + share[:, None] * np.expm1(np.vstack([*effects.values()])))
    return SimulatedScreen(
        counts, genes, obs, pd.DataFrame(truth, index=names, columns=list(genes)), failed
    )


def _draw_world(settings: ScreenSettings, rng: np.random.Generator) -> _World:
    n_genes, n_programs = settings.n_genes, settings.n_programs
    baseline = rng.lognormal(0, 1.2, n_genes)
    loadings = np.zeros((n_genes, n_programs))
    members = np.flatnonzero(rng.random(n_genes) < settings.share_in_programs)
    loadings[members, rng.integers(n_programs, size=len(members))] = rng.choice(
        [-1.0, 1.0], len(members)
    ) * rng.uniform(0.5, 1.5, len(members))
    regulation = np.eye(n_programs)
    if n_programs > 1:
        others = (np.arange(n_programs) + rng.integers(1, n_programs, size=n_programs)) % n_programs
        regulation[np.arange(n_programs), others] = rng.choice([-0.7, 0.7], n_programs)
    return _World(
        baseline / baseline.sum(),
        loadings,
        regulation,
        rng.normal(0, 0.1, (settings.n_batches, n_genes)),
    )


def _log_effects(targets: Sequence[int], world: _World, settings: ScreenSettings) -> Floats:
    """Return the natural log of a working guide's fold changes, of shape (n_genes,): programs
    first, then its own targets.

    All genes with an effect get the same factor, so that the sum of expression stays.
    """
    activity = -settings.effect * world.loadings[list(targets)].sum(axis=0) @ world.regulation
    log_fold: Floats = world.loadings @ activity
    log_fold[np.abs(log_fold) < _SMALLEST_EFFECT] = 0
    log_fold[list(targets)] = np.log1p(-settings.knockdown)
    changed = np.flatnonzero(log_fold)
    others = np.setdiff1d(changed, targets)
    if len(others):
        lost = (
            (world.baseline[changed]).sum()
            - (world.baseline[list(targets)] * np.exp(log_fold[list(targets)])).sum()
        )
        log_fold[others] += np.log(lost / (world.baseline[others] * np.exp(log_fold[others])).sum())
    return log_fold


def _draw_cells(
    settings: ScreenSettings,
    genes: tuple[str, ...],
    targets: Sequence[Sequence[int]],
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return obs, and the condition of each cell of shape (n_cells,), -1 for a control, in random
    order."""
    n_control = round(settings.n_cells * settings.share_control)
    condition = np.concatenate(
        [np.full(n_control, -1), np.arange(settings.n_cells - n_control) % len(targets)]
    )
    rng.shuffle(condition)
    names = [_perturbation_name(each, genes) for each in targets] + [CONTROL_PERTURBATION]
    perturbation = np.array(names)[condition]
    guide = np.char.add(
        np.char.add(perturbation, "_"),
        (rng.integers(settings.n_guides, size=len(condition)) + 1).astype(str),
    )
    conditions = [name if "+" in name else f"{name}+{CONTROL_CONDITION}" for name in names[:-1]] + [
        CONTROL_CONDITION
    ]
    batch = np.char.add(
        "batch", (rng.integers(settings.n_batches, size=len(condition)) + 1).astype(str)
    )
    columns = {
        "condition": np.array(conditions)[condition],
        "perturbation": perturbation,
        "guide": guide,
        "batch": batch,
    }
    index = [f"cell{i}" for i in range(1, len(condition) + 1)]
    return pd.DataFrame(
        {name: pd.Categorical(values) for name, values in columns.items()}, index=index
    ), condition


def _perturbation_name(targets: Sequence[int], genes: tuple[str, ...]) -> str:
    return "+".join(sorted(genes[i] for i in targets))


def _draw_counts(
    settings: ScreenSettings,
    world: _World,
    log_folds: Floats,
    effect: np.ndarray,
    batch: np.ndarray,
    rng: np.random.Generator,
) -> csr_matrix:
    """Return counts of a negative binomial (gamma, then Poisson)."""
    from scipy.sparse import csr_matrix, vstack

    shape = 1 / settings.dispersion
    blocks = []
    for start in range(0, settings.n_cells, _CELLS_AT_ONCE):
        rows = slice(start, min(start + _CELLS_AT_ONCE, settings.n_cells))
        n = rows.stop - rows.start
        activity = rng.normal(0, 0.2, (n, settings.n_programs))
        log_mean = (
            log_folds[effect[rows]] + world.batch_effects[batch[rows]] + activity @ world.loadings.T
        )
        mean = world.baseline * np.exp(log_mean)
        mean *= rng.lognormal(np.log(settings.depth * settings.n_genes), 0.35, (n, 1)) / mean.sum(
            axis=1, keepdims=True
        )
        blocks.append(
            csr_matrix(rng.poisson(mean * rng.gamma(shape, 1 / shape, mean.shape)).astype(np.int32))
        )
    return vstack(blocks, format="csr")
