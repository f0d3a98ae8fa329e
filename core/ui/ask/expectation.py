"""What the person expects of a labelled pair. The label stays on the server until they have said so, or asked for it."""

from __future__ import annotations

import streamlit as st

from core.actions import expectations
from core.actions.expectations import EXPECTED, Expectation, Expected
from core.actions.workspace import Workspace
from core.errors import DeskError
from core.plots import theme
from core.ui.shared.shell import show_error
from core.ui.shared.widgets import coloured_text, label_text

_HELP = (
    "The first answer to a pair counts, and none once you have asked for its label. The best single answer is the one that would "
    "have been right most often had you given it to every pair."
)


def show(workspace: Workspace, run: str, pair_id: str) -> bool:
    """Show what can be said of a row, and the label once something was; return whether a label is still hidden."""
    if not expectations.has_label(workspace, run, pair_id):
        st.caption("This pair has no label here: nothing tells who is right.")
        return False
    said = expectations.expectation_of(workspace, run, pair_id)
    with st.container(horizontal=True, vertical_alignment="center", key="expectation"):
        if said is None:
            _show_choice(workspace, run, pair_id)
        else:
            st.markdown(_describe(said), width="content")
        _show_tally(workspace)
    return said is None


def _show_choice(workspace: Workspace, run: str, pair_id: str) -> None:
    if workspace.settings.read_only:
        st.caption("This pair has a label, which is hidden: this workspace is open for reading only.")
        return
    st.markdown("This pair has a label. **What do you expect?**", width="content")
    for answer in EXPECTED:
        st.button(label_text(answer), key=f"expect-{answer}", on_click=_say, args=(workspace, run, pair_id, answer))
    st.button("Show the label", type="tertiary", key="expect-shown", on_click=_say, args=(workspace, run, pair_id, None))


def _say(workspace: Workspace, run: str, pair_id: str, expected: Expected | None) -> None:
    try:
        expectations.expect(workspace, run, pair_id, expected)
    except DeskError as error:
        show_error(error)


def _describe(said: Expectation) -> str:
    label = coloured_text(label_text(said.label), theme.LABEL_COLOURS[said.label])
    if said.expected is None:
        return f"label: **{label}**, which you asked for"
    outcome = "hit" if said.is_right else "miss"
    return f"you expected {label_text(said.expected)} · label: **{label}** · {theme.OUTCOME_SIGNS[outcome]} {outcome}"


def _show_tally(workspace: Workspace) -> None:
    tally = expectations.tally(workspace)
    if tally.said:
        shown = f"; {tally.shown} shown without an answer" if tally.shown else ""
        st.caption(
            f"You were right {tally.right} of {tally.said} times; the best single answer {tally.commonest}{shown}.",
            help=_HELP,
            width="content",
        )
