"""What was said about a row: a debate side by side, an agent's steps as a tree, anything else in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.plots import theme
from core.ui.debates import trace_tree
from core.ui.debates.marked_text import Marks, to_markdown
from core.ui.shared.widgets import as_text, heading_text, percent_text

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
    "mean": "The mean over the seeds",
}
# The gravest first: a brief shows one warning at most.
BRIEF_WARNINGS = {
    "answers_against": "an answer against its own side",
    "answers": "an answer, not an argument",
    "other_side": "concludes for the other side",
    "short": "one line",
}
SIDES = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}


def show(events: Sequence[Event], marks: Marks, *, narrow: bool = False) -> None:
    """Show a trace stage by stage: a debate side by side, an agent's steps as a tree, anything else in order."""
    if not events:
        st.caption("This file kept no trace of this row.")
    for stage in dict.fromkeys(e["stage"] for e in events):
        of_stage = [e for e in events if e["stage"] == stage]
        st.markdown(f"**{as_text(TITLES.get(stage, stage.replace('_', ' ')))}**")
        if stage in SIDES and any(e["kind"] == "brief" for e in of_stage):
            _show_debate(of_stage, SIDES[stage], marks, narrow)
        elif trace_tree.has_steps(of_stage):
            trace_tree.show(of_stage, marks)
        else:
            for event in of_stage:
                _show_event(event, marks)


def _show_debate(events: Sequence[Event], sides: tuple[str, str], marks: Marks, narrow: bool) -> None:
    """Show briefs and rebuttals of both sides, in one column if narrow, then the verdict."""
    for kind in ("brief", "rebuttal"):
        speeches = [e for e in events if e["kind"] == kind]
        columns = st.columns(1 if narrow else 2) if speeches else []
        for place, side in enumerate(sides):
            for event in (e for e in speeches if e["role"] == side):
                with columns[place % len(columns)].container(border=True):
                    _show_speech(event, "" if kind == "brief" else " rebuts", marks)
    for event in events:
        if event["kind"] not in ("brief", "rebuttal"):
            with st.container(border=True):
                _show_speech(event, "", marks)


def _show_speech(event: Event, suffix: str, marks: Marks) -> None:
    warning = next((text for finding, text in BRIEF_WARNINGS.items() if finding in event["findings"]), "")
    if event["meta"].get("fallback"):
        warning = "could not be read; a constant replaces it"
    p = event["meta"].get("p")
    role = event["role"] if p is None else f"{event['role']}: {percent_text(p)}"
    heading = heading_text(role + suffix, theme.ROLE_COLOURS.get(event["role"], theme.NONE), warning)
    st.markdown(f"{heading}\n\n{to_markdown(event['content'], marks)}")


def _show_event(event: Event, marks: Marks) -> None:
    """Show one event that is no part of a debate or of an agent's steps, with the numbers that it predicts."""
    predicted = {k: v for k, v in event["meta"].items() if k.startswith("prediction_") and isinstance(v, int | float)}
    numbers = ", ".join(f"{k.removeprefix('prediction_')} {v:.3f}" for k, v in predicted.items())
    heading = heading_text(
        f"{event['role']}: {event['kind'].replace('_', ' ')}{f' ({numbers})' if numbers else ''}",
        theme.ROLE_COLOURS.get(event["role"], theme.NONE),
    )
    with st.container(border=True):
        st.markdown(f"{heading}\n\n{to_markdown(event['content'], marks)}")
