"""An agent's trace as a tree: its steps in order, and inside a step the steps of the agents that it called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.plots import theme
from core.ui.debates.marked_text import Marks, to_lines, to_markdown
from core.ui.shared.widgets import as_text, heading_text, percent_text

Event = dict[str, Any]
STEP_KINDS = {"thought", "tool_call", "observation"}
WARNING_KINDS = {"cut short", "shortened", "rejected"}


def has_steps(events: Sequence[Event]) -> bool:
    """Whether any event is part of an agent's step."""
    return any(event["kind"] in STEP_KINDS for event in events)


def show(events: Sequence[Event], marks: Marks, depth: int = 0) -> None:
    """Show one agent's steps in order, each with the agents that it called."""
    number = 0
    for step in split_into_steps(events, depth):
        is_numbered = any(isinstance(piece, dict) and piece["kind"] in ("thought", "tool_call") for piece in step)
        number += is_numbered
        with st.container(border=True):
            _show_step(step, f"Step {number}" if is_numbered else "", marks, depth)


def split_into_steps(events: Sequence[Event], depth: int = 0) -> list[list[Event | list[Event]]]:
    """One agent's events as a list of steps; the events of an agent that it called are a list within the step that called it."""
    steps: list[list[Event | list[Event]]] = []
    for event in events:
        if event["meta"].get("depth", 0) > depth and steps:
            last = steps[-1][-1]
            if isinstance(last, list):
                last.append(event)
            else:
                steps[-1].append([event])
        elif steps and not _starts_step(event, steps[-1]):
            steps[-1].append(event)
        else:
            steps.append([event])
    return steps


def _starts_step(event: Event, step: Sequence[Event | list[Event]]) -> bool:
    """Whether an event starts a new step: a thought, its tool call and the observation after it are one step."""
    kinds = [piece["kind"] for piece in step if isinstance(piece, dict)]
    if event["kind"] == "observation":
        return kinds[-1:] != ["tool_call"]
    if event["kind"] == "tool_call":
        return kinds[-1:] != ["thought"]
    return True


def _show_step(step: Sequence[Event | list[Event]], title: str, marks: Marks, depth: int) -> None:
    first = next((piece for piece in step if isinstance(piece, dict)), None)
    if first is not None and title:
        st.markdown(heading_text(f"{title} · {_agent_name(first)}", theme.NONE if depth else theme.CHOSEN))
    for piece in step:
        if isinstance(piece, list):
            with st.expander(_call_title(piece)):
                show(piece, marks, depth + 1)
        else:
            _show_event(piece, marks, has_heading=bool(title))


def _agent_name(event: Event) -> str:
    """The name of the agent that an event belongs to."""
    return str(event["meta"].get("agent") or event["role"]).replace("_", " ")


def _call_title(events: Sequence[Event]) -> str:
    """Which agent was called, and how many tool calls and tokens it used."""
    calls = sum(event["kind"] == "tool_call" for event in events)
    tokens = sum(event["tokens"] or 0 for event in events)
    usage = f", {tokens:,} tokens" if tokens else ""
    return f"**{as_text(_agent_name(events[0]))}** was called: {calls} tool call{'s' * (calls != 1)}{usage}"


def _show_event(event: Event, marks: Marks, *, has_heading: bool) -> None:
    """Show one event; has_heading: whether a heading above it names the agent."""
    kind, content = event["kind"], event["content"]
    if kind in WARNING_KINDS:
        st.caption(f":orange[⚠ {as_text(kind)}]: {as_text(content)}")
    elif kind == "tool_call":
        st.code(f"{event['role']}({content})", language=None, wrap_lines=True)
    elif kind == "observation":
        error = event["meta"].get("error")
        tool = as_text(event["role"].replace("_", " "))
        st.caption(f":orange[⚠ {tool} did not answer: {as_text(error)}]" if error else f"{tool} answered")
        st.markdown(to_lines(content, marks))
    elif kind == "thought" and has_heading:
        st.markdown(to_markdown(content, marks))
    else:
        colour = theme.ROLE_COLOURS.get(event["role"], theme.NONE)
        heading = heading_text(f"{_agent_name(event)}: {kind}{_numbers(event)}", colour)
        st.markdown(f"{heading}\n\n{to_markdown(content, marks)}")


def _numbers(event: Event) -> str:
    """The probabilities in an event, and whether base rates replace them; empty if it has none."""
    p_de, p_up = event["meta"].get("p_de"), event["meta"].get("p_up_given_de")
    numbers = [f"{name} {percent_text(p)}" for name, p in (("P(DE)", p_de), ("P(up | DE)", p_up)) if p is not None]
    fallback = " – base rates replace what could not be read" if event["meta"].get("fallback") else ""
    return f" ({', '.join(numbers)}){fallback}" if numbers else fallback
