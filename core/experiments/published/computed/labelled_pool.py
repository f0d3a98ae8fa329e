"""The labelled pool of a language model's log-probabilities: its rows, its score, also inside genes and perturbations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.published.sources import Computed, Sources
from core.scoring.run_scores import score_run
from core.stats.within_axis import Axis, score_within


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number: rows, rows.LABEL, llm.AXIS, or within_gene.AXIS and within_pert.AXIS (by pairs)."""
    rows = sources.run_rows("pool")
    what, _, which = wanted["value"].partition(".")
    if what == "rows":
        return Computed(len(rows) if not which else int((rows.labels == which).sum()))
    if what == "llm":
        whole = sources.once(("pool score",), lambda: score_run(rows)).whole
        return Computed(whole.parts[which.upper()].value)
    axis: Axis = "gene" if what == "within_gene" else "pert"
    within = sources.once((what,), lambda: score_within(rows.arrays, axis))
    return Computed((within.de if which == "de" else within.dir).by_pairs.value)
