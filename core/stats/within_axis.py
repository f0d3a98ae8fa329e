"""AUROC inside the genes, or inside the perturbations: the average over them, each counting alike
or by its pairs.

A score that is constant inside every group has exactly 0.5. The groups vary around their average,
which gives the variance by the axis that is averaged. Rows that share the other axis add the
products of their influences on the average: of pairs of rows around the average itself, since pairs
around the AUROC of a group of two or three rows have next to none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.stats.arrays import Codes, Floats, codes_or_one, count_codes, divide, sum_by_group
from core.stats.delong import METHODS, Dependence, Estimate, dependence_of, estimates_from
from core.stats.influence import Influence, covariance, influence_of
from core.stats.intervals import Unit
from core.stats.official_score import DE, DIR, MEAN
from core.stats.scores_and_labels import ScoredRows, Task

Axis = Literal["pert", "gene"]


@dataclass(frozen=True, slots=True)
class WithinTask:
    """One AUROC inside groups.

    macro: the mean over groups with both classes. by_pairs: this mean weighted by numbers of pairs.
    groups: number of groups with both classes; one_class: number of groups with rows of only one
    class, or without a pair inside a cell.
    """

    macro: Estimate
    by_pairs: Estimate
    groups: int
    one_class: int

    @property
    def json_value(self) -> dict[str, object] | None:
        """The mean as every command prints it, with the numbers of groups; None without a group
        with both classes."""
        mean = self.macro.json_value
        return (
            None if mean is None else {**mean, "groups": self.groups, "one_class": self.one_class}
        )


@dataclass(frozen=True, slots=True)
class WithinAxis:
    """DE and DIR inside the groups of an axis, and the mean of their macro averages."""

    axis: Axis
    de: WithinTask
    dir: WithinTask
    mean: Estimate


def score_within(rows: ScoredRows, axis: Axis) -> WithinAxis:
    """Return DE and DIR over pairs of rows of the same group (and the same cell, if the rows have
    cells)."""
    tasks = rows.tasks()
    group, other = (rows.gene, rows.pert) if axis == "gene" else (rows.pert, rows.gene)
    groups = _Groups.of(tasks, group, rows.cells)
    macro, by_pairs = (
        [one[0] for one in estimates_from(*_average(groups, amounts, axis, group, other), weights)]
        for amounts, weights in ((groups.is_used, [DE, DIR, MEAN]), (groups.pairs, [DE, DIR]))
    )
    used, present = groups.pairs > 0, groups.rows > 0
    de, direction = (
        WithinTask(macro[k], by_pairs[k], int(used[k].sum()), int((present[k] & ~used[k]).sum()))
        for k in range(2)
    )
    return WithinAxis(axis, de, direction, macro[2])


def scorable_genes(rows: ScoredRows) -> tuple[int, int]:
    """Return how many genes have both classes of DE and of DIR in a cell: their AUROC is
    defined."""
    de, direction = (
        int((_Groups.of([task], rows.gene, rows.cells).pairs > 0).sum()) for task in rows.tasks()
    )
    return de, direction


def macro_influence(tasks: Sequence[Task], rows: ScoredRows) -> tuple[Influence, Dependence]:
    """Return each task's mean AUROC inside genes, with the rows' influence on it and the covariance
    of the tasks."""
    groups = _Groups.of(tasks, rows.gene, rows.cells)
    return _average(groups, groups.is_used, "gene", rows.gene, rows.pert)


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """k AUROCs inside each group: values, pairs and rows of shape (k, n_groups), and the influence
    of rows on the values.

    influence: inside strata, which are the cells of each group; share: of shape (k, n_strata), each
    one's in its group.
    """

    values: Floats
    pairs: Floats
    rows: Floats
    influence: Influence
    share: Floats

    @property
    def is_used(self) -> Floats:
        """1 for the groups with both classes, 0 for the others, of shape (k, n_groups)."""
        return (self.pairs > 0).astype(np.float64)

    @staticmethod
    def of(tasks: Sequence[Task], group: Codes, cells: Codes | None) -> _Groups:
        inside = codes_or_one(cells, len(group))
        n_groups, n_cells = count_codes(group), count_codes(inside)
        influence = influence_of(tasks, group * n_cells + inside, n_groups * n_cells)
        counts = np.stack(
            [
                sum_by_group(influence.stratum, n_groups * n_cells, rows)
                for rows in influence.members
            ]
        )
        pairs = counts[::2] * counts[1::2]
        shape = len(tasks), n_groups, n_cells
        of_group = pairs.reshape(shape).sum(axis=2)
        share = divide(pairs, np.repeat(of_group, n_cells, axis=1), 0.0)
        won = pairs * np.where(pairs > 0, influence.values, 0.0)
        rows = (counts[::2] + counts[1::2]).reshape(shape).sum(axis=2)
        return _Groups(
            divide(won.reshape(shape).sum(axis=2), of_group, 0.0), of_group, rows, influence, share
        )


def _average(
    found: _Groups, amounts: Floats, axis: Axis, group: Codes, other: Codes
) -> tuple[Influence, Dependence]:
    """Return the AUROCs averaged over groups in proportion to `amounts` of shape (k, n_groups), and
    how they vary together."""
    inside, total = found.influence, amounts.sum(axis=1, keepdims=True)
    weights = divide(amounts, total, 0.0)
    # exactly 0.5 if each value is
    average = divide((amounts * found.values).sum(axis=1, keepdims=True), total, 0.0)
    values = np.where(total > 0, average, np.nan)
    n_cells = inside.n_strata // weights.shape[1]
    # of each stratum in the average
    scale = np.repeat(found.share * np.repeat(weights, n_cells, axis=1), 2, axis=0)
    of_stratum = np.take(scale, inside.stratum, axis=1)
    is_used = np.repeat(found.share > 0, 2, axis=0)
    members = inside.members & np.take(is_used, inside.stratum, axis=1)
    counts = members.reshape(len(values), 2, -1).sum(axis=(1, 2))[:, None].astype(np.float64)
    where = np.zeros(len(group), dtype=np.intp)
    own = Influence(values, counts, inside.parts * of_stratum, members, where)
    # Each row's part of its stratum's distance from the average is equal within its class.
    distance = np.repeat(np.where(found.share > 0, inside.values - average, 0.0), 2, axis=0)
    size = np.stack(
        [sum_by_group(inside.stratum, inside.n_strata, member) for member in inside.members]
    )
    of_row = np.where(
        inside.members, np.take(divide(distance, size, 0.0), inside.stratum, axis=1), 0.0
    )
    influence = replace(own, parts=own.parts + of_stratum * of_row)
    pert, gene = (other, group) if axis == "gene" else (group, other)
    methods: dict[Unit, str] = {**METHODS, axis: "between groups"}
    dependence = dependence_of(influence, pert, gene, methods)
    across: Unit = "pert" if axis == "gene" else "gene"
    rows = covariance(own)
    shared = rows + dependence.covariances[across] - dependence.covariances["row"]
    # The covariances of weighted means over independent groups, of shape (k, k)
    terms, used = weights * (found.values - average), (weights > 0).astype(np.float64)
    both = used @ used.T
    own_group = np.diagonal(both)
    units = own_group[:, None] + own_group - both
    factor = divide(units, units - 1)
    between = np.asarray(factor * (terms @ terms.T))[None]
    covariances = {"row": rows, across: shared, axis: between}
    return influence, replace(dependence, covariances=covariances, units=group)
