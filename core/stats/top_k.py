"""Precision and enrichment among the k rows with the highest scores: the yield of a screen of k follow-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.stats import validate
from core.stats.arrays import Floats
from core.stats.average_precision import METHODS
from core.stats.delong import Estimate, dependence_of, estimates_from
from core.stats.influence import Influence
from core.stats.ranks import percentiles
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import Task

LEAST_WINDOW = 5  # rows on either side of the cut that tell the share of positives there


@dataclass(frozen=True, slots=True)
class TopK:
    """Of the k rows scored highest: the share of positives and that share divided by the base rate, the share in all rows.

    Rows that tie at the cut count in part, as drawing among them at random does on average. NaN if there are fewer than k
    rows, or only one class.
    """

    k: int
    precision: Estimate
    enrichment: Estimate
    base_rate: float


def precision_at(rows: ScoredRows, ks: Sequence[int]) -> tuple[tuple[TopK, ...], tuple[TopK, ...]]:
    """Return precision and enrichment at each k, for DE (an effect is positive) and for DIR (up is positive).

    With cells, a row's rank is its percentile inside its cell. Intervals are those of the infinitesimal jackknife.
    """
    de, direction = (precision_of(task, rows, ks) for task in rows.tasks())
    return de, direction


def precision_of(task: Task, rows: ScoredRows, ks: Sequence[int]) -> tuple[TopK, ...]:
    """Return precision and enrichment of one task over these rows."""
    return tuple(_at(task, rows, validate.whole_number("k", k, 1)) for k in ks)


def _at(task: Task, rows: ScoredRows, k: int) -> TopK:
    chosen = task.rows
    positive = task.positive[chosen].astype(np.float64)
    n = len(positive)
    base_rate = float(positive.mean()) if n else float("nan")
    values, parts = np.full((2, 1), np.nan), np.zeros((2, len(rows)))
    members = np.zeros((2, len(rows)), dtype=np.bool_)
    if n >= k and 0 < base_rate < 1:
        share, at_cut = _shares_at_cut(_ranked_values(task, rows), positive, k)
        precision = float(share @ positive / k)
        moved = (share * positive + (k / n - share) * at_cut - precision * k / n) / k
        values[:, 0] = precision, precision / base_rate
        parts[0, chosen] = moved
        parts[1, chosen] = (moved - precision / base_rate * (positive - base_rate) / n) / base_rate
        members[:, chosen] = share > 0
    influence = Influence(values, np.full((2, 1), float(n)), parts, members, np.zeros(len(rows), dtype=np.intp))
    dependence = dependence_of(influence, rows.pert, rows.gene, METHODS)
    precision_estimate = estimates_from(influence, dependence, [np.array([1.0, 0.0])])[0][0]
    enrichment = estimates_from(influence, dependence, [np.array([0.0, 1.0])], (0.0, float("inf")))[0][0]
    return TopK(k, precision_estimate, enrichment, base_rate)


def _ranked_values(task: Task, rows: ScoredRows) -> Floats:
    """Return the values for ranking the task's rows, over all cells."""
    values = task.values[task.rows]
    if rows.cells is None:
        return values
    cell, ranked = rows.cells[task.rows], np.empty(len(values))
    for one in np.unique(cell):
        ranked[cell == one] = percentiles(values[cell == one])
    return ranked


def _shares_at_cut(values: Floats, positive: Floats, k: int) -> tuple[Floats, float]:
    """Return how far each row is among the k highest, in [0, 1], and the share of positives around the cut."""
    falling = np.sort(values)[::-1]
    cut = falling[k - 1]
    above, tied = values > cut, values == cut
    share = above + tied * (k - above.sum()) / tied.sum()
    reach = max(LEAST_WINDOW, k // 4)
    low, high = falling[min(k - 1 + reach, len(values) - 1)], falling[max(k - reach, 0)]
    return share, float(positive[(values >= low) & (values <= high)].mean())
