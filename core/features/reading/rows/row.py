"""One row of a run on the page Rows: its numbers, its dossier, its trace, the calls behind it and
people's notes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.base.types import ASKED, FLAG_NAMES, MADE_ELSEWHERE
from core.features import hooks
from core.features.reading import gene_cards
from core.features.reading.row_reason import passages_in
from core.features.reading.rows import calls, dossier, made_from, row_header, trace
from core.features.reading.rows.marked_text import Marks
from core.runs import actions as run_actions
from core.scoring.row_numbers import MODEL_FREE, arithmetic
from core.store.runs import Run
from core.ui import links, results
from core.ui.confirmation import confirm
from core.ui.loaders.rows import RowDetails, row_details
from core.ui.shell import PageContext
from core.ui.widgets import as_text, flush, symbol_text

COMPARED = {
    "P(DE)": "p_de",
    "P(up | DE)": "p_up_given_de",
    "up": "prediction_up",
    "down": "prediction_down",
}


def show(context: PageContext, run: Run, details: RowDetails, ids: Sequence[str]) -> None:
    """Show everything about one of the listed rows (ids), and the same row in the compared runs."""
    row = details.numbers
    compare = row_header.show(context, run, details, ids)
    flush()
    marks = marks_of(context, details)
    if compare:
        _show_runs(context, [run.id, *compare], row["pair_id"], marks)
    else:
        _show_story(context, run, details, marks)
    with st.container(key="row-further", horizontal=True, gap="small"):
        if not compare:
            _show_sources(context, run, details, marks)
        if not row["error"]:
            with st.expander("How these numbers were computed"):
                st.text("\n".join(arithmetic(run, row, details.events)))
        if not compare:
            for show_panel in hooks("row_panels"):
                show_panel(context.workspace, run, row["pair_id"], details.readings)
        with st.expander("Both genes"):
            for role, name, about in (
                ("pert", row["pert"], row["pert_description"]),
                ("gene", row["gene"], row["description"]),
            ):
                links.to_symbol(role, name, f"All rows of {symbol_text(name)}")
                if context.dataset is not None:
                    gene_cards.show_description(context.dataset, name, about)
            if row["split"] != ASKED:
                links.to_page(
                    links.NEIGHBOURS,
                    "Neighbours of this row",
                    dataset=run.dataset,
                    row=row["pair_id"],
                )
        _show_notes(context, run, row["pair_id"], details.notes)
    if context.dataset is not None:
        gene_cards.show(context.dataset, marks.pages)


def marks_of(context: PageContext, details: RowDetails) -> Marks:
    """Return the marks in the texts of a row: search words, passages that decided a reading, and
    the dataset's genes."""
    dataset, row, events = context.dataset, details.numbers, details.events
    assert dataset is not None  # of the run that is on screen
    run = context.run.id if context.run else None
    texts = (event["content"] for event in events)
    pages = gene_cards.pages_of(dataset, run, (row["pert"], row["gene"]), texts)
    passages = {
        event["content"]: found
        for event in events
        if (found := passages_in(event, details.passages))
    }
    return Marks(str(st.session_state.get("q") or ""), pages, passages)


def _show_story(
    context: PageContext, run: Run, details: RowDetails, marks: Marks, *, narrow: bool = False
) -> None:
    """Show the trace of the row. narrow: in one column."""
    if run.method in MODEL_FREE and context.dataset is not None:
        is_shown = False
        if run.method not in MADE_ELSEWHERE:  # for these, only their files' numbers are known
            is_shown = details.numbers["error"] or made_from.show(context.dataset, run, details)
        # has its arithmetic
        with st.expander("As the run recorded it", expanded=not is_shown or run.method == "fusion"):
            trace.show(run, details, marks, narrow=narrow)
        return
    trace.show(run, details, marks, narrow=narrow)


def _show_sources(context: PageContext, run: Run, details: RowDetails, marks: Marks) -> None:
    """Show a run's evidence for the row and the calls of its model in expanders; nothing for a run
    without a model."""
    if run.method in MODEL_FREE:
        return
    is_beside = context.run is not None and run.id != context.run.id
    dossier.show(details.dossier, details.events, marks, f"card-{run.id}" if is_beside else "card")
    calls.show(run, details.numbers["pair_id"], details.calls)


def _show_runs(context: PageContext, shown: Sequence[str], pair_id: str, marks: Marks) -> None:
    """Show the same row in up to three runs (ids): the numbers in one table, then the rows side by
    side."""
    runs = {run.id: run for run in context.runs}
    rows = {key: row_details(key, pair_id) for key in shown}
    table = pd.DataFrame(
        {
            "run": [
                f"{runs[key].name} (rank scores)" if runs[key].has_rank_scores else runs[key].name
                for key in shown
            ],
            **{
                title: [rows[key].numbers[column] for key in shown]
                for title, column in COMPARED.items()
            },
            "flags": [
                ", ".join(FLAG_NAMES.get(f, f) for f in rows[key].numbers["flags"]) for key in shown
            ],
        }
    )
    two_places = st.column_config.NumberColumn(format="%.2f")
    results.show_table(
        table, "the row in several runs", dict.fromkeys(table.columns[1:5], two_places)
    )
    for column, key, name in zip(st.columns(len(shown)), shown, table["run"], strict=True):
        with column:
            st.markdown(f"#### {as_text(name)}")
            _show_story(context, runs[key], rows[key], marks, narrow=True)
            _show_sources(context, runs[key], rows[key], marks)


def _show_notes(context: PageContext, run: Run, pair_id: str, notes: pd.DataFrame) -> None:
    """Show people's notes on the row, and a form for a new one."""
    with st.container(key="notes"), st.expander(f"Notes ({len(notes)})", expanded=len(notes) > 0):
        for note in notes.itertuples():
            st.caption(as_text(f"{note.author}, {note.written_at:%Y-%m-%d %H:%M}"))
            st.text(note.text)
        if context.read_only:
            return
        with st.form("note", clear_on_submit=True, border=False):
            text = st.text_area("Add a note", key="note_text", height=68)
            author = context.workspace.settings.author
            # a person who signed in writes only under their own name
            if context.workspace.person is None:
                author = st.text_input("Author", value=author, key="note_author")
            if st.form_submit_button("Add note") and text.strip():
                run_actions.add_note(context.workspace, run.id, pair_id, text, author)
                confirm(
                    f"Note on {pair_id} saved.",
                    lambda: links.to_rows(run, "Rows with notes", noted="true"),
                )
