"""The JSON of an interval, an estimate and a comparison."""

from __future__ import annotations

import math
from typing import Any

from core.stats.comparison import Comparison, Difference
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from core.stats.official_score import Metrics

UNITS = ("row", "pert", "gene", "two_way")


def interval(value: Interval) -> dict[str, float] | None:
    """Return an interval, or null if it has no estimate."""
    if math.isnan(value.estimate):
        return None
    return {**value.columns, "se": value.se}


def shape_shown(value: Estimate) -> dict[str, float | int | None] | None:
    """Return the interval shown and the number of clusters behind its limits (null with one perturbation and one gene)."""
    found = interval(value.shown)
    return None if found is None else {**found, "clusters": value.shown.clusters}


def _counts(result: Metrics[Any]) -> dict[str, int]:
    return {"n": result.n, "n_labelled": result.n_labelled, "n_de": result.n_de}


def changes(result: Comparison) -> dict[str, Any]:
    """Return row counts and the changes of DE, DIR and their mean, each with the interval of every unit."""
    parts = {"delta_de": result.de, "delta_dir": result.dir, "delta_mean": result.mean}
    return {**_counts(result), **{name: _change(part) for name, part in parts.items()}}


def _change(part: Difference) -> dict[str, Any] | None:
    top = shape_shown(part.change)
    return None if top is None else {**top, **{unit: interval(getattr(part.change, unit)) for unit in UNITS}}
