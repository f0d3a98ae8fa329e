"""The texts about a row: a debate side by side, an agent's steps as a tree, anything else in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.audit.brief_checks import SHORT
from core.plots import theme
from core.scoring import row_words
from core.store.runs import Run
from core.ui.rows import claims, trace_tree
from core.ui.rows.marked_text import Marks, to_markdown
from core.ui.shared.loaders import RowDetails
from core.ui.shared.widgets import as_text, heading_text, percent_text

Event = dict[str, Any]
NARROW = 0.26  # share of the width for a side that only answers


def show(run: Run, details: RowDetails, marks: Marks, *, narrow: bool = False) -> None:
    """Show a row's trace stage by stage: a debate side by side, an agent's steps as a tree, anything else in order."""
    events = details.events
    if not events:
        st.caption("This file has no trace of this row.")
    for stage in dict.fromkeys(e["stage"] for e in events):
        of_stage = [e for e in events if e["stage"] == stage]
        if trace_tree.has_steps(of_stage):
            trace_tree.show(of_stage, marks, f"{run.id}-{stage}", details.numbers["tokens"])
            continue
        st.markdown(f"**{as_text(row_words.stage_title(stage))}**")
        if stage in row_words.SIDES and any(e["kind"] == "brief" for e in of_stage):
            _show_debate(of_stage, row_words.SIDES[stage], marks, narrow)
        else:
            for event in of_stage:
                _show_event(event, marks)


def _show_debate(events: Sequence[Event], sides: tuple[str, str], marks: Marks, narrow: bool) -> None:
    """Show briefs and rebuttals of both sides, in one column if narrow, then the verdict."""
    for kind in ("brief", "rebuttal"):
        speeches = {side: [e for e in events if e["kind"] == kind and e["role"] == side] for side in sides}
        if not any(speeches.values()):
            continue
        columns = st.columns(1 if narrow else column_shares([_length(each) for each in speeches.values()]))
        for place, side in enumerate(sides):
            for event in speeches[side]:
                with columns[place % len(columns)].container(border=True):
                    _show_speech(event, "" if kind == "brief" else " rebuts", marks)
    for event in events:
        if event["kind"] not in ("brief", "rebuttal"):
            with st.container(border=True):
                _show_speech(event, "", marks)


def column_shares(lengths: Sequence[int]) -> list[float]:
    """Return the widths of both sides' columns: a side of a line or less beside a longer one gets a narrow column."""
    is_short = [length < SHORT for length in lengths]
    if is_short[0] == is_short[1]:
        return [0.5, 0.5]
    return [NARROW, 1 - NARROW] if is_short[0] else [1 - NARROW, NARROW]


def _length(events: Sequence[Event]) -> int:
    """Return the characters of a side's longest text."""
    return max((len(event["content"]) for event in events), default=0)


def _show_speech(event: Event, suffix: str, marks: Marks) -> None:
    warning = row_words.warning_of(event["findings"], event["meta"])
    p = event["meta"].get("p")
    role = event["role"] if p is None else f"{event['role']}: {percent_text(p)}"
    heading = heading_text(role + suffix, theme.ROLE_COLOURS.get(event["role"], theme.NONE), warning)
    st.markdown(f"{heading}\n\n{to_markdown(event['content'], marks)}")
    claims.show(marks.claims.get(event["content"], ()))


def _show_event(event: Event, marks: Marks) -> None:
    """Show one event outside debates and agents' steps, with the numbers that it predicts."""
    title = row_words.step_title(event["role"], event["kind"], event["meta"])
    heading = heading_text(title, theme.ROLE_COLOURS.get(event["role"], theme.NONE))
    with st.container(border=True):
        st.markdown(f"{heading}\n\n{to_markdown(event['content'], marks)}")
