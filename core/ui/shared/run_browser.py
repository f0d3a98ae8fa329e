"""Moving through a run's rows: the list, previous and next, the same row in other runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.plots import theme
from core.stats.ranks import round_for_ranks
from core.store.runs import Run
from core.ui.shared import links, loaders
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_empty

PAGE = 1000  # rows that one list holds


def choose_row(run: Run, ids: Sequence[str]) -> str:
    """The list around the chosen row; the id of that row, which is the first where the link names none of these."""
    wanted = st.query_params.get("row")
    place = ids.index(wanted) if wanted in ids else 0
    if wanted is not None and wanted not in ids:
        st.caption(":orange[The row that this link names is not among these; showing the first.]")
    if wanted is not None:
        links.set_parameter("row", ids[place])
    page = place // PAGE
    shown = tuple(ids[page * PAGE : (page + 1) * PAGE])
    key = f"list-{run.id}"
    st.session_state[key] = {"selection": {"rows": [place % PAGE], "columns": [], "cells": []}}

    def clicked() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows:
            st.query_params["row"] = shown[rows[0]]

    part = f", {page * PAGE + 1:,}–{page * PAGE + len(shown):,} listed" if len(ids) > PAGE else ""
    st.caption(f"{len(ids):,} of {run.done:,} rows{part}")
    st.dataframe(
        _table(loaders.list_rows(run.id, shown)),
        key=key,
        on_select=clicked,
        selection_mode="single-row",
        hide_index=True,
        height=560,
        column_config={
            "row": st.column_config.TextColumn("perturbation ⟶ gene", width=178),
            "P(DE)": st.column_config.NumberColumn(format="%.2f", width=55),
            "": st.column_config.TextColumn(width=44, help="Label, flags (⚠) and notes (✎)"),
        },
    )
    return ids[place]


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    signs = [
        f"{theme.LABEL_SIGNS[label] if isinstance(label, str) else ''}{' ⚠' if len(flags) else ''}{' ✎' if notes else ''}"
        for label, flags, notes in zip(rows["label"], rows["flags"], rows["notes"], strict=True)
    ]
    return pd.DataFrame({"row": rows["pert"] + " ⟶ " + rows["gene"], "P(DE)": rows["p_de"], "": signs})


def show_toolbar(context: PageContext, run: Run, ids: Sequence[str], pair_id: str, runs_with_row: Sequence[str]) -> list[str]:
    """Previous, next, copy link, and a choice of runs to compare with; the ids of those runs."""
    place = ids.index(pair_id)
    back, count, on, other, link = st.columns([0.08, 0.22, 0.08, 0.42, 0.2], vertical_alignment="center")
    _step(back, "‹", "previous row", "left", ids, place - 1)
    count.markdown(f"row {place + 1:,} of {len(ids):,}", text_alignment="center")
    _step(on, "›", "next row", "right", ids, place + 1)
    names = {r.id: r.name for r in context.runs if r.id in runs_with_row and r.id != run.id}
    chosen = other.multiselect(
        "Compare with",
        list(names),
        default=[key for key in st.query_params.get_all("with") if key in names][:2],
        format_func=lambda key: names[key],
        max_selections=2,
        key=f"with-{run.id}",
        label_visibility="collapsed",
        placeholder="compare with …" if names else "no other run has this row",
        disabled=not names,
    )
    links.set_parameter("with", chosen)
    with link.popover("Copy link", width="stretch"):
        st.code(links.current_address(row=pair_id), language=None, wrap_lines=True)
    return chosen


def _step(column: Any, sign: str, label: str, key: str, ids: Sequence[str], place: int) -> None:
    there = 0 <= place < len(ids)

    def go() -> None:
        st.query_params["row"] = ids[place]

    column.button(
        sign,
        help=f"{label} ({key} arrow)",
        on_click=go,
        disabled=not there,
        shortcut=key,
        key=f"go-{key}",
        width="stretch",
    )


def rank_sentence(run: Run, row: dict[str, Any]) -> str:
    """Where a row's P(DE) stands in its run, in words."""
    if row["error"]:
        return ""
    values = round_for_ranks(loaders.p_de_values(run.id))
    own = round_for_ranks([row["p_de"]])[0]
    above, equal = int((values > own).sum()), int((values == own).sum())
    ties = f", shared by {equal:,} rows" if equal > 1 else ""
    return f"Rank {above + 1:,} of {len(values):,} from the top{ties}."


def show_no_run(context: PageContext) -> None:
    """No run to read: what to do next."""
    where = f"Dataset {as_text(context.dataset.name)} has no runs yet." if context.dataset else "This workspace is empty."
    show_empty(f"{where} Import a submission to read its debates.", lambda: links.to_data("Go to Data"))


def show_no_match(run: Run) -> None:
    """Filters that leave no row."""
    show_empty(f"None of the {run.done:,} rows matches these filters.", lambda: links.to_rows(run, "Show all rows"))
