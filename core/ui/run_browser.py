"""Browsing a run's rows: the list, previous and next, and a choice of runs to compare with.

A presentation mode with larger type and only the row. A button that copies the link to the view on
screen, also by the key c of the list of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.base.types import Flag
from core.stats.ranks import rank_from_top
from core.store.runs import Run
from core.ui import links, row_list
from core.ui.linked import bind, choose_several
from core.ui.loaders.records import count_labelled, p_de_values
from core.ui.row_list import ListedRows
from core.ui.shell import PageContext
from core.ui.widgets import View, as_text, show_empty, show_keepers

_ICON = """<svg viewBox="0 0 16
16" width="16" height="16" aria-hidden="true" fill="none" stroke="currentColor">
<path d="M6.5 9.5l3-3M7.5 4.5l1.2-1.2a2.8 2.8 0 014 4L11.5 8.5
M8.5 11.5l-1.2 1.2a2.8 2.8 0 01-4-4L4.5 7.5"/></svg>"""
_HTML = f"""<span class="copy"><button type="button" title="Copy the link (c)" aria-label="Copy
link">{_ICON}</button>
<input hidden readonly aria-label="Link to this view"><span class="said"
role="status"></span></span>"""
_CSS = """.copy { position: relative; display: inline-block; color: var(--st-text-color); }
button { display: flex; align-items: center; border: 1px solid var(--st-border-color);
  border-radius: 4px;
  background: none;
  color: inherit; cursor: pointer; font: inherit;
  height: 2rem; padding: 0 0.5rem; }
button:hover { border-color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.said:not(:empty) { position: absolute; right: 0; top: 2.2rem; white-space: nowrap;
  padding: 0.2rem 0.6rem;
  border-radius: 4px;
  background: #25313c; color: #fff; font-size: 0.9rem; z-index: 30; }
input:not([hidden]) { position: absolute; right: 0; top: 4.2rem; width: 20rem; z-index: 30; }"""
_COPY_LINK = Path(__file__).with_name("copy_link.js").read_text("utf-8")
_button = st.components.v2.component("copy_link", html=_HTML, css=_CSS, js=_COPY_LINK)


_HELP = (
    "Larger type, without the list and the filters. The arrow keys move through the filtered rows."
)
# The list is moved off screen rather than removed, since it handles the keys.
_STYLE = """<style>
html { font-size: 19px !important; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stTabs"]
[role="tablist"], .st-key-notes,
[data-testid="stMain"] h2, [role="tabpanel"] > [data-testid="stVerticalBlock"] >
:not(:has(.st-key-row-header)),
.st-key-copy-link { display: none; }
[data-testid="stHorizontalBlock"] > [data-testid="stColumn"]:has([class*="st-key-list-"])
{ position: absolute; left: -200vw; }
[data-testid="stColumn"]:has(.st-key-row-header) { flex: 1 1 100%; width: 100%; }
[data-testid="stMainBlockContainer"] { padding-top: 1rem; }
</style>"""
PART_ROWS = 20_000  # in one list
MOST_BESIDE = 2  # runs beside the open one
_STEP_HELP = {"left": "previous row", "right": "next row"}


def choose_row(ids: Sequence[str]) -> str:
    """Return the id of the row in the address, else of the first row, which is then put into the
    address."""
    wanted = st.query_params.get("row")
    chosen = wanted if wanted is not None and wanted in ids else ids[0]
    if wanted is not None and wanted != chosen:
        st.caption(":orange[The linked row is not among these rows; the first is shown.]")
        links.set_parameters({"row": chosen})
    return chosen


def beside(ids: Sequence[str], pair_id: str) -> list[str]:
    """Return the ids of the next and the previous row, if they exist."""
    place = ids.index(pair_id)
    return [*ids[place + 1 : place + 2], *ids[max(place - 1, 0) : place]]


def show_list(run: Run, rows: ListedRows, opened: str) -> None:
    """Show the list of rows, or the part of a very long one around the open row; a click opens
    another."""
    ids = rows.ids
    place = ids.index(opened)
    part = place // PART_ROWS
    shown = tuple(ids[part * PART_ROWS : (part + 1) * PART_ROWS])

    def open_row(pair_id: str) -> None:
        st.query_params["row"] = pair_id

    listed = (
        f", {part * PART_ROWS + 1:,}–{part * PART_ROWS + len(shown):,} listed"
        if len(ids) > PART_ROWS
        else ""
    )
    drawn = row_list.load(
        run.id,
        shown,
        rows.order,
        rows.quantity,
        f"{len(ids):,} of {run.done:,} rows{listed}",
    )
    row_list.show(drawn, opened, f"list-{run.id}", open_row)


def row_pane() -> DeltaGenerator:
    """Return a container beside the list that scrolls separately. The style sheet and the list's
    script fit it to the window."""
    return st.container(key="row-pane", height=600, border=False, gap="small")


def show_toolbar(
    context: PageContext, run: Run, ids: Sequence[str], pair_id: str, runs_with_row: Sequence[str]
) -> list[str]:
    """Show previous, next, copy link and rarer controls; return the ids of the runs to compare
    with."""
    place = ids.index(pair_id)
    names = {r.id: r.name for r in context.runs if r.id in runs_with_row and r.id != run.id}
    with st.container(
        key="row-tools", horizontal=True, vertical_alignment="center", width="content"
    ):
        _show_step("left", ids, place - 1)
        st.markdown(f"row {place + 1:,} of {len(ids):,}", width="content")
        _show_step("right", ids, place + 1)
        # The link is the address of the view, below the base address if one is set.
        _button(
            key="copy-link",
            data={"base": links.base_address(), "parameters": {"row": pair_id}},
            width="content",
        )
        show_keepers(context.workspace, partial(_view_of_row, run, pair_id), "row")
        with st.popover(
            "",
            icon=":material/more_horiz:",
            help="Compare with other runs, present",
            key="row-more",
        ):
            is_on = st.toggle("Present", help=_HELP, **bind("present"))
            # a fragment cannot remove a style by leaving it out
            st.html(_STYLE if is_on else "<style></style>")
            if not names:
                st.caption("No other run has this row.")
            chosen = choose_several(
                st.pills, "with", "Compare with", names, selection_mode="multi", wrap=True
            )
            if len(chosen) > MOST_BESIDE:
                st.caption(
                    f":orange[At most {MOST_BESIDE} runs fit beside this one; the first of the"
                    " chosen runs are shown.]"
                )
    return chosen[:MOST_BESIDE]


def _view_of_row(run: Run, pair_id: str) -> View:
    """Return a row as a view, with the choices in the address."""
    address = links.page_address(
        "rows",
        **(links.read_parameters() | {"dataset": [run.dataset], "run": [run.id], "row": [pair_id]}),
    )
    title = pair_id.replace("_", " ⟶ ", 1)
    return View(run.dataset, title, address, run=run.id, pair_id=pair_id)


def _show_step(key: str, ids: Sequence[str], place: int) -> None:
    """Show the button that opens the row at `place`; the arrow key `key`, "left" or "right",
    presses it.

    Its sign is that key's arrow; the style sheet hides its words except from screen readers.
    """

    def go() -> None:
        st.query_params["row"] = ids[place]

    st.button(
        _STEP_HELP[key],
        help=f"{_STEP_HELP[key]} ({key} arrow)",
        on_click=go,
        disabled=not 0 <= place < len(ids),
        shortcut=key,
        key=f"go-{key}",
        width="content",
    )


def rank_sentence(run: Run, row: dict[str, Any]) -> str:
    """Return the rank of a row's P(DE) or rank score in its run, in words; empty for a row that
    failed or has no score for DE."""
    if row["error"] or Flag.NO_DE in row["flags"]:
        return ""
    values = p_de_values(run.id)
    rank, n_equal = rank_from_top(values, row["p_de"])
    ties = f", shared by {n_equal:,} rows" if n_equal > 1 else ""
    return f"Rank {rank:,} of {len(values):,} from the top{ties}."


def show_no_run(context: PageContext) -> None:
    """Show that there is no run, and what to do next."""
    where = (
        f"Dataset {as_text(context.dataset.name)} has no runs yet."
        if context.dataset
        else "This workspace is empty."
    )
    show_empty(
        f"{where} Import a submission to read its debates.", lambda: links.to_data("Go to Data")
    )


def offer_labelled_run(context: PageContext, page: str) -> None:
    """Show a link to the same page with the dataset's latest labelled run, if the chosen run has no
    labels."""
    found = next((run for run in reversed(context.runs) if count_labelled(run.id)), None)
    if found is not None and context.run is not None and not count_labelled(context.run.id):
        text = (
            f"Open {as_text(found.name)} here: {count_labelled(found.id):,} of its rows have labels"
        )
        links.show_link(
            page,
            label=text,
            query_params={"dataset": found.dataset, "run": found.id},
            width="content",
        )
