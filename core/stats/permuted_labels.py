"""Score labels permuted inside groups. This shows how much of an AUROC the groups explain."""

from __future__ import annotations

import numpy as np

from core.stats.arrays import Codes, Floats, codes_or_one, count_codes, sum_by_group
from core.stats.auroc import placements
from core.stats.scored_rows import ScoredRows, combine_codes
from core.stats.scores_and_labels import Task, tasks


def scores_of_permuted_labels(
    rows: ScoredRows, group: Codes, n: int, rng: np.random.Generator, macro: Codes | None = None
) -> Floats:
    """Return DE and DIR of the rows' scores with labels permuted among the labelled rows of each
    group, of shape (n, 2).

    macro: codes of shape (n_rows,), the AUROCs inside them are averaged; None: all pairs (of a
    cell) count.
    """
    labelled = rows.outcome.labelled
    known, strata = rows.take(labelled), group[labelled]
    inside = codes_or_one(macro, len(labelled))[labelled]
    in_order = np.argsort(strata, kind="stable")
    source = np.empty_like(in_order)
    values = np.empty((n, 2))
    for i in range(n):
        source[in_order] = np.lexsort((rng.random(len(strata)), strata))
        values[i] = [
            _mean_auroc(task, inside, known.cells)
            for task in tasks(known.outcome.take(source), known.scores)
        ]
    return values


def _mean_auroc(task: Task, group: Codes, cells: Codes | None) -> float:
    """Return the mean over groups of the AUROC of pairs inside a group and cell; NaN if none has
    both classes."""
    rows = task.rows
    group, positive = group[rows], task.positive[rows]
    inner = combine_codes(group, None if cells is None else cells[rows])
    assert inner is not None
    placed = placements(positive, task.values[rows], inner)
    n_groups = count_codes(group)
    won, pairs = (
        sum_by_group(group, n_groups, np.where(positive, each, 0.0))
        for each in (placed.won, placed.negatives[inner])
    )
    return float((won[pairs > 0] / pairs[pairs > 0]).mean()) if pairs.any() else float("nan")
