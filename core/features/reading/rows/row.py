"""One row of a run on the page Rows: its numbers, its dossier, its trace, the calls behind it and
people's notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.base.texts import number_text
from core.base.types import ASKED, FLAG_NAMES, MADE_ELSEWHERE, Flag
from core.features import hooks
from core.features.reading import symbol
from core.features.reading.row_reason import find_reason, passages_in
from core.features.reading.rows import trace
from core.features.reading.rows.marked_text import Marks
from core.features.reading.rows.sources import show_calls, show_dossier, show_made_from
from core.plots import drawing
from core.runs import actions as run_actions
from core.scoring.row_numbers import FLAG_HELP, MODEL_FREE, arithmetic, score_name
from core.scoring.sentences import PROBABILITY_HELP, RANK_HELP
from core.store.runs import Run
from core.ui import links, results, run_browser
from core.ui.links import confirm
from core.ui.loaders.records import RowDetails, row_details
from core.ui.shell import PageContext
from core.ui.widgets import as_text, coloured_text, flush, percent_text, symbol_text

COMPARED = {
    "P(DE)": "p_de",
    "P(up | DE)": "p_up_given_de",
    "up": "prediction_up",
    "down": "prediction_down",
}


def show(context: PageContext, run: Run, details: RowDetails, ids: Sequence[str]) -> None:
    """Show everything about one of the listed rows (ids), and the same row in the compared runs."""
    row = details.numbers
    compare = show_header(context, run, details, ids)
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
                    symbol.show_description(context.dataset, name, about)
            if row["split"] != ASKED:
                links.to_page(
                    links.NEIGHBOURS,
                    "Neighbours of this row",
                    dataset=run.dataset,
                    row=row["pair_id"],
                )
        _show_notes(context, run, row["pair_id"], details.notes)
    if context.dataset is not None:
        symbol.show_cards(context.dataset, marks.pages)


def marks_of(context: PageContext, details: RowDetails) -> Marks:
    """Return the marks in the texts of a row: search words, passages that decided a reading, and
    the dataset's genes."""
    dataset, row, events = context.dataset, details.numbers, details.events
    assert dataset is not None  # of the run that is on screen
    run = context.run.id if context.run else None
    texts = (event["content"] for event in events)
    pages = symbol.pages_of(dataset, run, (row["pert"], row["gene"]), texts)
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
            is_shown = details.numbers["error"] or show_made_from(context.dataset, run, details)
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
    show_dossier(details.dossier, details.events, marks, f"card-{run.id}" if is_beside else "card")
    show_calls(run, details.numbers["pair_id"], details.calls)


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
        # cleared once it is saved: a store that is busy or without space costs nobody their words
        if st.session_state.pop("note_saved", False):
            st.session_state["note_text"] = ""
        with st.form("note", border=False):
            text = st.text_area("Add a note", key="note_text", height=68)
            author = context.workspace.settings.author
            # a person who signed in writes only under their own name
            if context.workspace.person is None:
                author = st.text_input("Author", value=author, key="note_author")
            if st.form_submit_button("Add note") and text.strip():
                run_actions.add_note(context.workspace, run.id, pair_id, text, author)
                st.session_state["note_saved"] = True
                confirm(
                    f"Note on {pair_id} saved.",
                    lambda: links.to_rows(run, "Rows with notes", noted="true"),
                )


OUTCOMES = {"hit": "right", "miss": "wrong"}


def show_header(
    context: PageContext, run: Run, details: RowDetails, ids: Sequence[str]
) -> list[str]:
    """Show the header of one of the listed rows (ids); return the ids of the runs to compare with.

    The style sheet fixes the container while the row scrolls.
    """
    row = details.numbers
    address = {"dataset": row["dataset"], **({"run": context.run.id} if context.run else {})}
    with st.container(key="row-header", gap=None):
        with st.container(
            key="row-line", horizontal=True, vertical_alignment="center", gap="small"
        ):
            names = (("perturbation", row["pert"]), ("gene", row["gene"]))
            pair = (
                f"[{symbol_text(name)}]({links.page_address(page, **address, name=name)})"
                for page, name in names
            )
            st.markdown(f"### {' ⟶ '.join(pair)}", width="content")
            if not row["error"]:
                st.markdown(
                    describe_answer(run, row), width="content", help=explain_numbers(run, row)
                )
            st.markdown(describe_label(row), width="content")
            compare = run_browser.show_toolbar(context, run, ids, row["pair_id"], details.runs)
        if not row["error"] and (why := describe_reason(details)):
            with st.container(key="row-why"):
                st.markdown(why)
    if row["error"]:
        st.error(f"This row failed: {as_text(row['error'])}", icon=":material/error:")
    return compare


def describe_answer(run: Run, row: dict[str, Any]) -> str:
    """Return a run's answer for a row, as Markdown: P(DE) and the shares of up, down and none, or
    its rank scores."""
    if run.has_rank_scores:
        values = {
            "P(DE)": None if Flag.NO_DE in row["flags"] else row["p_de"],
            "P(up | DE)": row["p_up_given_de"],
        }
        return " · ".join(
            f"{as_text(score_name(run, name))}"
            f" **{number_text(math.nan if value is None else value, '.2f')}**"
            for name, value in values.items()
        )
    up, down = row["prediction_up"], row["prediction_down"]
    shares = {"up": up, "down": down, "none": 1 - up - down}
    signs = " ".join(
        f"{coloured_text(drawing.LABEL_SIGNS[name], drawing.LABEL_COLOURS[name])}{percent_text(p)}"
        for name, p in shares.items()
    )
    return f"{as_text('P(DE)')} **{percent_text(row['p_de'])}**   {signs}"


def explain_numbers(run: Run, row: dict[str, Any]) -> str:
    """Return the meaning of a row's numbers and flags, for its help mark."""
    rank = run_browser.rank_sentence(run, row)
    if run.has_rank_scores:
        parts = [f"{rank} {RANK_HELP}"]
    else:
        up = percent_text(row["p_up_given_de"])
        parts = [
            f"P(DE): {PROBABILITY_HELP['P(DE)']} {rank}",
            f"P(up | DE) = {up}: {PROBABILITY_HELP['P(up | DE)']}",
            "▲ up, ▼ down and ● none: the submitted shares.",
        ]
    parts += [f"⚠ {FLAG_NAMES.get(flag, flag)}: {FLAG_HELP.get(flag, '')}" for flag in row["flags"]]
    return "\n\n".join(as_text(part) for part in parts)


def describe_label(row: dict[str, Any]) -> str:
    """Return the label of a row as Markdown, preceded by whether the run is right or wrong if that
    is defined."""
    known = row["label"] or "unknown"
    sign = coloured_text(drawing.LABEL_SIGNS[known], drawing.LABEL_COLOURS[known])
    outcome = row["outcome"]
    said = f"{sign} {as_text(drawing.LABEL_WORDS[known])}"
    return f"**{drawing.OUTCOME_SIGNS[outcome]} {OUTCOMES[outcome]}**: {said}" if outcome else said


def describe_reason(details: RowDetails) -> str:
    """Return the reason for the row's prediction, as Markdown: a sentence with its author, the
    advocates, and the row's flags."""
    row = details.numbers
    reason = find_reason(row, details.events, details.passages)
    said = []
    if reason is not None:
        alone = f"{reason.source[:1].upper()}{reason.source[1:]}"
        said = [
            (
                f"“{as_text(reason.quote)}” — {as_text(reason.source)}"
                if reason.quote
                else as_text(alone)
            )
        ]
    if reason is not None and reason.sides:
        said.append(as_text(reason.sides))
    # in the words of the sides
    shown = [flag for flag in row["flags"] if not (len(said) > 1 and flag == Flag.ROLE_COLLAPSE)]
    return " · ".join(
        [*said, *(f":orange[⚠ {as_text(FLAG_NAMES.get(flag, flag))}]" for flag in shown)]
    )
