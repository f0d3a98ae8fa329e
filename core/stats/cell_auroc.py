"""AUROC from pairs inside cells only, combined by their number, with intervals for clustered rows.

The values are those of `core.stats.stratified_score`. Here the influence of each row is computed too, from which follow
intervals for rows that share a perturbation or a gene, and paired intervals for two runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.stats.arrays import Codes, sum_by_group
from core.stats.influence import Influence, influence_of
from core.stats.scores_and_labels import Task


def influence_within_cells(tasks: Sequence[Task], cells: Codes | None) -> Influence:
    """The influence of each row on each AUROC within cells (codes of shape (n_rows,)); None: over all pairs."""
    if cells is None:
        return influence_of(tasks)
    n_cells = int(cells.max(initial=0)) + 1
    found = influence_of(tasks, cells, n_cells)
    rows = np.stack([sum_by_group(cells, n_cells, member) for member in found.members])
    pairs = rows[::2] * rows[1::2]
    total = pairs.sum(axis=1, keepdims=True)
    share = np.divide(pairs, total, out=np.zeros_like(pairs), where=total > 0)
    values = (share * np.where(pairs > 0, found.values, 0.0)).sum(axis=1, keepdims=True)
    return Influence(
        np.where(total > 0, values, np.nan),
        found.counts.sum(axis=1, keepdims=True),
        found.parts * np.repeat(share, 2, axis=0)[:, cells],
        found.members,
        np.zeros(len(cells), dtype=np.intp),
    )
