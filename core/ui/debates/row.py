"""One row of a run: its numbers, its dossier, what was said, and people's notes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.actions import runs as run_actions
from core.plots import theme
from core.store.runs import Run
from core.types import Call
from core.ui.debates import trace_tree
from core.ui.shared import links, loaders, run_browser
from core.ui.shared.loaders import RowDetails
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import (
    FLAG_HELP,
    FLAG_NAMES,
    PROBABILITY_HELP,
    as_text,
    pair_text,
    percent_text,
    show_bar,
    show_heading,
    symbol_text,
)

Event = dict[str, Any]
TITLES = {
    "de": "Does it change at all?",
    "dir": "If it changes, up or down?",
    "react": "What the agent did",
    "coordinator": "What the coordinator did",
    "trace": "Trace",
    "knn": "Neighbours",
    "fusion": "The fusion's arithmetic",
    "decompose": "Recovered from a fusion",
    "rules": "The rule set's table",
}
# The gravest first: one remark a brief is enough.
ODD = {"against": "an option against its own side", "option": "an option, not an argument", "short": "one line"}
COMPARED = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de", "up": "prediction_up", "down": "prediction_down"}
SIDES = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}


def show(context: PageContext, run: Run, details: RowDetails, compare: Sequence[str]) -> None:
    """Everything about one row; beside the same row in the runs `compare` (ids)."""
    row = details.numbers
    numbers(run, row, run_browser.rank_sentence(run, row))
    if not row["error"]:
        with st.expander("How these numbers came about"):
            arithmetic(row, details.events)
    dossier(details.dossier, details.events, row["pair_id"])
    if compare:
        others(context, run, row["pair_id"], compare)
    else:
        trace(details.events)
        calls(run, row["pair_id"], details.calls)
    notes(context, run, row["pair_id"], details.notes)


def numbers(run: Run, row: dict[str, Any], rank: str) -> None:
    """The prediction as bars, and how it came about in words."""
    title, label = st.columns([0.62, 0.38], vertical_alignment="center")
    with title.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"### {pair_text(row['pert'], row['gene'])}", width="content")
        with st.popover("", icon=":material/menu_book:", type="tertiary", help="What is known of both genes"):
            _genes(row)
        links.to_neighbours(run.dataset, row["pair_id"], "neighbours")
    known = row["label"]
    colour = theme.LABEL_COLOURS[known or "unknown"]
    sign = theme.LABEL_SIGNS[known or "unknown"]
    label.html(f'<div style="text-align:right">label: <b style="color:{colour}">{sign}</b> {known or "not known here"}</div>')
    if row["error"]:
        st.error(f"This row failed: {as_text(row['error'])}", icon=":material/error:")
        return
    first, second, third = st.columns([0.2, 0.22, 0.58], vertical_alignment="center")
    first.metric("P(DE)", percent_text(row["p_de"]), help=PROBABILITY_HELP["P(DE)"] + f" {rank}")
    second.metric("P(up | DE)", percent_text(row["p_up_given_de"]), help=PROBABILITY_HELP["P(up | DE)"])
    up, down = row["prediction_up"], row["prediction_down"]
    with third:
        show_bar(
            [
                (f"▲ up {percent_text(up)}", up, theme.UP),
                (f"▼ down {percent_text(down)}", down, theme.DOWN),
                (f"● none {percent_text(1 - up - down)}", 1 - up - down, theme.NONE),
            ]
        )
    for flag in row["flags"]:
        st.caption(f":orange[⚠ {FLAG_NAMES.get(flag, flag)}] – {FLAG_HELP.get(flag, '')}")


def _genes(row: dict[str, Any]) -> None:
    for role, name, description in (("pert", row["pert"], row["pert_description"]), ("gene", row["gene"], row["description"])):
        links.to_symbol(role, name, f"All rows of {symbol_text(name)}")
        st.text(description or "No description of this gene is in the workspace.")


def calls(run: Run, pair_id: str, made: Sequence[Call]) -> None:
    """Every request behind the row and its raw answer; nothing for runs that kept none."""
    if not made:
        return
    with st.expander(f"{len(made)} calls of the model: what was asked, what it answered"):
        for i, call in enumerate(made):
            spent = f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens, {call.latency_ms:,.0f} ms"
            cached = ", from the cache" if call.cached else ""
            attempts = f", {call.attempts} attempts" if call.attempts > 1 else ""
            st.caption(as_text(f"{call.stage} · {call.role} · {spent}{cached}{attempts}"))
            if call.error:
                st.caption(f":orange[{as_text(call.error)}]")
            asked, answered = st.tabs(["asked", "answered"], key=f"call-{run.id}-{pair_id}-{i}")
            asked.code(_pretty(call.request), language="json", wrap_lines=True, height=240)
            answered.code(_pretty(call.reply), language="json", wrap_lines=True, height=240)


def _pretty(text: str) -> str:
    """JSON on several lines; what is none as it is."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


def arithmetic(row: dict[str, Any], events: Sequence[Event]) -> None:
    """From the verdicts to the submitted numbers."""
    said = {e["stage"]: e["meta"].get("p") for e in events if e["kind"] == "verdict"}
    up, down = row["prediction_up"], row["prediction_down"]
    lines = [f"submitted: up {up:.6f}, down {down:.6f}, so none {1 - up - down:.6f}"]
    if said.get("de") is not None and said.get("dir") is not None:
        p_de, p_up = said["de"], said["dir"]
        lines.insert(0, f"judges: P(DE) {p_de:.4g}, P(up | DE) {p_up:.4g}")
        lines.insert(
            1,
            f"up = {p_de:.4g} × {p_up:.4g} = {p_de * p_up:.6f}, down = {p_de:.4g} × {1 - p_up:.4g} = {p_de * (1 - p_up):.6f}",
        )
    elif row["p_source"] == "file" and row["p_up_given_de"] is not None:
        lines.append(f"P(DE) = up + down = {row['p_de']:.6f}, P(up | DE) = up / (up + down) = {row['p_up_given_de']:.6f}")
    if "trace_differs" in row["flags"]:
        lines.append("the submitted numbers are not the judges': the file was changed after the debate")
    tokens = "unknown" if row["tokens"] is None else f"{row['tokens']:,}"
    calls = "unknown" if row["tool_calls"] is None else f"{row['tool_calls']}"
    lines.append(f"tokens {tokens}, tool calls {calls}")
    st.text("\n".join(lines))


def dossier(items: Sequence[dict[str, Any]], events: Sequence[Event], key: str) -> None:
    """What the agents had before them: one card a tool, with source and date."""
    if not items and any(e["kind"] == "observation" for e in events):
        st.caption("What the tools answered stands among the steps below.")
        return
    if not items:
        st.caption("This file kept no dossier: what the agents had before them is not known.")
        return
    titles = [as_text(f"{i['tool'].replace('_', ' ')} · {i['key'].replace('|', ' ⟶ ')}") for i in items]
    chosen = st.pills(
        f"Dossier: {len(items)} answer{'s' * (len(items) != 1)}",
        range(len(items)),
        default=0,
        format_func=lambda i: titles[i],
        key=f"dossier-{key}",
        wrap=True,
    )
    item = items[chosen or 0]
    with st.container(border=True):
        if item["status"] != "ok":
            st.caption(f":orange[⚠ {item['status']}]: this tool gave the agents nothing")
        _body(item["body"])
        date = f", {item['retrieved_at']:%Y-%m-%d}" if item["retrieved_at"] else ""
        labels = f", labels seen: {item['view']}" if item["view"] else ""
        st.caption(as_text(f"Source: {item['source']}{date}{labels}"))


def _body(body: dict[str, Any]) -> None:
    """Typed evidence as lines and tables; nothing of it is interpreted."""
    lines = []
    for name, value in body.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            st.dataframe(pd.DataFrame(value), hide_index=True, height="content")
        else:
            shown = (
                ", ".join(map(str, value)) if isinstance(value, list) else f"{value:.3g}" if isinstance(value, float) else value
            )
            lines.append(f"{name.replace('_', ' ')}: {'–' if shown in (None, '') else shown}")
    if lines:
        st.text("\n".join(lines))


def trace(events: Sequence[Event], *, narrow: bool = False) -> None:
    """What was said, in the shape it has: a debate side by side, else one thing after the other."""
    if not events:
        st.caption("This file kept no trace of this row.")
    for stage in dict.fromkeys(e["stage"] for e in events):
        said = [e for e in events if e["stage"] == stage]
        st.markdown(f"**{as_text(TITLES.get(stage, stage.replace('_', ' ')))}**")
        if stage in SIDES and any(e["kind"] == "brief" for e in said):
            _debate(said, SIDES[stage], narrow)
        elif trace_tree.has_steps(said):
            trace_tree.show(said)
        else:
            for event in said:
                _step(event)


def _debate(said: Sequence[Event], sides: tuple[str, str], narrow: bool) -> None:
    for kind in ("brief", "rebuttal"):
        spoken = [e for e in said if e["kind"] == kind]
        columns = st.columns(1 if narrow else 2)
        for place, side in enumerate(sides):
            for event in (e for e in spoken if e["role"] == side):
                with columns[place % len(columns)].container(border=True):
                    _speech(event, "" if kind == "brief" else " rebuts")
    for event in said:
        if event["kind"] not in ("brief", "rebuttal"):
            with st.container(border=True):
                _speech(event, "")


def _speech(event: Event, suffix: str) -> None:
    odd = next((words for finding, words in ODD.items() if finding in event["findings"]), "")
    if event["meta"].get("fallback"):
        odd = "could not be read; a constant stands in"
    p = event["meta"].get("p")
    role = event["role"] if p is None else f"{event['role']}: {percent_text(p)}"
    show_heading(role + suffix, theme.ROLE_COLOURS.get(event["role"], theme.NONE), odd)
    st.text(event["content"])


def _step(event: Event) -> None:
    """A plain answer, or anything else that was said."""
    asked = {k: v for k, v in event["meta"].items() if k.startswith("prediction_") and isinstance(v, int | float)}
    numbers_said = ", ".join(f"{k.removeprefix('prediction_')} {v:.3g}" for k, v in asked.items())
    with st.container(border=True):
        show_heading(
            f"{event['role']}: {event['kind'].replace('_', ' ')}{f' ({numbers_said})' if numbers_said else ''}",
            theme.ROLE_COLOURS.get(event["role"], theme.NONE),
        )
        st.text(event["content"])


def others(context: PageContext, run: Run, pair_id: str, chosen: Sequence[str]) -> None:
    """The same row in up to two more runs: numbers in one table, then each one's trace."""
    names = {r.id: r.name for r in context.runs}
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
            trace(rows[key].events, narrow=True)


def notes(context: PageContext, run: Run, pair_id: str, written: pd.DataFrame) -> None:
    """People's remarks on the row, and a form for another."""
    with st.expander(f"Notes ({len(written)})", expanded=len(written) > 0):
        for remark in written.itertuples():
            st.caption(as_text(f"{remark.author}, {remark.written_at:%Y-%m-%d %H:%M}"))
            st.text(remark.text)
        if context.workspace.settings.read_only:
            return
        with st.form("note", clear_on_submit=True, border=False):
            text = st.text_area("Add a note", key="note_text", height=68)
            author = st.text_input("Author", value=context.workspace.settings.author, key="note_author")
            if st.form_submit_button("Add note") and text.strip():
                run_actions.add_note(context.workspace, run.id, pair_id, text, author)
                st.rerun()
