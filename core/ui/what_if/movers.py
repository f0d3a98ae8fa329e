"""The rows that a fusion moves most, drawn once the hand rests: not at each step of a slider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.plots import rank_movers
from core.stats.ranks import ranks_from_top
from core.transfer.live_fusion import FusionComparison
from core.ui.shared import links, loaders, shell
from core.ui.shared.linked import linked
from core.ui.shared.widgets import label_text, show_figure
from core.ui.what_if.fusion_controls import FusionChoice

LISTED = 20  # rows that move most
MOVED = {"P(DE)": "the DE score", "P(up | DE)": "the DIR score"}  # a fusion's numbers are rank scores
REST_MS = 700  # without a move, before rows are drawn again
_TABLE_PX = 34 * (LISTED + 1)
_DRAWN, _RESTED = "_movers", "_rested"  # session keys: what is on screen, and whether the hand has just come to rest
# Asks for one more run of its fragment, once no new weights have come for a while.
_JS = """export default ({ data, parentElement, setTriggerValue }) => {
  clearTimeout(parentElement.rest);
  if (data.waiting) parentElement.rest = setTimeout(() => setTriggerValue("rested", true), data.rest_ms);
};"""
_rest = st.components.v2.component("rest", html="<div></div>", js=_JS)


@dataclass(frozen=True, slots=True, eq=False)
class Movers:
    """The rows that move most at some weights. weights: what they depend on; chart: None if no row moves."""

    weights: tuple[Any, ...]
    of: tuple[Any, ...]
    table: pd.DataFrame
    chart: go.Figure | None


def show_movers(choice: FusionChoice, found: FusionComparison) -> None:
    """Show the rows that the fusion moves most against its base, with links to their debates; a fragment of its own."""

    def draw() -> None:
        which: str = st.segmented_control(
            "Rows that move most in", list(MOVED), default=next(iter(MOVED)), **linked("moved"), required=True
        )
        kept: Movers | None = st.session_state.get(_DRAWN)
        of = (choice.base.id, choice.others, which)
        weights = (choice.knn, choice.w_de, choice.w_dir, choice.reference, choice.references)
        if st.session_state.pop(_RESTED, False) or kept is None or kept.of != of:
            kept = st.session_state[_DRAWN] = _find_movers(choice, found, which, of, weights)
        _rest(
            key="rest",
            data={"waiting": kept.weights != weights, "at": str(weights), "rest_ms": REST_MS},
            on_rested_change=_note_rest,
        )
        with st.container(key="movers"):
            _show(choice, kept, found.n)

    shell.fragment(draw)()


def _note_rest() -> None:
    st.session_state[_RESTED] = True


def _find_movers(
    choice: FusionChoice, found: FusionComparison, which: str, of: tuple[Any, ...], weights: tuple[Any, ...]
) -> Movers:
    """The rows whose ranks move most, up or down, with their chart."""
    rows = loaders.run_rows(choice.base.id)
    base, fused = (rows["p_de"], found.fused.p_de) if which == "P(DE)" else (rows["p_up_given_de"], found.fused.p_up)
    before = base.to_numpy(dtype=np.float64)
    table = rows[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(before), rank_b=ranks_from_top(np.where(np.isnan(before), np.nan, fused))
    )
    moved = (table["rank_b"] - table["rank_a"]).abs()
    table = table.loc[moved[moved > 0].nlargest(LISTED).index]
    chart = rank_movers.figure(table, choice.base.name, "the fusion", MOVED[which]) if len(table) else None
    return Movers(weights, of, table, chart)


def _show(choice: FusionChoice, movers: Movers, n: int) -> None:
    if movers.chart is None:
        st.markdown("No row moves at these weights.")
        return
    left, right = st.columns([0.43, 0.57], gap="medium")
    with left:
        _show_table(choice, movers.table)
    with right:
        caption = f"{choice.base.name} · the {len(movers.table)} of {n:,} rows that move most · ranks, so no interval"
        show_figure(movers.chart, movers.table, "movers", caption)


def _show_table(choice: FusionChoice, table: pd.DataFrame) -> None:
    address = {"dataset": choice.base.dataset, "run": choice.base.id}
    link = st.column_config.LinkColumn
    st.dataframe(
        pd.DataFrame(
            {
                "row": table["pert"] + " ⟶ " + table["gene"],
                "label": [label_text(label if isinstance(label, str) else None) for label in table["label"]],
                "places": table["rank_a"] - table["rank_b"],
                "debate": [links.page_address("debates", **address, row=key) for key in table["pair_id"]],
                "neighbours": [links.page_address("neighbours", **address, row=key) for key in table["pair_id"]],
            }
        ),
        hide_index=True,
        height=_TABLE_PX,
        column_config={
            "places": st.column_config.NumberColumn(
                format="%+d", help="How many ranks the row rises (+) or falls (−); 1 is the largest."
            ),
            "debate": link(display_text="open"),
            "neighbours": link(display_text="open"),
        },
    )
