"""Counts of the challenge's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.audit.shared_symbols import SymbolTables, compare_splits
from core.experiments.published.sources import Computed, Sources


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one count: `split.what`, or `shared.what` of both splits."""
    split, _, what = wanted["value"].partition(".")
    rows = sources.rows()
    if split == "shared":
        overlap = sources.once(("overlap",), lambda: compare_splits(rows, SymbolTables()))
        return Computed(sum(len(getattr(pair, what)) for pair in overlap))
    return Computed(_count(rows[rows["split"] == split], what))


def _count(rows: pd.DataFrame, what: str) -> int:
    if what == "rows":
        return len(rows)
    if what in ("perts", "genes"):
        return int(rows[what.removesuffix("s")].nunique())
    if what == "both_roles":
        return len({*rows["pert"]} & {*rows["gene"]})
    if what == "other_ids":
        return int((rows["pair_id"] != rows["pert"] + "_" + rows["gene"]).sum())
    if what == "repeated_ids":
        return int(rows["pair_id"].duplicated().sum())
    return int((rows["label"] == what).sum())
