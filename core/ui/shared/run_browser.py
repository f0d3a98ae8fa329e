"""Browsing a run's rows: the list, previous and next, and a choice of runs to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.plots import theme
from core.stats.ranks import rank_from_top
from core.store.runs import Run
from core.ui.shared import links, loaders
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import PROBABILITY_HELP, RANK_HELP, as_text, show_empty

PAGE_ROWS = 1000  # in one list
_STEP_HELP = {"left": "previous row", "right": "next row"}


def choose_row(run: Run, ids: Sequence[str]) -> str:
    """Show the list of rows and return the id of the chosen one: the one that the address names, or the first."""
    wanted = st.query_params.get("row")
    place = ids.index(wanted) if wanted in ids else 0
    if wanted is not None and wanted not in ids:
        st.caption(":orange[The row that this link names is not among these; showing the first.]")
    if wanted is not None:
        links.set_parameter("row", ids[place])
    _show_list(run, ids, place)
    return ids[place]


def _show_list(run: Run, ids: Sequence[str], place: int) -> None:
    """Show the part of the list that holds the row at `place`, with that row selected; a click opens another."""
    page = place // PAGE_ROWS
    shown = tuple(ids[page * PAGE_ROWS : (page + 1) * PAGE_ROWS])
    key = f"list-{run.id}"
    st.session_state[key] = {"selection": {"rows": [place % PAGE_ROWS], "columns": [], "cells": []}}

    def open_row() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows:
            st.query_params["row"] = shown[rows[0]]

    part = f", {page * PAGE_ROWS + 1:,}–{page * PAGE_ROWS + len(shown):,} listed" if len(ids) > PAGE_ROWS else ""
    st.caption(f"{len(ids):,} of {run.done:,} rows{part}")
    name = "rank" if run.has_rank_scores else "P(DE)"  # the column is narrow
    st.dataframe(
        _table(loaders.list_rows(run.id, shown), name),
        key=key,
        on_select=open_row,
        selection_mode="single-row",
        hide_index=True,
        height=560,
        column_config={
            "row": st.column_config.TextColumn("perturbation ⟶ gene", width=178),
            name: st.column_config.NumberColumn(
                format="%.2f", width=55, help=RANK_HELP if run.has_rank_scores else PROBABILITY_HELP["P(DE)"]
            ),
            "": st.column_config.TextColumn(width=44, help="Label, flags (⚠) and notes (✎)"),
        },
    )


def _table(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """The list of rows; name: of the column of their P(DE) or rank scores."""
    signs = [
        f"{theme.LABEL_SIGNS[label] if isinstance(label, str) else ''}{' ⚠' if len(flags) else ''}{' ✎' if notes else ''}"
        for label, flags, notes in zip(rows["label"], rows["flags"], rows["notes"], strict=True)
    ]
    return pd.DataFrame({"row": rows["pert"] + " ⟶ " + rows["gene"], name: rows["p_de"], "": signs})


def show_toolbar(context: PageContext, run: Run, ids: Sequence[str], pair_id: str, runs_with_row: Sequence[str]) -> list[str]:
    """Show previous, next, copy link and a choice of runs to compare with; return the ids of the chosen runs."""
    place = ids.index(pair_id)
    previous, count, following, others, link = st.columns([0.08, 0.22, 0.08, 0.42, 0.2], vertical_alignment="center")
    with previous:
        _show_step("‹", "left", ids, place - 1)
    count.markdown(f"row {place + 1:,} of {len(ids):,}", text_alignment="center")
    with following:
        _show_step("›", "right", ids, place + 1)
    names = {r.id: r.name for r in context.runs if r.id in runs_with_row and r.id != run.id}
    chosen = others.multiselect(
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


def _show_step(sign: str, key: str, ids: Sequence[str], place: int) -> None:
    """Show the button that opens the row at `place`; the arrow key `key`, "left" or "right", presses it."""

    def go() -> None:
        st.query_params["row"] = ids[place]

    st.button(
        sign,
        help=f"{_STEP_HELP[key]} ({key} arrow)",
        on_click=go,
        disabled=not 0 <= place < len(ids),
        shortcut=key,
        key=f"go-{key}",
        width="stretch",
    )


def rank_sentence(run: Run, row: dict[str, Any]) -> str:
    """The rank of a row's P(DE) or rank score in its run, in words; empty for a row that failed."""
    if row["error"]:
        return ""
    values = loaders.p_de_values(run.id)
    rank, n_equal = rank_from_top(values, row["p_de"])
    ties = f", shared by {n_equal:,} rows" if n_equal > 1 else ""
    return f"Rank {rank:,} of {len(values):,} from the top{ties}."


def show_no_run(context: PageContext) -> None:
    """Say that there is no run to show, and what to do next."""
    where = f"Dataset {as_text(context.dataset.name)} has no runs yet." if context.dataset else "This workspace is empty."
    show_empty(f"{where} Import a submission to read its debates.", lambda: links.to_data("Go to Data"))
