"""The sources of a row in a run without a model: a kNN's neighbours, or the fused runs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.base.errors import InputError, NotFound, StateError
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn_settings import read_knn_settings
from core.ui import links, neighbour_controls, tables
from core.ui.loaders.records import all_runs
from core.ui.loaders.rows import RowDetails, row_details
from core.ui.widgets import as_text

LISTED = 10  # neighbours with the largest weights
SAME = 1e-6  # largest difference of equal probabilities


def show(dataset: Dataset, run: Run, details: RowDetails) -> bool:
    """Show the present sources of a predicted row and return True.

    If they were deleted or cannot be used, show the reason and return False.
    """
    try:
        if run.method == "knn":
            _show_neighbours(dataset, run, details)
        else:
            _show_parents(run, details)
    except (InputError, NotFound, StateError) as error:
        st.caption(f":orange[⚠ The sources of this row cannot be shown:] {as_text(error)}")
        return False
    return True


def _show_neighbours(dataset: Dataset, run: Run, details: RowDetails) -> None:
    row, settings = details.numbers, read_knn_settings(run.spec)
    live = neighbour_controls.find_neighbours(dataset, settings, (row["pair_id"],))
    provenance = live.neighbourhood.explain(0, settings.spaces, settings.similarity)
    n = len(provenance.neighbours)
    st.markdown(
        f"**Neighbours** · {n:,} labelled rows have a weight · {as_text(settings.describe())}"
    )
    prior = provenance.prior_de  # before the support strength, which depends on other rows
    if not settings.similarity.strength and abs(prior - row["p_de"]) > SAME:  # False for NaN
        st.caption(
            ":orange[⚠ Spaces or labels have changed since this run]: today P(DE) would be"
            f" {prior:.2f}."
        )
    if not n:
        st.markdown(
            "No labelled row that this row may use is similar to it, so base rates are used."
        )
        return
    table = neighbour_controls.neighbour_table(live, provenance, grouped=True)
    shown = table[["neighbour", "up", "down", "none", "similarity"]].assign(
        share=100 * table["share"], of_up=100 * table["share_up"]
    )
    number = st.column_config.NumberColumn
    tables.show_table(
        shown.head(LISTED),
        f"neighbours of {run.name}",
        {
            "similarity": number(format="%.3f"),
            "share": number("% of P(DE)", format="%.2f"),
            "of_up": number("% of P(up | DE)", format="%.2f"),
        },
    )
    more = {
        "dataset": dataset.id,
        "run": run.id,
        "row": row["pair_id"],
        **neighbour_controls.link_parameters(dataset, settings),
    }
    st.page_link(
        links.NEIGHBOURS,
        label=f"Open all {len(table):,} in Neighbours",
        query_params=more,
        width="content",
    )


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
    tables.show_table(
        table,
        f"components of {run.name}",
        {
            **{title: st.column_config.NumberColumn(format="%.3f") for title in numbers},
            "row": tables.OPEN,
        },
    )
    if table[[*numbers]].isna().any(axis=None):
        st.caption("A component without a number does not cover this row.")
