"""Row by row, what changed between two runs: ranks that moved, pairs won and lost, and how far the runs agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Floats
from core.stats.auroc import placements
from core.stats.ranks import midranks, percentiles
from core.stats.scores_and_labels import Scores, Task, outcome_of, shared_rows, tasks


@dataclass(frozen=True, slots=True, eq=False)
class RowChanges:
    """Each row's share of the change in one AUROC from run a to run b.

    contribution: of shape (n_rows,), pairs gained less pairs lost by the row, a pair being shared half and half by its
    two rows, over all pairs; sums to `change` exactly; 0 for rows that do not count. wins, losses: rows above and below
    0; even: rows that count and did not change. Everything is NaN or 0 where the AUROC is undefined.
    """

    change: float
    contribution: Floats
    wins: int
    losses: int
    even: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Spearman's rank correlation of two runs' scores, with labels or without; NaN for a constant score.

    n: rows; n_up: rows where both runs have a p_up.
    """

    n: int
    n_up: int
    de: float
    up: float


def row_changes(labels: ArrayLike, a: Scores, b: Scores) -> tuple[RowChanges, RowChanges]:
    """What each row contributed to the change of DE and of DIR; everything of shape (n_rows,), paired by row."""
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, a=a, b=b)
    first, second = shared_rows(a, b)
    de, direction = zip(tasks(outcome, first), tasks(outcome, second), strict=True)
    return _changes(*de), _changes(*direction)


def _changes(before: Task, after: Task) -> RowChanges:
    rows, positive = before.rows, before.positive[before.rows]
    was, now = (placements(positive, task.values[rows]) for task in (before, after))
    contribution = np.zeros(len(rows))
    if was.pairs[0] > 0:
        contribution[rows] = (now.won - was.won) / (2 * was.pairs[0])
    moved = contribution[rows]
    wins, losses = int((moved > 0).sum()), int((moved < 0).sum())
    change = float(now.auroc[0] - was.auroc[0])
    return RowChanges(change, contribution, wins, losses, len(moved) - wins - losses)


def rank_movement(a: ArrayLike, b: ArrayLike) -> Floats:
    """How far each row moved up, percentile in b minus percentile in a, in (-1, 1); NaN where either is missing."""
    first, second = validate.numbers("a", a, missing=True), validate.numbers("b", b, missing=True)
    validate.same_length(a=first, b=second)
    missing = np.isnan(first) | np.isnan(second)
    return percentiles(np.where(missing, np.nan, second)) - percentiles(np.where(missing, np.nan, first))


def agreement(a: Scores, b: Scores) -> Agreement:
    """How alike two runs rank the same rows."""
    validate.same_length(a=a, b=b)
    both = ~np.isnan(a.p_up) & ~np.isnan(b.p_up)
    return Agreement(len(a), int(both.sum()), _spearman(a.p_de, b.p_de), _spearman(a.p_up[both], b.p_up[both]))


def _spearman(a: Floats, b: Floats) -> float:
    first, second = (midranks(values) - (len(values) + 1) / 2 for values in (a, b))
    scale = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / scale) if scale > 0 else float("nan")
