"""AUROC by mid-ranks (Mann and Whitney), for one set of rows or inside each of many strata, in one
sort; the ROC curve.

AUROC for many sets of row weights at once: one sort, then two sparse products for each block of
weights.

Sorted rows are cut into steps, negatives first and positives after them, so that a positive beats
the negatives of its own and of all lower steps; a group of equal values that holds both classes is
a step of its own, where it wins half.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import (
    Bools,
    Codes,
    Floats,
    codes_or_one,
    count_codes,
    divide,
    order_within,
    sum_by_group,
)
from core.stats.scores_and_labels import Task


@dataclass(frozen=True, slots=True, eq=False)
class WeightedAuroc:
    """One AUROC as a function of the weights of units; a unit is a row, or a cluster whose rows
    share its weight.

    positives, negatives: sparse, of shape (n_steps, n_units), each unit's number of rows of the
    class in each step. tied: the steps that are groups of equal values.
    """

    positives: Any
    negatives: Any
    tied: Codes

    def __call__(self, weights: Floats) -> Floats:
        """Return AUROCs of shape (n_resamples,) for weights of shape (n_units, n_resamples); NaN if
        a class has no weight."""
        hits, misses = self.positives @ weights, self.negatives @ weights
        ties = np.einsum("kb,kb->b", hits[self.tied], misses[self.tied])
        below = running_sum(misses)
        won = np.einsum("kb,kb->b", hits, below) - ties / 2
        pairs = hits.sum(axis=0) * below[-1]
        return divide(won, pairs)


@dataclass(frozen=True, slots=True, eq=False)
class Placements:
    """For every row, how many rows of the other class in its stratum it is ranked against
    correctly.

    won: of shape (n_rows,), each row's pairs in the right order, ties counting half. positives,
    negatives: rows of each class in each stratum, of shape (n_strata,).
    """

    won: Floats
    positives: Floats
    negatives: Floats
    auroc: Floats  # of shape (n_strata,); NaN for a stratum with one class only

    @property
    def pairs(self) -> Floats:
        """The number of pairs of a positive and a negative in each stratum, of shape
        (n_strata,)."""
        return self.positives * self.negatives


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """The ROC curve: false and true positive rates from (0, 0) to (1, 1), of shape (n_distinct +
    1,); NaN for a class without rows.
    """

    false_positive_rate: Floats
    true_positive_rate: Floats


def auroc(positive: ArrayLike, values: ArrayLike) -> float:
    """Return the probability that a positive row is ranked above a negative one, ties counting
    half; NaN with one class.

    positive: flags of shape (n_rows,); values: finite numbers of the same shape, ranked unchanged
    (see `ranks.round_for_ranks`). O(n log n). Definition: Mann and Whitney 1947.
    """
    chosen = validate.flags("positive", positive)
    numbers = validate.numbers("values", values)
    validate.same_length(positive=chosen, values=numbers)
    return float(placements(chosen, numbers).auroc[0])


def roc_curve(positive: ArrayLike, values: ArrayLike) -> Roc:
    """Return the curve whose area is `auroc`; positive: flags, values: finite numbers, ranked
    unchanged; of shape (n_rows,)."""
    chosen, numbers = validate.flags("positive", positive), validate.numbers("values", values)
    validate.same_length(positive=chosen, values=numbers)
    order = np.argsort(-numbers)
    falling, hits = numbers[order], np.cumsum(chosen[order])
    last = np.flatnonzero(
        np.append(falling[1:] != falling[:-1], np.ones(min(1, len(falling)), dtype=np.bool_))
    )
    true = np.append(0.0, hits[last])
    false = np.append(0.0, last + 1 - hits[last])
    with np.errstate(invalid="ignore"):  # 0 / 0 gives the NaN of a class without rows
        return Roc(false / false[-1], true / true[-1])


def roc_curve_within(positive: Bools, values: Floats, cells: Codes) -> Roc:
    """Return the curve of pairs inside cells, at false positive rates in steps of 1/500.

    Its area is the AUROC within cells. A positive row's true positive rate rises from the share of
    negatives in its cell that are above it to the share that are above it or level with it; rows
    weigh as many pairs as they have. Definition: Janes and Pepe 2009, Biometrika 96:371-382.
    """
    placed = placements(positive, values, cells)
    counts = positive & (placed.negatives[cells] > 0)
    negatives, level = (
        placed.negatives[cells][counts],
        level_negatives(positive, values, cells)[counts],
    )
    below = placed.won[counts] - level / 2
    # the rates over which each positive is passed
    first, last = 1 - (below + level) / negatives, 1 - below / negatives
    rates = np.linspace(0, 1, 501)
    with np.errstate(invalid="ignore", divide="ignore"):
        passed = np.where(
            last > first, (rates[:, None] - first) / (last - first), rates[:, None] >= first
        )
    weights = negatives / negatives.sum() if len(negatives) else negatives
    true = np.clip(passed, 0, 1) @ weights if len(negatives) else np.full(len(rates), np.nan)
    return Roc(rates, true)


def level_negatives(positive: Bools, values: Floats, cells: Codes) -> Floats:
    """Return the number of negative rows with the same value in each row's cell, of shape
    (n_rows,)."""
    _, value = np.unique(values, return_inverse=True)
    _, group = np.unique(cells * count_codes(value) + value, return_inverse=True)
    return sum_by_group(group, int(group.max(initial=-1)) + 1, ~positive)[group]


def placements(
    positive: Bools, values: Floats, strata: Codes | None = None, n_strata: int = 0
) -> Placements:
    """Return the placements of all rows, from one sort. strata: codes of shape (n_rows,), None for
    one; n_strata: 0 for one more than the largest."""
    stratum = codes_or_one(strata, len(values))
    n_strata = n_strata or count_codes(stratum)
    order = np.argsort(values) if strata is None else order_within(stratum, values, n_strata)
    hit = positive[order]
    positives = sum_by_group(stratum, n_strata, positive)
    negatives = sum_by_group(stratum, n_strata) - positives
    # positives before each sorted row, and in all
    hits_to = np.concatenate(([0.0], np.cumsum(hit, dtype=np.float64)))
    # of one stratum, its numbers are those of every row
    here = slice(None) if n_strata == 1 else stratum[order]
    first, last = tie_group_ends(values[order], None if n_strata == 1 else stratum[order])
    hits = (hits_to[first] + hits_to[last]) / 2  # halves of whole numbers: sums of them are exact
    misses_below = (first + last) / 2 - hits - (np.cumsum(negatives) - negatives)[here]
    won = np.empty(len(values))
    won[order] = np.where(hit, misses_below, np.cumsum(positives)[here] - hits)
    total = sum_by_group(stratum, n_strata, np.where(positive, won, 0.0))
    pairs = positives * negatives
    return Placements(won, positives, negatives, divide(total, pairs))


def tie_group_ends(values: Floats, stratum: Codes | None) -> tuple[Codes, Codes]:
    """Return the start and the end (excluded) of each sorted row's group of equal values in a
    stratum; None: there is one."""
    begins = np.ones(len(values), dtype=np.bool_)
    begins[1:] = values[1:] != values[:-1]
    if stratum is not None:
        begins[1:] |= stratum[1:] != stratum[:-1]
    starts = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    ends = np.append(starts[1:], len(values))
    return starts[group], ends[group]


def weighted_auroc(task: Task, unit: Codes, n_units: int) -> WeightedAuroc:
    """Return the AUROC of `task` as a function of unit weights. unit: codes of shape (n_rows,)
    below `n_units`."""
    from scipy.sparse import csr_array

    values, positive, units = task.values[task.rows], task.positive[task.rows], unit[task.rows]
    order = np.argsort(values)
    positive, units = positive[order], units[order]
    step, tied = ranking_steps(values[order], positive)
    # a square number, which `running_sum` needs
    n_steps = ceil(sqrt(step[-1] + 1)) ** 2 if len(step) else 1

    def count_matrix(chosen: Bools) -> Any:
        starts = np.searchsorted(step[chosen], np.arange(n_steps + 1))
        return csr_array((np.ones(starts[-1]), units[chosen], starts), shape=(n_steps, n_units))

    return WeightedAuroc(count_matrix(positive), count_matrix(~positive), tied)


def ranking_steps(values: Floats, positive: Bools) -> tuple[Codes, Codes]:
    """Return each sorted row's step, and which steps are ties between the classes; values:
    ascending, of shape (n_rows,)."""
    if not len(values):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    hits = np.add.reduceat(positive.astype(np.intp), starts)
    size = np.diff(np.append(starts, len(values)))
    mixed = (hits > 0) & (hits < size)
    begins = mixed.copy()
    # a negative above a positive opens a step
    begins[1:] |= mixed[:-1] | ((hits[1:] == 0) & (hits[:-1] > 0))
    begins[0] = False
    step: Codes = np.cumsum(begins)
    return np.repeat(step, size), step[mixed]


def running_sum(values: Floats) -> Floats:
    """Return cumulative sums along the first axis, in place; values: of shape (n_steps,
    n_resamples), n_steps a square number.

    Computed in two levels, inside √n chunks of √n rows and over the chunks, in a sixth of
    np.cumsum's time.
    """
    side = isqrt(len(values))
    chunks = values.reshape(side, side, -1)
    for k in range(1, side):
        chunks[:, k] += chunks[:, k - 1]
    chunks[1:] += np.cumsum(chunks[:-1, -1], axis=0)[:, None]
    return values
