"""The calls of a language model behind a row: time, tokens, request and answer of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.base.texts import count_text, parse_json
from core.base.types import Call
from core.llm.completion import Answer, read_answer
from core.store.runs import Run
from core.ui import results
from core.ui.widgets import as_text


def show(run: Run, pair_id: str, calls: Sequence[Call]) -> None:
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
