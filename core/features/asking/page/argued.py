"""One argued row: its title, the person's expectation, the argument as it comes, and further
actions.

The label of a labelled pair stays on the server until the person has stated an expectation or asked
for it.
"""

from __future__ import annotations

import streamlit as st

from core.base.errors import DeskError
from core.base.types import ASKED
from core.features.asking import actions as ask
from core.features.asking import expectations
from core.features.asking import panel as asking_panel
from core.features.asking.actions import SCRIPTED
from core.features.asking.expectations import EXPECTED, Expectation, Expected
from core.features.asking.page import following
from core.plots import theme
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui import links
from core.ui.run_choice import method_text
from core.ui.shell import PageContext, show_error
from core.ui.widgets import as_text, coloured_text, label_text, pair_text

_HELP = (
    "Your first answer for a pair counts, unless you asked for its label before. The best single"
    " answer is the one that is right for most pairs."
)


_HIDDEN = "Rows shows the label too: the link appears once you have answered."


def show_row(context: PageContext, run: Run) -> None:
    """Show the row of an ad-hoc run, or the row that another run predicts now."""
    workspace = context.workspace
    if not run.is_asked:
        st.markdown(f"### A row of {as_text(run.name)}")
        row = following.show(context, run)
        if row is not None and ask_expectation(workspace, run.id, row.pair_id):
            st.caption(_HIDDEN)
        elif row is not None:
            links.to_row(run, row.pair_id, "This row in Rows")
        return
    pair = ask.pair_of(workspace, run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.markdown(f"### {pair_text(pair.pert, pair.gene)}", width="content")
        known = "" if pair.split != ASKED else " · a pair that the dataset does not have"
        model = "simulated, no model" if run.model == SCRIPTED else run.model
        st.caption(as_text(f"{method_text(run.method)} · {model}{known}"), width="content")
    is_hidden = ask_expectation(workspace, run.id, pair.pair_id)
    row = following.show(context, run)
    if row is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            if not workspace.settings.read_only and st.button(
                "Ask again", icon=":material/refresh:", key="ask-again"
            ):
                send(context, ask.question_again(workspace, run))
            if is_hidden:
                st.caption(_HIDDEN)
            else:
                links.to_row(run, row.pair_id, "In Rows, with notes and every call")
        asking_panel.show_again(workspace, run, row.pair_id, hides_label=is_hidden)


def ask_expectation(workspace: Workspace, run: str, pair_id: str) -> bool:
    """Show the question about a row's label, and the label once it is answered; return whether a
    label is still hidden."""
    if not expectations.has_label(workspace, run, pair_id):
        st.caption("This pair has no label here, so the right answer is unknown.")
        return False
    said = expectations.expectation_of(workspace, run, pair_id)
    with st.container(horizontal=True, vertical_alignment="center", key="expectation"):
        if said is None:
            _show_choice(workspace, run, pair_id)
        else:
            st.markdown(_describe(said), width="content")
        tally = expectations.tally(workspace)
        if tally.said:
            shown = f"; {tally.shown} shown before an answer" if tally.shown else ""
            st.caption(
                f"You were right {tally.right} of {tally.said} times; the best single answer"
                f" {tally.commonest}{shown}.",
                help=_HELP,
                width="content",
            )
    return said is None


def _show_choice(workspace: Workspace, run: str, pair_id: str) -> None:
    if workspace.settings.read_only:
        st.caption("This pair's label is hidden: this workspace is read-only.")
        return
    st.markdown("This pair has a label. **What do you expect?**", width="content")
    for answer in EXPECTED:
        st.button(
            label_text(answer),
            key=f"expect-{answer}",
            on_click=_say,
            args=(workspace, run, pair_id, answer),
        )
    st.button(
        "Show the label",
        type="tertiary",
        key="expect-shown",
        on_click=_say,
        args=(workspace, run, pair_id, None),
    )


def _say(workspace: Workspace, run: str, pair_id: str, expected: Expected | None) -> None:
    try:
        expectations.expect(workspace, run, pair_id, expected)
    except DeskError as error:
        show_error(error)


def _describe(said: Expectation) -> str:
    label = coloured_text(label_text(said.label), theme.LABEL_COLOURS[said.label])
    if said.expected is None:
        return f"label: **{label}*** (shown on request)"
    outcome = "hit" if said.is_right else "miss"
    return (
        f"you expected {label_text(said.expected)} · label: **{label}** ·"
        f" {theme.OUTCOME_SIGNS[outcome]} {outcome}"
    )
