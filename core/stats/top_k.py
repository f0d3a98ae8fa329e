"""Precision among the k rows with the highest scores: the yield of a screen of k follow-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.stats import validate
from core.stats.arrays import Floats
from core.stats.delong import ONE, Estimate, dependence_of, estimates_from
from core.stats.influence import Influence
from core.stats.intervals import Unit
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import ScoredRows, Task

METHODS: dict[Unit, str] = {
    "row": "infinitesimal jackknife",
    "pert": "clustered infinitesimal jackknife",
    "gene": "clustered infinitesimal jackknife",
    "two-way": "clustered infinitesimal jackknife, V_pert + V_gene - V_row",
}
LEAST_WINDOW = 5  # rows on either side of the cut that tell the share of positives there


@dataclass(frozen=True, slots=True)
class TopK:
    """Of the k rows scored highest: the share of positives. base_rate: the share in all rows.

    Rows that tie at the cut count in part, as drawing among them at random does on average. NaN if
    there are fewer than k rows, or only one class.
    """

    k: int
    precision: Estimate
    base_rate: float


def precision_at(rows: ScoredRows, ks: Sequence[int]) -> tuple[tuple[TopK, ...], tuple[TopK, ...]]:
    """Return the precision at each k, for DE (an effect is positive) and for DIR (up is positive).

    With cells, a row's rank is its percentile inside its cell. Intervals are those of the
    infinitesimal jackknife.
    """
    sizes = [validate.whole_number("k", k, 1) for k in ks]
    de, direction = (_top_of(task, rows, sizes) for task in rows.tasks())
    return de, direction


def _top_of(task: Task, rows: ScoredRows, ks: Sequence[int]) -> tuple[TopK, ...]:
    values = task.values[task.rows]
    if rows.cells is not None:  # percentiles of each cell, so that cells can be ranked together
        cell, by_cell = rows.cells[task.rows], values
        values = np.empty(len(by_cell))
        for one in np.unique(cell):
            values[cell == one] = percentiles(by_cell[cell == one])
    falling = np.sort(values)[::-1]
    return tuple(_at(task, rows, values, falling, k) for k in ks)


def _at(task: Task, rows: ScoredRows, values: Floats, falling: Floats, k: int) -> TopK:
    """Return the top of one size. values: of the task's rows, and `falling` the same, sorted."""
    chosen = task.rows
    positive = task.positive[chosen].astype(np.float64)
    n = len(positive)
    base_rate = float(positive.mean()) if n else float("nan")
    value, influence_of_row, members = (
        np.nan,
        np.zeros((1, len(rows))),
        np.zeros((1, len(rows)), dtype=np.bool_),
    )
    if n >= k and 0 < base_rate < 1:
        # How far each row is among the k highest, in [0, 1], and the share of positives around the
        # cut
        cut = falling[k - 1]
        above, tied = values > cut, values == cut
        share = above + tied * (k - above.sum()) / tied.sum()
        reach = max(LEAST_WINDOW, k // 4)
        low, high = falling[min(k - 1 + reach, len(values) - 1)], falling[max(k - reach, 0)]
        at_cut = float(positive[(values >= low) & (values <= high)].mean())
        value = float(share @ positive / k)
        influence_of_row[0, chosen] = (
            share * positive + (k / n - share) * at_cut - value * k / n
        ) / k
        members[0, chosen] = share > 0
    one_stratum = np.zeros(len(rows), dtype=np.intp)
    influence = Influence(
        np.array([[value]]), np.array([[float(n)]]), influence_of_row, members, one_stratum
    )
    dependence = dependence_of(influence, rows.pert, rows.gene, METHODS)
    return TopK(k, estimates_from(influence, dependence, [ONE])[0][0], base_rate)
