"""Bootstrap of scores and of paired differences: rows, perturbations, genes, or both axes at once.

Rows are sorted once. A resample is a vector of weights, one per unit (how often it was drawn);
blocks of resamples of bounded memory are scored together (see `weighted_auroc`). Two runs are
always scored under the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats import validate
from core.stats.arrays import Codes, Floats, count_codes
from core.stats.auroc import weighted_auroc
from core.stats.delong import two_way_variance
from core.stats.intervals import Interval, Resampled, normal_interval
from core.stats.scores_and_labels import Outcome, Scores, outcome_of, shared_rows, tasks

ResamplingUnit = Literal["row", "pert", "gene", "two-way"]
BLOCK_WEIGHTS = 1 << 19  # weights in memory at once: 4 MiB, which fit in a processor's caches


@dataclass(frozen=True, slots=True)
class ResamplingPlan:
    """What is resampled, how often, and from which seed.

    unit: row, pert, gene, or two-way (both axes are resampled and a row's weight is the product:
    conservative). size: units drawn in a resample, as a share of all units (other than 1 for
    another sample size).
    """

    unit: ResamplingUnit
    seed: int
    resamples: int = 4000
    size: float = 1.0

    def __post_init__(self) -> None:
        if self.unit not in get_args(ResamplingUnit):
            raise InputError(f"unit: got {self.unit!r}; expected row, pert, gene or two-way")
        validate.whole_number("seed", self.seed, 0)
        validate.whole_number("resamples", self.resamples, 2)
        validate.between("size", self.size, 0, float("inf"))


@dataclass(frozen=True, slots=True)
class ScoreBootstrap:
    """DE, DIR and their mean (or the differences b - a in them), each with its bootstrap
    interval."""

    de: Resampled
    dir: Resampled
    mean: Resampled


def bootstrap_score(
    labels: ArrayLike, scores: Scores, plan: ResamplingPlan, pert: ArrayLike, gene: ArrayLike
) -> ScoreBootstrap:
    """Bootstrap one run's DE, DIR and mean over its labelled rows; every array of shape
    (n_rows,)."""
    return _bootstrap_scores(_labelled_rows(labels, [scores], pert, gene), plan)


def bootstrap_difference(
    labels: ArrayLike, a: Scores, b: Scores, plan: ResamplingPlan, pert: ArrayLike, gene: ArrayLike
) -> ScoreBootstrap:
    """Bootstrap the differences b - a in DE, DIR and mean: both runs are scored in the same
    resamples."""
    return _bootstrap_scores(_labelled_rows(labels, shared_rows(a, b), pert, gene), plan)


def combine_axes(row: Resampled, pert: Resampled, gene: Resampled) -> Interval:
    """Return the interval over both axes of one score by V_pert + V_gene - V_row, from its three
    bootstraps."""
    variance = two_way_variance(*(np.array([one.se**2]) for one in (row, pert, gene)))[0]
    return normal_interval(
        row.estimate, variance, row.n, "two-way", "bootstrap, V_pert + V_gene - V_row"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _LabelledRows:
    """The labelled rows: their outcome, the scores of one or two runs, and the codes of both
    axes."""

    outcome: Outcome
    runs: list[Scores]
    pert: Codes
    gene: Codes

    def units(self, unit: ResamplingUnit) -> list[Codes]:
        """Return, for each resampled axis, the unit of every row: codes of shape (n_rows,)."""
        every_row: Codes = np.arange(len(self.pert), dtype=np.intp)
        axes = {
            "row": [every_row],
            "pert": [self.pert],
            "gene": [self.gene],
            "two-way": [self.pert, self.gene],
        }
        return axes[unit]


def _labelled_rows(
    labels: ArrayLike, runs: Sequence[Scores], pert: ArrayLike, gene: ArrayLike
) -> _LabelledRows:
    outcome = outcome_of(labels)
    chosen = outcome.labelled
    perts, genes = validate.axes(pert, gene)
    for run in runs:
        validate.same_length(labels=chosen, scores=run, pert=perts, gene=genes)
    taken = [run.take(chosen) for run in runs]
    return _LabelledRows(outcome.take(chosen), taken, *validate.axes(perts[chosen], genes[chosen]))


def resampling_weights(axes: Sequence[Codes], plan: ResamplingPlan) -> Iterator[Floats]:
    """Yield weights in blocks of shape (n_units, n_resamples in the block).

    axes: the unit of each row on each resampled axis. For one axis, weights belong to its units,
    drawn with replacement; for two, to the rows, as the product over the axes. Each axis has its
    own random stream, so that the resamples do not depend on the size of the blocks.
    """
    streams = [np.random.default_rng([plan.seed, axis]) for axis in range(len(axes))]
    n_rows = max(1, len(axes[0]))
    block = max(1, BLOCK_WEIGHTS // n_rows)
    for start in range(0, plan.resamples, block):
        n = min(block, plan.resamples - start)
        drawn = [
            _draw_counts(rng, units, n, plan.size) for rng, units in zip(streams, axes, strict=True)
        ]
        if len(axes) == 1:
            yield drawn[0]
            continue
        weights = drawn[0][axes[0]]
        for axis, units in zip(drawn[1:], axes[1:], strict=True):
            weights *= axis[units]
        yield weights


def _draw_counts(rng: np.random.Generator, units: Codes, resamples: int, size: float) -> Floats:
    """Return how often each unit was drawn, of shape (n_units, resamples).

    Counting drawn integers takes a tenth of the time of rng.multinomial and a sixth of rng.poisson.
    """
    n_units = count_codes(units)  # one empty unit if there are no rows
    picks = max(1, round(n_units * size))
    counts = np.empty((resamples, n_units), dtype=np.int32)
    for resample in counts:
        resample[:] = np.bincount(rng.integers(0, n_units, picks), minlength=n_units)
    return counts.T.astype(np.float64, order="C")


def _bootstrap_scores(rows: _LabelledRows, plan: ResamplingPlan) -> ScoreBootstrap:
    """Bootstrap the scores of one run, or the changes from the first of two runs to the second."""
    axes = rows.units(plan.unit)
    unit, n_units = (
        (axes[0], count_codes(axes[0]))
        if len(axes) == 1
        else (rows.units("row")[0], len(rows.pert))
    )
    all_tasks = [task for run in rows.runs for task in tasks(rows.outcome, run)]
    kernels = [weighted_auroc(task, unit, n_units) for task in all_tasks]

    def metrics(weights: Floats) -> Floats:
        aurocs = np.stack([kernel(weights) for kernel in kernels])
        de, direction = aurocs if len(rows.runs) == 1 else aurocs[2:] - aurocs[:2]
        return np.stack([de, direction, (de + direction) / 2])

    estimates = metrics(np.ones((n_units, 1)))[:, 0]
    values = np.concatenate(
        [metrics(weights) for weights in resampling_weights(axes, plan)], axis=1
    )
    counts = [int(all_tasks[k].rows.sum()) for k in (0, 1, 0)]
    chance = 0.5 if len(rows.runs) == 1 else 0.0
    return ScoreBootstrap(
        *(_interval(float(estimates[k]), values[k], counts[k], plan, chance) for k in range(3))
    )


def _interval(
    estimate: float, values: Floats, n: int, plan: ResamplingPlan, chance: float
) -> Resampled:
    """Return the percentile interval of resampled `values`; NaN if fewer than two of them are
    defined."""
    defined = values[~np.isnan(values)]
    low = high = se = above = float("nan")
    if len(defined) > 1:
        low, high = map(float, np.quantile(defined, (0.025, 0.975)))
        above = float(np.mean(defined > chance) + np.mean(defined >= chance)) / 2
        se = float(defined.std(ddof=1))
    method = "product bootstrap" if plan.unit == "two-way" else "bootstrap"
    undefined = len(values) - len(defined)
    return Resampled(
        estimate, low, high, se, n, plan.unit, method, above, plan.resamples, undefined, plan.seed
    )
