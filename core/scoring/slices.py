"""The ways to cut a run's rows into slices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from core.scoring.run_scores import RunRows
from core.stats.ranks import equal_groups
from core.stats.slices import Slice, by_slice
from core.stats.within_axis import Axis, WithinAxis, score_within
from core.store.predictions import GENE_ROWS
from core.texts import symbol_kind
from core.types import Flag

P_BINS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))  # low included, high excluded unless it is 1
QUARTERS = ("least quarter", "second quarter", "third quarter", "most quarter")


def score_slices(rows: RunRows, by: str) -> tuple[Slice, ...]:
    """Return every slice of a run's rows by one of `SLICES`, scored as the run is."""
    return by_slice(rows.labels, rows.scores, SLICES[by](rows.frame), rows.pert, rows.gene, rows.cells)


def macro_means(rows: RunRows, by: str) -> WithinAxis | None:
    """Return the unweighted means of the AUROCs of the slices by gene or perturbation; None for other slices."""
    axis = _AXES.get(by)
    return None if axis is None else score_within(rows.arrays, axis)


def available_slices(rows: pd.DataFrame) -> list[str]:
    """Return the slices that apply to a run's rows; those by neighbours only if the run has neighbours."""
    has_neighbours = bool(rows["support"].notna().any())
    return [name for name in SLICES if has_neighbours or not name.endswith("neighbours")]


def _probability_slices(values: pd.Series) -> pd.Series:
    names = [f"{low:.1f}–{high:.1f}" for low, high in P_BINS]
    edges = [low for low, _ in P_BINS] + [np.inf]
    return pd.cut(values, edges, right=False, labels=names).astype(object).fillna("missing")


def _gene_row_slices(counts: pd.Series) -> pd.Series:
    names = np.full(len(counts), "", dtype=object)
    for name, (low, high) in GENE_ROWS.items():
        names[(counts >= low) & (counts <= high)] = name
    return pd.Series(names, index=counts.index)


def _coverage_slices(flags: pd.Series) -> pd.Series:
    uncovered = {Flag.UNCOVERED, Flag.PARTLY_COVERED}
    return flags.map(lambda each: "without a neighbour" if uncovered.intersection(each) else "with neighbours")


def _support_slices(support: pd.Series) -> pd.Series:
    """Return quarters of the rows that have support, least first; "none" without."""
    quarters = pd.Series(equal_groups(support.where(support > 0), len(QUARTERS)), index=support.index)
    return quarters.map(dict(enumerate(QUARTERS, start=1))).astype(object).fillna("none")


# The order of the slices of a kind, if it is not the default.
ORDERS: dict[str, tuple[str, ...]] = {
    "gene's rows": tuple(GENE_ROWS),
    **dict.fromkeys(("P(DE)", "P(up | DE)"), (*(f"{low:.1f}–{high:.1f}" for low, high in P_BINS), "missing")),
    "support of neighbours": ("none", *QUARTERS),
}
# The ways to cut rows into slices: name on screen → function that gives each row's slice.
SLICES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "gene's rows": lambda rows: _gene_row_slices(rows["gene_rows"]),
    "gene's symbol": lambda rows: rows["gene"].map(symbol_kind),
    "P(DE)": lambda rows: _probability_slices(rows["p_de"]),
    "P(up | DE)": lambda rows: _probability_slices(rows["p_up_given_de"]),
    "coverage by neighbours": lambda rows: _coverage_slices(rows["flags"]),
    "support of neighbours": lambda rows: _support_slices(rows["support"]),
    "split": lambda rows: rows["split"],
    "perturbation": lambda rows: rows["pert"],
    "target gene": lambda rows: rows["gene"],
}
SHORT_NAMES = {"gene": "target gene", "pert": "perturbation"}  # of slices, in the command
_AXES: dict[str, Axis] = {"target gene": "gene", "perturbation": "pert"}
