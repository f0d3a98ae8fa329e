"""Changes between two runs: each row's contribution to the change in AUROC, and the agreement of
their rankings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes, Floats, codes_or_one
from core.stats.auroc import placements
from core.stats.ranks import midranks
from core.stats.scores_and_labels import Scores, Task, outcome_of, shared_rows, tasks


@dataclass(frozen=True, slots=True, eq=False)
class RowChanges:
    """Each row's share of the change in one AUROC from run a to run b.

    contribution: of shape (n_rows,), (pairs gained - pairs lost by the row) / all pairs, each pair
    being shared equally by its two rows; sums to `change` exactly; 0 for rows that do not count.
    wins, losses: numbers of rows above and below 0; even: rows that count and did not change.
    Everything is NaN or 0 if the AUROC is undefined.
    """

    change: float
    contribution: Floats
    wins: int
    losses: int
    even: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Spearman's rank correlation of two runs' scores, which needs no labels; NaN for a constant
    score.

    n: rows; n_up: rows for which both runs have a p_up. de, up: of p_de and of p_up.
    """

    n: int
    n_up: int
    de: float
    up: float


def row_changes(
    labels: ArrayLike, a: Scores, b: Scores, cells: Codes | None = None
) -> tuple[RowChanges, RowChanges]:
    """Return each row's contribution to the change of DE and of DIR from a to b; every argument of
    shape (n_rows,).

    cells: codes, only pairs of rows inside one cell count; None: all pairs.
    """
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, a=a, b=b)
    first, second = shared_rows(a, b)
    de, direction = zip(tasks(outcome, first), tasks(outcome, second), strict=True)
    return _changes(*de, cells), _changes(*direction, cells)


def _changes(before: Task, after: Task, cells: Codes | None) -> RowChanges:
    rows, positive = before.rows, before.positive[before.rows]
    cell = codes_or_one(cells, len(rows))[rows]
    placed_before, placed_after = (
        placements(positive, task.values[rows], cell) for task in (before, after)
    )
    pairs = placed_before.pairs.sum()
    contribution = np.zeros(len(rows))
    if pairs > 0:
        contribution[rows] = (placed_after.won - placed_before.won) / (2 * pairs)
    moved = contribution[rows]
    wins, losses = int((moved > 0).sum()), int((moved < 0).sum())
    won = [placed.won[positive].sum() for placed in (placed_before, placed_after)]
    change = float((won[1] - won[0]) / pairs) if pairs > 0 else float("nan")
    return RowChanges(change, contribution, wins, losses, len(moved) - wins - losses)


def agreement(a: Scores, b: Scores) -> Agreement:
    """Return the agreement of two runs' rankings of the same rows."""
    validate.same_length(a=a, b=b)
    both = ~np.isnan(a.p_up) & ~np.isnan(b.p_up)
    return Agreement(
        len(a), int(both.sum()), _spearman(a.p_de, b.p_de), _spearman(a.p_up[both], b.p_up[both])
    )


def _spearman(a: Floats, b: Floats) -> float:
    first, second = (midranks(values) - (len(values) + 1) / 2 for values in (a, b))
    scale = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / scale) if scale > 0 else float("nan")
