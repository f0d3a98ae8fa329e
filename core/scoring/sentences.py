"""Phrases that several results share: intervals, and how scores are made."""

from __future__ import annotations

from core.base.texts import estimate_text, range_text
from core.stats.intervals import Interval, Unit, why_no_interval
from core.transfer.run_cells import ALL_ROWS

TWO_WAY = "allowing for shared perturbations and genes"  # describes a two-way interval
# what scoring inside the cells of folds does
UNSEEN = "only on genes and perturbations whose labels the neighbours never saw"
BIASED = "Leave-one-out is biased if all genes are about equally similar. Base claims on folds."
FEW_CLUSTERS = 40  # an interval mentions smaller numbers of clusters
_AXES: dict[Unit, str] = {
    "two-way": TWO_WAY,
    "pert": "allowing for shared perturbations",
    "gene": "allowing for shared genes",
    "row": "by rows",
    "stratum": "by strata",
}
_SINGLE = {"pert": "a single gene", "gene": "a single perturbation"}


def interval_text(value: Interval, *, signed: bool = False) -> str:
    """Return an interval as "0.621 [0.604, 0.638]", with a sign for a change, and an en dash if it
    is unknown."""
    return estimate_text(*value.ends, "+.3f" if signed else ".3f")


def limits_text(value: Interval) -> str:
    """Return the ends of an interval, "[0.604, 0.638]", where its estimate is shown already."""
    return range_text(value.low, value.high)


def axes_text(shown: Interval) -> str:
    """Return the units that the shown interval treats as independent, with the number of clusters
    if it is small, or why there is no interval.
    """
    why = why_no_interval(shown)
    return f"no interval: {why}" if why else allowed_text(shown)


def allowed_text(shown: Interval) -> str:
    """Return the units that an interval treats as independent, with the number of clusters if it is
    small."""
    few = shown.clusters is not None and shown.clusters < FEW_CLUSTERS
    remarks = ", ".join(
        filter(None, (_SINGLE.get(shown.unit), f"{shown.clusters} clusters" if few else ""))
    )
    return _AXES[shown.unit] + (f" ({remarks})" if remarks else "")


_SHORT_WAYS = {ALL_ROWS: f"over {ALL_ROWS}", "leave-one-out": "as leave-one-out"}
_WAYS = {
    **_SHORT_WAYS,
    "leave-one-out": "as leave-one-out, which is biased if all genes are about equally similar",
}


def scored_text(scored: str) -> str:
    """Return which pairs of rows count (`run_cells.describe_scoring`), for a caption: "scored over
    all rows"."""
    return f"scored {_SHORT_WAYS.get(scored, scored)}"


def describe_scored(scored: str) -> str:
    """Describe the counted pairs of rows (`run_cells.describe_scoring`) for people."""
    return f"{UNSEEN} ({scored})" if "cells" in scored else _WAYS.get(scored, scored)
