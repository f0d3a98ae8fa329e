"""The AUROC of each gene, or of each perturbation, of a run: raw, and shrunk to the mean in proportion to chance scatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.scoring.other_scores import Metric
from core.scoring.run_scores import RunRows
from core.stats.partial_pooling import PooledAurocs, pooled_aurocs
from core.stats.within_axis import Axis
from core.texts import number_text

AXES: dict[str, Axis] = {"target gene": "gene", "perturbation": "pert"}  # as they are called on screen
COLUMNS = ("name", "positives", "negatives", "raw", "shrunken", "low", "high", "chance")


@dataclass(frozen=True, slots=True, eq=False)
class GroupScores:
    """The AUROC of each gene or perturbation with both classes.

    table: `COLUMNS`, the highest pooled AUROC first; chance: the standard deviation of a raw one by chance. scored: how.
    """

    axis: Axis
    metric: Metric
    pooled: PooledAurocs
    table: pd.DataFrame
    scored: str


def score_groups(rows: RunRows, axis: Axis, metric: Metric) -> GroupScores:
    """Return the AUROC of each group of an axis, scored as the run is."""
    task = rows.arrays.tasks()[0 if metric == "de" else 1]
    group = rows.gene if axis == "gene" else rows.pert
    found = pooled_aurocs(task, group, rows.cells)
    codes, first = np.unique(group, return_index=True)
    names = rows.frame[axis].to_numpy()[first[np.searchsorted(codes, found.group)]]
    numbers = (found.positives, found.negatives, found.raw, found.shrunken, found.low, found.high, found.chance)
    table = pd.DataFrame(dict(zip(COLUMNS, (names, *numbers), strict=True)))
    table = table.astype({"positives": int, "negatives": int})
    return GroupScores(
        axis, metric, found, table.sort_values("shrunken", ascending=False, kind="stable", ignore_index=True), rows.scored
    )


def group_sentences(found: GroupScores) -> list[str]:
    """Return sentences on the groups: how many there are, how far their true AUROCs scatter, how many differ from the mean or
    chance.
    """
    many = "genes" if found.axis == "gene" else "perturbations"
    pooled, table = found.pooled, found.table
    if table.empty:
        return [f"No {'gene' if found.axis == 'gene' else 'perturbation'} has rows of both classes, so none has an AUROC."]
    above, below = int((table["low"] > 0.5).sum()), int((table["high"] < 0.5).sum())
    return [
        f"{len(table):,} {many} have both classes, {pooled.one_class:,} have one. "
        f"Their AUROCs have mean {number_text(pooled.mean)}.",
        f"Raw AUROCs have SD {number_text(float(table['raw'].std(ddof=0)))}; "
        f"chance explains {pooled.by_chance:.0%} of their variance.",
        f"True AUROCs have SD {number_text(pooled.spread)}. "
        f"Partially pooled, {above:,} of {len(table):,} are above chance and {below:,} below, each by its own 95% interval.",
    ]


def group_shape(found: GroupScores) -> dict[str, Any]:
    """Return `score-groups --json`; null for numbers that are not defined."""
    pooled = found.pooled
    summary = {"mean": pooled.mean, "spread": pooled.spread, "by_chance": pooled.by_chance}
    return {
        "axis": found.axis,
        "metric": found.metric,
        "scored": found.scored,
        "n": len(found.table),
        "one_class": pooled.one_class,
        **{name: None if np.isnan(value) else value for name, value in summary.items()},
        "groups": found.table.to_dict("records"),
    }
