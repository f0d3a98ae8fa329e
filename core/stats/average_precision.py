"""Average precision, the area under the precision-recall curve, and its base rate.

The precision at a positive row's score is the share of positives among the rows scored at least as high; its mean over the
positive rows is the average precision, ties as in scikit-learn. A random score has the base rate, the share of positives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.stats.arrays import Bools, Codes, Floats, sum_by_group
from core.stats.auroc import tie_group_ends
from core.stats.delong import ONE, Estimate, dependence_of, estimates_from
from core.stats.influence import Influence
from core.stats.intervals import Unit
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import Task

METHODS: dict[Unit, str] = {
    "row": "infinitesimal jackknife",
    "pert": "clustered infinitesimal jackknife",
    "gene": "clustered infinitesimal jackknife",
    "two-way": "clustered infinitesimal jackknife, V_pert + V_gene - V_row",
}


@dataclass(frozen=True, slots=True)
class AveragePrecision:
    """The average precision, and the base rate that a random score would have; both NaN with one class."""

    estimate: Estimate
    base_rate: float


def average_precision(rows: ScoredRows) -> tuple[AveragePrecision, AveragePrecision]:
    """Return the average precision of DE (an effect is positive) and of DIR (up is positive).

    With cells, precisions are taken inside each positive row's cell, over cells with both classes. Intervals are those of the
    infinitesimal jackknife: the derivative by each row's weight, summed over clusters.
    """
    de, direction = (_of_task(task, rows) for task in rows.tasks())
    return de, direction


def _of_task(task: Task, rows: ScoredRows) -> AveragePrecision:
    cells = np.zeros(len(rows), dtype=np.intp) if rows.cells is None else rows.cells
    n_cells = int(cells.max(initial=0)) + 1
    positives = sum_by_group(cells, n_cells, task.rows & task.positive)
    negatives = sum_by_group(cells, n_cells, task.rows & ~task.positive)
    member = task.rows & (np.minimum(positives, negatives) > 0)[cells]
    positive, cell = task.positive[member], cells[member]
    parts, value, base_rate = np.zeros((1, len(rows))), float("nan"), float("nan")
    if positive.any():
        value, parts[0, member] = _value_and_influence(positive, task.values[member], cell)
        rate = positives / np.maximum(positives + negatives, 1)
        base_rate = float(rate[cell][positive].mean())
    count = np.array([[float(member.sum())]])
    influence = Influence(np.array([[value]]), count, parts, member[None], np.zeros(len(rows), dtype=np.intp))
    dependence = dependence_of(influence, rows.pert, rows.gene, METHODS)
    return AveragePrecision(estimates_from(influence, dependence, [ONE])[0][0], base_rate)


def _value_and_influence(positive: Bools, values: Floats, cell: Codes) -> tuple[float, Floats]:
    """Return the average precision inside cells, and its derivative by the weight of each row."""
    order = np.lexsort((-values, cell))
    hit, where = positive[order].astype(np.float64), cell[order]
    first, last = tie_group_ends(-values[order], where)
    start = np.searchsorted(where, where)  # of each row's cell
    hits_to = np.concatenate(([0.0], np.cumsum(hit)))
    above = (last - start).astype(np.float64)  # rows of the cell that are scored as high or higher
    precision = (hits_to[last] - hits_to[start]) / above
    value = float(precision @ hit / hit.sum())
    end = np.searchsorted(where, where, side="right")

    def sum_below(terms: Floats) -> Floats:
        """Return sums over the rows of the cell that are scored as high or lower."""
        to = np.concatenate(([0.0], np.cumsum(terms)))
        return np.asarray(to[end] - to[first])

    moved = hit * (precision - value) + hit * sum_below(hit / above) - sum_below(hit * precision / above)
    influence = np.empty(len(values))
    influence[order] = moved / hit.sum()
    return value, influence
