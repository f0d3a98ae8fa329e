"""AUROC from pairs inside cells only, combined by their number, with intervals for clustered rows.

Pairs are counted inside cells, strata or both. From the influence of each row follow
intervals for rows that share a perturbation or a gene, and paired intervals for two runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.stats.arrays import Codes, codes_or_one, count_codes, divide, sum_by_group
from core.stats.auroc import placements
from core.stats.influence import Influence, influence_of
from core.stats.scores_and_labels import Task


def auroc_within_cells(task: Task, cells: Codes | None) -> float:
    """Return pairs won inside cells / pairs inside cells, without an interval; None: over all
    pairs. NaN without a pair.

    cells: codes of shape (n_rows,).
    """
    rows, positive = task.rows, task.positive[task.rows]
    if not len(positive):
        return float("nan")
    placed = placements(positive, task.values[rows], None if cells is None else cells[rows])
    pairs = placed.pairs.sum()
    return float(placed.won[positive].sum() / pairs) if pairs else float("nan")


def influence_within_cells(
    tasks: Sequence[Task], cells: Codes | None, stratum: Codes | None = None, n_strata: int = 1
) -> Influence:
    """Return the influence of each row on each AUROC from pairs inside cells, in each stratum;
    None: no cells, or one stratum.

    cells, stratum: codes of shape (n_rows,), of strata below `n_strata`.
    """
    if cells is None:
        return influence_of(tasks, stratum, n_strata)
    where, n_cells = codes_or_one(stratum, len(cells)), count_codes(cells)
    inner, shape = where * n_cells + cells, (len(tasks), n_strata, n_cells)
    influence = influence_of(tasks, inner, n_strata * n_cells)
    rows = np.stack(
        [sum_by_group(inner, n_strata * n_cells, member) for member in influence.members]
    )
    pairs = (rows[::2] * rows[1::2]).reshape(shape)
    total = pairs.sum(axis=2, keepdims=True)
    share = divide(pairs, total, 0.0)
    values = (share * np.where(pairs > 0, influence.values.reshape(shape), 0.0)).sum(axis=2)
    return Influence(
        np.where(total[..., 0] > 0, values, np.nan),
        influence.counts.reshape(shape).sum(axis=2),
        influence.parts * np.repeat(share.reshape(len(tasks), -1), 2, axis=0)[:, inner],
        influence.members,
        where,
    )
