"""Published features of a regulatory graph: the share of connected pairs, and the features' AUROCs of an effect and its
direction.

The feature file was imported as external scores, so numbers here are ranks; equal numbers share a rank. Most pairs are not
connected and have 0, so the most common rank is that of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.published.sources import Computed, Sources
from core.stats.arrays import Bools
from core.stats.auroc import auroc
from core.stats.scores_and_labels import Task, tasks


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number.

    wanted: feature (a source); what: connected (the share of rows that are not 0, with `directed` among rows labelled up or
    down), de (its AUROC), or dir (its AUROC among the connected rows).
    """
    rows = sources.run_rows(wanted["feature"])
    de, direction = tasks(rows.arrays.outcome, rows.scores)
    if wanted["what"] == "de":
        return Computed(auroc(de.positive[de.rows], de.values[de.rows]))
    task = direction if wanted["what"] == "dir" or wanted.get("directed") else de
    connected = _find_connected(task)
    if wanted["what"] == "connected":
        n, of = int(connected[task.rows].sum()), int(task.rows.sum())
        return Computed(n / of, f"{n:,} of {of:,} rows are connected")
    chosen = task.rows & connected
    return Computed(auroc(task.positive[chosen], task.values[chosen]))


def _find_connected(task: Task) -> Bools:
    values, n = np.unique(task.values[task.rows], return_counts=True)
    return np.asarray(task.values != values[n.argmax()])
