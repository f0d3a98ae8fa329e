"""The rows that a fusion moves most, as a table and a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.plots import rank_movers
from core.stats.ranks import ranks_from_top
from core.texts import number_text
from core.transfer.live_fusion import FusionComparison
from core.ui.fuse.fusion_controls import FusionChoice
from core.ui.shared import links, loaders, tables
from core.ui.shared.linked import bind
from core.ui.shared.widgets import label_text, show_figure

LISTED = 20  # rows that move most
MOVED = {"P(DE)": "the DE score", "P(up | DE)": "the DIR score"}  # a fusion's numbers are rank scores


def show_movers(choice: FusionChoice, found: FusionComparison) -> None:
    """Show the rows that the fusion moves most against its base, with links to their debates."""
    which = st.segmented_control("Rows that move most in", list(MOVED), default=next(iter(MOVED)), **bind("moved"), required=True)
    table = _find_movers(choice, found, which)
    with st.container(key="movers"):
        if table.empty:
            st.markdown("No row moves at these weights.")
            return
        left, right = st.columns([0.48, 0.52], gap="medium")  # the table whole at 1280 px
        with left:
            _show_table(choice, table)
        with right:
            chart = rank_movers.figure(table, choice.base.name, "the fusion", MOVED[which])
            caption = f"{choice.base.name} · the {len(table)} of {found.n:,} rows that move most · ranks, so no interval"
            show_figure(chart, table, "movers", "Rows that move most", caption)


def _find_movers(choice: FusionChoice, found: FusionComparison, which: str) -> pd.DataFrame:
    """The rows whose ranks move most, up or down."""
    rows = loaders.run_rows(choice.base.id)
    base, fused = (rows["p_de"], found.fused.p_de) if which == "P(DE)" else (rows["p_up_given_de"], found.fused.p_up)
    before = base.to_numpy(dtype=np.float64)
    table = rows[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(before), rank_b=ranks_from_top(np.where(np.isnan(before), np.nan, fused))
    )
    moved = (table["rank_b"] - table["rank_a"]).abs()
    return table.loc[moved[moved > 0].nlargest(LISTED).index]


def _show_table(choice: FusionChoice, table: pd.DataFrame) -> None:
    address = {"dataset": choice.base.dataset, "run": choice.base.id}
    link = st.column_config.LinkColumn
    shown = pd.DataFrame(
        {
            "row": table["pert"] + " ⟶ " + table["gene"],
            "label": [label_text(label if isinstance(label, str) else None) for label in table["label"]],
            "places": table["rank_a"] - table["rank_b"],
            "debate": [links.page_address("rows", **address, row=key) for key in table["pair_id"]],
            "neighbours": [links.page_address("neighbours", **address, row=key) for key in table["pair_id"]],
        }
    )
    tables.show_table(
        # The numbers stay numbers, by which the table is sorted; a column's format knows no minus sign and no separators.
        shown.style.format({"places": _places_text}),
        "rows that move",
        {
            "places": st.column_config.NumberColumn(
                width=80,  # as written, which is wider than the bare number
                help="How many ranks the row rises (+) or falls (−); rank 1 is the largest, tied rows share a rank.",
            ),
            "debate": link(display_text="open"),
            "neighbours": link(display_text="open"),
        },
    )


def _places_text(moved: Any) -> str:
    """How far a row moves, "−1,187"; the half ranks of tied rows are in the table to download."""
    return number_text(moved, "+,.0f")
