"""What an agent did, step by step, and inside a step what the agents did whom it asked: a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.plots import theme
from core.ui.shared.widgets import as_text, percent_text, show_heading

Event = dict[str, Any]
KINDS = {"thought", "tool_call", "observation"}  # what a trace of steps is made of
REMARKS = {"cut short", "shortened", "rejected"}


def has_steps(events: Sequence[Event]) -> bool:
    """Whether events are an agent's."""
    return any(event["kind"] in KINDS for event in events)


def show(events: Sequence[Event], depth: int = 0) -> None:
    """One agent's steps in order; who was asked stands inside the step that asked."""
    number = 0
    for step in cut(events, depth):
        asked = any(isinstance(piece, dict) and piece["kind"] in ("thought", "tool_call") for piece in step)
        number += asked
        with st.container(border=True):
            _step(step, f"Step {number}" if asked else "", depth)


def cut(events: Sequence[Event], depth: int = 0) -> list[list[Event | list[Event]]]:
    """Events of one agent as steps; what happened deeper is a list within the step during which it happened."""
    steps: list[list[Event | list[Event]]] = []
    for event in events:
        if event["meta"].get("depth", 0) > depth and steps:
            last = steps[-1][-1]
            if isinstance(last, list):
                last.append(event)
            else:
                steps[-1].append([event])
        elif steps and not _begins(event, steps[-1]):
            steps[-1].append(event)
        else:
            steps.append([event])
    return steps


def _begins(event: Event, step: Sequence[Event | list[Event]]) -> bool:
    """Whether an event belongs to another step than those before it: a thought, its call and what came back are one."""
    kinds = [piece["kind"] for piece in step if isinstance(piece, dict)]
    if event["kind"] == "observation":
        return kinds[-1:] != ["tool_call"]
    if event["kind"] == "tool_call":
        return kinds[-1:] != ["thought"]
    return True


def _step(step: Sequence[Event | list[Event]], title: str, depth: int) -> None:
    first = next((piece for piece in step if isinstance(piece, dict)), None)
    if first is not None and title:
        show_heading(f"{title} · {_who(first)}", theme.NONE if depth else theme.CHOSEN)
    for piece in step:
        if isinstance(piece, list):
            with st.expander(_label(piece)):
                show(piece, depth + 1)
        else:
            _event(piece, told=bool(title))


def _who(event: Event) -> str:
    """The agent at work."""
    return str(event["meta"].get("agent") or event["role"]).replace("_", " ")


def _label(events: Sequence[Event]) -> str:
    """Who was asked, and how much it took."""
    calls = sum(event["kind"] == "tool_call" for event in events)
    tokens = sum(event["tokens"] or 0 for event in events)
    spent = f", {tokens:,} tokens" if tokens else ""
    return f"**{as_text(_who(events[0]))}** at work: {calls} tool call{'s' * (calls != 1)}{spent}"


def _event(event: Event, told: bool) -> None:
    """One event; told: whether a heading above says who is at work."""
    kind, content = event["kind"], event["content"]
    if kind in REMARKS:
        st.caption(f":orange[⚠ {as_text(kind)}]: {as_text(content)}")
    elif kind == "tool_call":
        st.code(f"{event['role']}({content})", language=None, wrap_lines=True)
    elif kind == "observation":
        failed = event["meta"].get("error")
        who = as_text(event["role"].replace("_", " "))
        st.caption(f":orange[⚠ {who} did not answer: {as_text(failed)}]" if failed else f"{who} answered")
        st.text(content)
    elif kind == "thought" and told:
        st.text(content)
    else:
        show_heading(f"{_who(event)}: {kind}{_numbers(event)}", theme.ROLE_COLOURS.get(event["role"], theme.NONE))
        st.text(content)


def _numbers(event: Event) -> str:
    """The probabilities that an answer came to."""
    p_de, p_up = event["meta"].get("p_de"), event["meta"].get("p_up_given_de")
    said = [f"{name} {percent_text(p)}" for name, p in (("P(DE)", p_de), ("P(up | DE)", p_up)) if p is not None]
    fallback = " – base rates stand in for what could not be read" if event["meta"].get("fallback") else ""
    return f" ({', '.join(said)}){fallback}" if said else fallback
