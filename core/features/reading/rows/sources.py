"""The calls of a language model behind a row: time, tokens, request and answer of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.base.errors import InputError, NotFound, StateError
from core.base.texts import count_text, parse_json, quantity_text
from core.base.types import Call
from core.evidence import render
from core.features import hooks
from core.features.reading.rows.marked_text import Marks, to_lines
from core.llm.completion import Answer, read_answer
from core.plots import drawing
from core.scoring.row_trace import NO_DOSSIER, Event, why_no_dossier
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import links, results
from core.ui.linked import choose_one
from core.ui.loaders.records import RowDetails, all_runs, row_details
from core.ui.widgets import as_text


def show_calls(run: Run, pair_id: str, calls: Sequence[Call]) -> None:
    """Show every request to a language model for the row with its raw answer, where calls were
    stored."""
    if not calls:
        return
    table = call_table(calls)
    with st.expander(
        f"{count_text(len(calls), 'call')} of the model · {table['seconds'].sum():,.1f} s"
    ):
        bar = st.column_config.ProgressColumn(
            format="%.1f",
            min_value=0.0,
            max_value=float(table["seconds"].max()) or 1.0,
            color="gray",
        )
        titles: dict[str, Any] = {
            "sent": "tokens sent",
            "answered": "tokens answered",
            "seconds": bar,
        }
        results.show_table(table, f"calls of {run.name}", titles, placeholder="not known")
        for i, call in enumerate(calls):
            st.caption(as_text(f"{i + 1}. {call.stage} · {call.role}"))
            if call.error:
                st.caption(f":orange[{as_text(call.error)}]")
            thoughts = thinking_of(call)
            names = ["request", "answer", *(["thinking"] if thoughts else [])]
            request, answer, *thinking = st.tabs(names, key=f"call-{run.id}-{pair_id}-{i}")
            request.code(_pretty(call.request), language="json", wrap_lines=True, height=240)
            answer.code(_pretty(call.reply), language="json", wrap_lines=True, height=240)
            for tab in thinking:
                tab.code(thoughts, language=None, wrap_lines=True, height=240)


def thinking_of(call: Call) -> str:
    """Return the model's thinking before its answer, in any form that servers send; "" if none."""
    answer = read_answer(call.reply) if call.reply else None
    return answer.reasoning if isinstance(answer, Answer) else ""


def call_table(calls: Sequence[Call]) -> pd.DataFrame:
    """Return one line per call, in order: step, seconds, sent and answered (tokens, None if the
    server did not say), remark."""
    # Every request has some tokens, so 0 means that the server does not count them.
    known = [call.prompt_tokens > 0 or call.completion_tokens > 0 for call in calls]
    table = pd.DataFrame(
        {
            "step": [f"{i}. {call.stage} · {call.role}" for i, call in enumerate(calls, 1)],
            "seconds": [call.latency_ms / 1000 for call in calls],
            "sent": [
                call.prompt_tokens if knows else None
                for call, knows in zip(calls, known, strict=True)
            ],
            "answered": [
                call.completion_tokens if knows else None
                for call, knows in zip(calls, known, strict=True)
            ],
            "remark": [_remark(call) for call in calls],
        }
    )
    return table.astype({"sent": "Int64", "answered": "Int64"})


def _remark(call: Call) -> str:
    attempts = f"{call.attempts} attempts" if call.attempts > 1 else ""
    parts = ("from the cache" if call.cached else "", attempts, "failed" if call.error else "")
    return ", ".join(part for part in parts if part)


def _pretty(text: str) -> str:
    """Return JSON on several lines; text that is not JSON unchanged."""
    try:
        return json.dumps(parse_json(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):  # RecursionError: raised when it is written again
        return text


def show_dossier(
    items: Sequence[dict[str, Any]], events: Sequence[Event], marks: Marks, parameter: str
) -> None:
    """Show the evidence shown to the agents, folded unless it contains the searched words.

    The first answer with these words is chosen. parameter: the query parameter of the chosen
    answer.
    """
    if not items:
        if why_no_dossier(events) == NO_DOSSIER:  # tools' answers among the steps stand above
            st.caption(NO_DOSSIER)
        return
    hits = [marks.count_hits(json.dumps(item["body"], ensure_ascii=False)) for item in items]
    # The names of answers in a link: their tools', numbered from a tool's second answer on; the
    # next row shows the same card
    tools = [str(item["tool"]) for item in items]
    earlier = [tools[:i].count(tool) for i, tool in enumerate(tools)]
    cards = [f"{tool} {n + 1}" if n else tool for tool, n in zip(tools, earlier, strict=True)]
    found = [f" · {count_text(n, 'hit')}" if n else "" for n in hits]
    titles = {
        card: as_text(f"{render.card_title(item)}{words}")
        for card, item, words in zip(cards, items, found, strict=True)
    }
    first = cards[next((i for i, n in enumerate(hits) if n), 0)]
    with st.expander(f"Dossier: {count_text(len(items), 'answer')}", expanded=any(hits)):
        chosen = choose_one(
            st.pills, parameter, "Answer", titles, first, wrap=True, label_visibility="collapsed"
        )
        _show_item(items[cards.index(chosen or first)], marks)


def _show_item(item: Mapping[str, Any], marks: Marks) -> None:
    if item["status"] != "ok":
        st.caption(f":orange[⚠ {item['status']}]: the agents got no answer from this tool")
    lines, lists = render.split_body(item["body"])
    for entries in lists:
        _show_table(entries, marks)
    if lines:
        st.markdown(to_lines("\n".join(lines), marks))
    st.caption(as_text(render.source_line(item)))


def _show_table(entries: Sequence[Mapping[str, Any]], marks: Marks) -> None:
    """Show entries of short values as a table, and mark the cells with the searched words."""
    table = pd.DataFrame(entries)
    floats = table.select_dtypes("float").columns
    table[floats] = table[floats].map(quantity_text)
    columns = {
        str(name): st.column_config.Column(
            str(name).replace("_", " "), alignment="right" if name in floats else None
        )
        for name in table
    }
    hit = f"background-color: {drawing.WARNING}55"
    has_hit = any(marks.count_hits(str(value)) for entry in entries for value in entry.values())
    shown = (
        table.style.map(lambda value: hit if marks.count_hits(str(value)) else "")
        if has_hit
        else table
    )
    results.show_table(shown, None, columns)


def show_made_from(dataset: Dataset, run: Run, details: RowDetails) -> bool:
    """Show the present sources of a predicted row and return True.

    If they were deleted or cannot be used, show the reason and return False.
    """
    try:
        if run.method == "knn":
            for show_sources in hooks("row_sources"):
                show_sources(dataset, run, details.numbers)
        else:
            _show_parents(run, details)
    except (InputError, NotFound, StateError) as error:
        st.caption(f":orange[⚠ The sources of this row cannot be shown:] {as_text(error)}")
        return False
    return True


def _show_parents(run: Run, details: RowDetails) -> None:
    """Show the row in the runs that a run was made from. Raise NotFound if one of them was
    deleted."""
    known = {each.id: each for each in all_runs()}
    missing = [key for key in run.parents if key not in known]
    if missing:
        raise NotFound(f"run {missing[0]!r}: not in this workspace")
    pair_id = details.numbers["pair_id"]
    covering = {
        key: row_details(key, pair_id).numbers for key in run.parents if key in details.runs
    }
    numbers = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
    table = pd.DataFrame(
        {
            "component": [known[key].name for key in run.parents],
            "row": [
                links.row_address(known[key], pair_id) if key in covering else None
                for key in run.parents
            ],
            **{
                title: [covering.get(key, {}).get(name) for key in run.parents]
                for title, name in numbers.items()
            },
        }
    ).astype(dict.fromkeys(numbers, float))
    st.markdown("**Made from**")
    results.show_table(
        table,
        f"components of {run.name}",
        {
            **{title: st.column_config.NumberColumn(format="%.3f") for title in numbers},
            "row": results.OPEN,
        },
    )
    if table[[*numbers]].isna().any(axis=None):
        st.caption("A component without a number does not cover this row.")
