"""The sources of a row in a run without a model: a kNN's neighbours, or the fused runs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.base.errors import InputError, NotFound, StateError
from core.features import hooks
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import links, results
from core.ui.loaders.records import all_runs
from core.ui.loaders.rows import RowDetails, row_details
from core.ui.widgets import as_text


def show(dataset: Dataset, run: Run, details: RowDetails) -> bool:
    """Show the present sources of a predicted row and return True.

    If they were deleted or cannot be used, show the reason and return False.
    """
    try:
        if run.method == "knn":
            for show_sources in hooks("row_sources"):
                show_sources(dataset, run, details.numbers)
        else:
            _show_parents(run, details)
    except (InputError, NotFound, StateError) as error:
        st.caption(f":orange[⚠ The sources of this row cannot be shown:] {as_text(error)}")
        return False
    return True


def _show_parents(run: Run, details: RowDetails) -> None:
    """Show the row in the runs that a run was made from. Raise NotFound if one of them was
    deleted."""
    known = {each.id: each for each in all_runs()}
    missing = [key for key in run.parents if key not in known]
    if missing:
        raise NotFound(f"run {missing[0]!r}: not in this workspace")
    pair_id = details.numbers["pair_id"]
    covering = {
        key: row_details(key, pair_id).numbers for key in run.parents if key in details.runs
    }
    numbers = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
    table = pd.DataFrame(
        {
            "component": [known[key].name for key in run.parents],
            "row": [
                links.row_address(known[key], pair_id) if key in covering else None
                for key in run.parents
            ],
            **{
                title: [covering.get(key, {}).get(name) for key in run.parents]
                for title, name in numbers.items()
            },
        }
    ).astype(dict.fromkeys(numbers, float))
    st.markdown("**Made from**")
    results.show_table(
        table,
        f"components of {run.name}",
        {
            **{title: st.column_config.NumberColumn(format="%.3f") for title in numbers},
            "row": results.OPEN,
        },
    )
    if table[[*numbers]].isna().any(axis=None):
        st.caption("A component without a number does not cover this row.")
