"""One row of a run in Debates: its numbers, its dossier, its trace, the calls behind it and people's notes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.actions import runs as run_actions
from core.store.runs import Run
from core.types import Call
from core.ui.debates import dossier, row_header, trace
from core.ui.debates.marked_text import Marks
from core.ui.debates.trace import Event
from core.ui.shared import links, loaders
from core.ui.shared.confirmation import confirm
from core.ui.shared.loaders import RowDetails
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import (
    FLAG_NAMES,
    as_text,
    score_name,
)

COMPARED = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de", "up": "prediction_up", "down": "prediction_down"}


def show(context: PageContext, run: Run, details: RowDetails, ids: Sequence[str]) -> None:
    """Show everything about one row of those that are listed (ids), and the same row in the runs that are compared."""
    row = details.numbers
    compare = row_header.show(context, run, details, ids)
    if not row["error"]:
        with st.expander("How these numbers came about"):
            _show_arithmetic(run, row, details.events)
    marks = marks_of(context, row)
    dossier.show(details.dossier, details.events, marks)
    if compare:
        _show_other_runs(context, run, row["pair_id"], compare, marks)
    else:
        trace.show(details.events, marks)
        _show_calls(run, row["pair_id"], details.calls)
    _show_notes(context, run, row["pair_id"], details.notes)


def marks_of(context: PageContext, row: dict[str, Any]) -> Marks:
    """What to mark in the texts of a row: the words of the search, and its symbols if NCBI knows the organism's genes."""
    dataset = context.dataset
    assert dataset is not None  # of the run that is on screen
    symbols = (row["pert"], row["gene"]) if links.is_at_ncbi(dataset) else ()
    return Marks(str(st.session_state.get("q") or ""), symbols, dataset.organism)


def _show_calls(run: Run, pair_id: str, calls: Sequence[Call]) -> None:
    """Show every request to a language model for the row with its raw answer; nothing if the run has none."""
    if not calls:
        return
    with st.expander(f"{len(calls)} calls of the model: requests and answers"):
        for i, call in enumerate(calls):
            usage = f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens, {call.latency_ms:,.0f} ms"
            cached = ", from the cache" if call.cached else ""
            attempts = f", {call.attempts} attempts" if call.attempts > 1 else ""
            st.caption(as_text(f"{call.stage} · {call.role} · {usage}{cached}{attempts}"))
            if call.error:
                st.caption(f":orange[{as_text(call.error)}]")
            request, answer = st.tabs(["request", "answer"], key=f"call-{run.id}-{pair_id}-{i}")
            request.code(_pretty(call.request), language="json", wrap_lines=True, height=240)
            answer.code(_pretty(call.reply), language="json", wrap_lines=True, height=240)


def _pretty(text: str) -> str:
    """JSON on several lines; text that is not JSON unchanged."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


def _show_arithmetic(run: Run, row: dict[str, Any], events: Sequence[Event]) -> None:
    """Show how the judges' verdicts led to the submitted numbers."""
    verdicts = {e["stage"]: e["meta"].get("p") for e in events if e["kind"] == "verdict"}
    up, down = row["prediction_up"], row["prediction_down"]
    rest = "" if run.has_rank_scores else f", so none {1 - up - down:.6f}"
    lines = [f"submitted: up {up:.6f}, down {down:.6f}{rest}"]
    if verdicts.get("de") is not None and verdicts.get("dir") is not None:
        p_de, p_up = verdicts["de"], verdicts["dir"]
        lines.insert(0, f"judges: P(DE) {p_de:.4g}, P(up | DE) {p_up:.4g}")
        lines.insert(
            1,
            f"up = {p_de:.4g} × {p_up:.4g} = {p_de * p_up:.6f}, down = {p_de:.4g} × {1 - p_up:.4g} = {p_de * (1 - p_up):.6f}",
        )
    elif row["p_source"] == "file" and row["p_up_given_de"] is not None:
        p_de, p_up = score_name(run), score_name(run, "P(up | DE)")
        lines.append(f"{p_de} = up + down = {row['p_de']:.6f}, {p_up} = up / (up + down) = {row['p_up_given_de']:.6f}")
    if "trace_differs" in row["flags"]:
        lines.append("the submitted numbers differ from the judges': the file was changed after the debate")
    lines += [_seeds_line(e) for e in events if "asked" in e["meta"]]
    tokens = "unknown" if row["tokens"] is None else f"{row['tokens']:,}"
    calls = "unknown" if row["tool_calls"] is None else f"{row['tool_calls']}"
    lines.append(f"tokens {tokens}, tool calls {calls}")
    st.text("\n".join(lines))


def _seeds_line(event: Event) -> str:
    """Over how many seeds an event's mean was taken, of how many that were asked."""
    of = {"de": "P(DE)", "dir": "P(up | DE)"}.get(event["stage"], "up and down")
    return f"{of}: mean of {event['meta']['read']} of {event['meta']['asked']} seeds"


def _show_other_runs(context: PageContext, run: Run, pair_id: str, chosen: Sequence[str], marks: Marks) -> None:
    """Show the same row in up to two more runs: the numbers in one table, then the trace of each."""
    names = {r.id: f"{r.name} (rank scores)" if r.has_rank_scores else r.name for r in context.runs}
    shown = [run.id, *chosen]
    rows = {key: loaders.row_details(key, pair_id) for key in shown}
    table = pd.DataFrame(
        {
            "run": [names[key] for key in shown],
            **{title: [rows[key].numbers[column] for key in shown] for title, column in COMPARED.items()},
            "flags": [", ".join(FLAG_NAMES.get(f, f) for f in rows[key].numbers["flags"]) for key in shown],
        }
    )
    two_places = st.column_config.NumberColumn(format="%.2f")
    st.dataframe(table, hide_index=True, column_config=dict.fromkeys(table.columns[1:5], two_places), height="content")
    for column, key in zip(st.columns(len(shown)), shown, strict=True):
        with column:
            st.markdown(f"#### {as_text(names[key])}")
            trace.show(rows[key].events, marks, narrow=True)


def _show_notes(context: PageContext, run: Run, pair_id: str, notes: pd.DataFrame) -> None:
    """Show people's notes on the row, and a form for another."""
    with st.container(key="notes"), st.expander(f"Notes ({len(notes)})", expanded=len(notes) > 0):
        for note in notes.itertuples():
            st.caption(as_text(f"{note.author}, {note.written_at:%Y-%m-%d %H:%M}"))
            st.text(note.text)
        if context.workspace.settings.read_only:
            return
        with st.form("note", clear_on_submit=True, border=False):
            text = st.text_area("Add a note", key="note_text", height=68)
            author = st.text_input("Author", value=context.workspace.settings.author, key="note_author")
            if st.form_submit_button("Add note") and text.strip():
                run_actions.add_note(context.workspace, run.id, pair_id, text, author)
                confirm(f"Note on {pair_id} saved.", lambda: links.to_rows(run, "Rows with notes", noted="true"))
                st.rerun()
