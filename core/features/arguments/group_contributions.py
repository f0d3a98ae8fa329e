"""Do the rows of one group add more to an AUROC than those of another? Mean contributions of two
groups, and their difference.

A row's contribution is its structural component (DeLong 1988): the share of the rows of the other
class, in its cell, that it is ranked correctly against, ties counting half. Its mean over the
positives, as over the negatives, is the AUROC; 0.5 is chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.stats.arrays import Bools, Codes, Floats, codes_or_one, count_codes, divide, sum_by_group
from core.stats.auroc import placements
from core.stats.clustered_mean import METHODS, Part
from core.stats.delong import Estimate, dependence_of, estimates_from
from core.stats.influence import Influence
from core.stats.scores_and_labels import Task


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """The means of a number over two groups of rows, and the mean of `yes` minus the mean of `no`;
    NaN for a group without rows.
    """

    yes: Estimate
    no: Estimate
    change: Estimate


def mean_difference(
    values: Floats, yes: Bools, no: Bools, pert: Codes, gene: Codes
) -> GroupDifference:
    """Return means of `values` in [0, 1] (NaN: does not count) over the rows of both groups; all of
    shape (n_rows,)."""
    groups = [_mean_of(values, group) for group in (yes, no)]
    return _difference(groups, [], pert, gene)


def contributions(task: Task, cells: Codes | None) -> Floats:
    """Return the contribution of every row, of shape (n_rows,); NaN for rows that do not count or
    lack an opposite class."""
    opposite, won = _against(task, cells, task.rows)
    return divide(won, opposite)


def contribution_difference(
    task: Task, cells: Codes | None, yes: Bools, no: Bools, pert: Codes, gene: Codes
) -> GroupDifference:
    """Return mean contributions of both groups' rows.

    Yes, no: flags of shape (n_rows,), of rows that need not be all of the task's. The intervals
    allow for the sampling of the other class's rows too.
    """
    values = contributions(task, cells)
    groups = [_mean_of(values, group) for group in (yes, no)]
    references = [_as_reference(task, cells, group, values) for group in groups]
    return _difference(groups, references, pert, gene)


def _mean_of(values: Floats, group: Bools) -> Part:
    """Return the mean of the known values of a group, and the influence of its rows."""
    rows = group & ~np.isnan(values)
    n, known = int(rows.sum()), np.nan_to_num(values)
    mean = float(known[rows].mean()) if n else float("nan")
    return Part(mean, np.where(rows, known - mean, 0.0) / max(n, 1), rows)


def _as_reference(task: Task, cells: Codes | None, group: Part, values: Floats) -> Part:
    """Return each row's influence on a group's mean contribution as a row of the other class; mean
    0."""
    inside, n_cells = _cells_of(task, cells)
    influence, counts = np.zeros(len(values)), np.zeros(len(values), dtype=np.bool_)
    for positive in (True, False):
        reference = task.rows & (task.positive != positive)
        ranked = group.counts & (task.positive == positive)
        _, won = _against(task, cells, ranked | reference)
        sums = sum_by_group(inside, n_cells, np.where(ranked, np.nan_to_num(values), 0.0))
        size = sum_by_group(inside, n_cells, reference)
        met = reference & (sum_by_group(inside, n_cells, ranked) > 0)[inside]
        influence[met] = ((won - sums[inside]) / np.maximum(size, 1)[inside])[met]
        counts |= met
    return Part(0.0, influence / max(int(group.counts.sum()), 1), counts)


def _against(task: Task, cells: Codes | None, rows: Bools) -> tuple[Floats, Floats]:
    """Return, for each of `rows`, the number of rows of the other class in its cell, and the number
    that it wins against; 0 of the rest; both of shape (n_rows,).
    """
    inside, n_cells = _cells_of(task, cells)
    positive, where = task.positive[rows], inside[rows]
    placed = placements(positive, task.values[rows], where, n_cells)
    opposite, won = np.zeros((2, len(rows)))
    opposite[rows] = np.where(positive, placed.negatives[where], placed.positives[where])
    won[rows] = placed.won
    return opposite, won


def _cells_of(task: Task, cells: Codes | None) -> tuple[Codes, int]:
    inside = codes_or_one(cells, len(task.rows))
    return inside, count_codes(inside)


def _difference(
    groups: Sequence[Part], references: Sequence[Part], pert: Codes, gene: Codes
) -> GroupDifference:
    """Return both means and their difference; references: an optional part to add to each group."""
    parts = [*groups, *references]
    rows_of = [float(part.counts.sum()) for part in groups] + [0.0] * len(references)
    influence = Influence(
        np.array([[part.value] for part in parts]),
        np.array(rows_of)[:, None],
        np.stack([part.influence for part in parts]),
        np.stack([part.counts for part in parts]),
        np.zeros(len(pert), dtype=np.intp),
    )
    dependence = dependence_of(influence, pert, gene, METHODS)
    repeats = len(parts) // len(groups)
    yes, no = (
        estimates_from(influence, dependence, [np.tile(weights, repeats)])[0][0]
        for weights in np.eye(2)
    )
    of_both = replace(influence, counts=np.full((len(parts), 1), sum(rows_of)))
    [[change]] = estimates_from(of_both, dependence, [np.tile([1.0, -1.0], repeats)], (-1.0, 1.0))
    return GroupDifference(yes, no, change)
