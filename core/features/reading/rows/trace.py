"""The texts about a row: a debate side by side, an agent's steps as a tree, anything else in
order."""

from __future__ import annotations

import streamlit as st

from core.features.reading.rows import trace_tree
from core.features.reading.rows.marked_text import Marks, to_markdown
from core.methods.text_rules.text import SHORT
from core.plots import theme
from core.scoring.row_trace import NO_TRACE, Stage, Step, stages_of
from core.store.runs import Run
from core.ui.loaders.rows import RowDetails
from core.ui.widgets import as_text, coloured_text, percent_text

NARROW = 0.26  # share of the width for a side that only answers


def show(run: Run, details: RowDetails, marks: Marks, *, narrow: bool = False) -> None:
    """Show a row's trace stage by stage: a debate side by side, an agent's steps as a tree,
    anything else in order."""
    if not details.events:
        st.caption(NO_TRACE)
    for stage in stages_of(details.events):
        of_stage = [event for event in details.events if event["stage"] == stage.name]
        if trace_tree.has_steps(of_stage):
            trace_tree.show(of_stage, marks, f"{run.id}-{stage.name}", details.numbers["tokens"])
            continue
        st.markdown(f"**{as_text(stage.title)}**")
        if stage.rounds:
            _show_debate(stage, marks, narrow)
        else:
            for step in stage.steps:
                with st.container(border=True):
                    _show_text(step.title, step, marks)


def _show_debate(stage: Stage, marks: Marks, narrow: bool) -> None:
    """Show briefs and rebuttals of both sides, in one column if narrow, then the verdict."""
    for sides in stage.rounds:
        is_short = [
            all(len(step.event["content"]) < SHORT for step in speeches) for speeches in sides
        ]
        # A side of a line or less beside a longer one gets a narrow column.
        shares = (
            [0.5, 0.5]
            if is_short[0] == is_short[1]
            else [NARROW if short else 1 - NARROW for short in is_short]
        )
        columns = st.columns(1 if narrow else shares)
        for place, speeches in enumerate(sides):
            for step in speeches:
                with columns[place % len(columns)].container(border=True):
                    _show_speech(step, marks)
    for step in stage.steps:
        with st.container(border=True):
            _show_speech(step, marks)


def _show_speech(step: Step, marks: Marks) -> None:
    stated = "" if step.p is None else f": {percent_text(step.p)}"
    _show_text(f"{step.title}{stated}", step, marks, step.warning)


def _show_text(title: str, step: Step, marks: Marks, warning: str = "") -> None:
    colour = theme.ROLE_COLOURS.get(step.event["role"], theme.NONE)
    remark = f"   {coloured_text('⚠', theme.WARNING)} :small[{as_text(warning)}]" if warning else ""
    st.markdown(
        f"{coloured_text('▌', colour)}**{as_text(title)}**{remark}\n\n"
        f"{to_markdown(step.event['content'], marks)}"
    )
