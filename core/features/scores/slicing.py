"""The ways to cut a run's rows into slices."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from core.base.texts import symbol_kind
from core.base.types import Flag
from core.stats.ranks import equal_groups

if TYPE_CHECKING:
    import pandas as pd

# low included, high excluded unless it is 1
P_BINS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))

QUARTERS = ("least quarter", "second quarter", "third quarter", "most quarter")


def available_slices(rows: pd.DataFrame) -> list[str]:
    """Return the slices that apply to a run's rows; those by neighbours only if the run has
    neighbours."""
    has_neighbours = bool(rows["support"].notna().any())
    return [name for name in SLICES if has_neighbours or not name.endswith("neighbours")]


def _probability_slices(values: pd.Series) -> pd.Series:
    import pandas as pd

    names = [f"{low:.1f}–{high:.1f}" for low, high in P_BINS]
    edges = [low for low, _ in P_BINS] + [np.inf]
    return pd.cut(values, edges, right=False, labels=names).astype(object).fillna("missing")


def _gene_row_slices(rows: pd.DataFrame) -> pd.Series:
    import pandas as pd

    from core.store.predictions import GENE_ROWS

    counts = rows["gene_rows"]
    names = np.full(len(counts), "", dtype=object)
    for name, (low, high) in GENE_ROWS.items():
        names[(counts >= low) & (counts <= high)] = name
    return pd.Series(names, index=counts.index)


def _coverage_slices(rows: pd.DataFrame) -> pd.Series:
    uncovered = {Flag.UNCOVERED, Flag.PARTLY_COVERED}
    return rows["flags"].map(
        lambda each: "without a neighbour" if uncovered.intersection(each) else "with neighbours"
    )


def _support_slices(rows: pd.DataFrame) -> pd.Series:
    """Return quarters of the rows that have support, least first; "none" without."""
    import pandas as pd

    support = rows["support"]
    quarters = pd.Series(
        equal_groups(support.where(support > 0), len(QUARTERS)), index=support.index
    )
    return quarters.map(dict(enumerate(QUARTERS, start=1))).astype(object).fillna("none")


# The ways to cut rows into slices: name on screen → function that gives each row's slice.
SLICES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "gene's rows": _gene_row_slices,
    "gene's symbol": lambda rows: rows["gene"].map(symbol_kind),
    "P(DE)": lambda rows: _probability_slices(rows["p_de"]),
    "P(up | DE)": lambda rows: _probability_slices(rows["p_up_given_de"]),
    "coverage by neighbours": _coverage_slices,
    "support of neighbours": _support_slices,
    "split": itemgetter("split"),
    "perturbation": itemgetter("pert"),
    "target gene": itemgetter("gene"),
}

SHORT_NAMES = {"gene": "target gene", "pert": "perturbation"}  # of slices, in the command
