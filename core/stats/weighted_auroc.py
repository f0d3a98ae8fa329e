"""AUROC for many sets of row weights at once: one sort, then two sparse products for each block of weights.

Sorted rows are cut into steps, negatives first and positives after them, so that a positive beats the negatives of its
own and of all lower steps; a group of equal values that holds both classes is a step of its own, where it wins half.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt, sqrt
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from core.stats.arrays import Bools, Codes, Floats
from core.stats.scores_and_labels import Task


@dataclass(frozen=True, slots=True, eq=False)
class WeightedAuroc:
    """One AUROC as a function of the weights of units; a unit is a row, or a cluster whose rows share its weight.

    positives, negatives: sparse, of shape (n_steps, n_units), each unit's number of rows of the class in each step. tied:
    the steps that are groups of equal values.
    """

    positives: Any
    negatives: Any
    tied: Codes

    def __call__(self, weights: Floats) -> Floats:
        """AUROCs of shape (n_resamples,) for weights of shape (n_units, n_resamples); NaN if a class has no weight."""
        hits, misses = self.positives @ weights, self.negatives @ weights
        ties = np.einsum("kb,kb->b", hits[self.tied], misses[self.tied])
        below = running_sum(misses)
        won = np.einsum("kb,kb->b", hits, below) - ties / 2
        pairs = hits.sum(axis=0) * below[-1]
        auroc: Floats = np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
        return auroc


def weighted_auroc(task: Task, unit: Codes, n_units: int) -> WeightedAuroc:
    """The AUROC of `task` as a function of unit weights; unit: each row's unit, codes of shape (n_rows,) below `n_units`."""
    values, positive, units = task.values[task.rows], task.positive[task.rows], unit[task.rows]
    order = np.argsort(values)
    positive, units = positive[order], units[order]
    step, tied = ranking_steps(values[order], positive)
    n_steps = ceil(sqrt(step[-1] + 1)) ** 2 if len(step) else 1  # a square number, which `running_sum` needs

    def count_matrix(chosen: Bools) -> Any:
        starts = np.searchsorted(step[chosen], np.arange(n_steps + 1))
        return csr_array((np.ones(starts[-1]), units[chosen], starts), shape=(n_steps, n_units))

    return WeightedAuroc(count_matrix(positive), count_matrix(~positive), tied)


def ranking_steps(values: Floats, positive: Bools) -> tuple[Codes, Codes]:
    """Each sorted row's step, and which steps are ties between the classes; values: ascending, of shape (n_rows,)."""
    if not len(values):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    hits = np.add.reduceat(positive.astype(np.intp), starts)
    size = np.diff(np.append(starts, len(values)))
    mixed = (hits > 0) & (hits < size)
    begins = mixed.copy()
    begins[1:] |= mixed[:-1] | ((hits[1:] == 0) & (hits[:-1] > 0))  # a negative above a positive opens a step
    begins[0] = False
    step: Codes = np.cumsum(begins)
    return np.repeat(step, size), step[mixed]


def running_sum(values: Floats) -> Floats:
    """Cumulative sums along the first axis, in place; values: of shape (n_steps, n_resamples), n_steps a square number.

    Computed in two levels, inside √n chunks of √n rows and over the chunks, in a sixth of np.cumsum's time.
    """
    side = isqrt(len(values))
    chunks = values.reshape(side, side, -1)
    for k in range(1, side):
        chunks[:, k] += chunks[:, k - 1]
    chunks[1:] += np.cumsum(chunks[:-1, -1], axis=0)[:, None]
    return values
