"""Browsing a run's rows: the list, previous and next, and a choice of runs to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.stats.ranks import rank_from_top
from core.store.runs import Run
from core.ui.shared import links, loaders, row_list
from core.ui.shared.linked import choose_several
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, score_name, show_empty

PART_ROWS = 20_000  # in one list
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
    """Show the list of rows, or the part of a very long one that holds the row at `place`; a click opens another."""
    part = place // PART_ROWS
    shown = tuple(ids[part * PART_ROWS : (part + 1) * PART_ROWS])

    def open_row(pair_id: str) -> None:
        st.query_params["row"] = pair_id

    listed = f", {part * PART_ROWS + 1:,}–{part * PART_ROWS + len(shown):,} listed" if len(ids) > PART_ROWS else ""
    drawn = row_list.load(run.id, shown, score_name(run), f"{len(ids):,} of {run.done:,} rows{listed}")
    row_list.show(drawn, ids[place], f"list-{run.id}", open_row)


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
    chosen = choose_several(
        others.multiselect,
        "with",
        "Compare with",
        names,
        max_selections=2,
        label_visibility="collapsed",
        placeholder="compare with …" if names else "no other run has this row",
        disabled=not names,
    )
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
