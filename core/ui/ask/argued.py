"""One row that is argued: its title, what the person expects, the argument as it comes, and what can be done with it."""

from __future__ import annotations

import streamlit as st

from core.actions import ask
from core.actions.ask import SCRIPTED
from core.store.runs import Run
from core.types import ASKED
from core.ui.ask import expectation, following, form, further
from core.ui.ask.live_row import LiveRow
from core.ui.shared import links
from core.ui.shared.method_words import method_text
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, pair_text

_HIDDEN = "Rows shows the label too: the link comes once you have said what you expect."


def show(context: PageContext, run: Run) -> None:
    """Show the row of an ad-hoc run, or of another run whichever is predicted now."""
    if not run.is_asked:
        st.markdown(f"### A row of {as_text(run.name)}")
        row = following.show(context, run)
        if row is not None and expectation.show(context.workspace, run.id, row.pair_id):
            st.caption(_HIDDEN)
        elif row is not None:
            links.to_row(run, row.pair_id, "This row in Rows")
        return
    pair = ask.pair_of(context.workspace, run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.markdown(f"### {pair_text(pair.pert, pair.gene)}", width="content")
        known = "" if pair.split != ASKED else " · a pair that the dataset does not have"
        st.caption(as_text(f"{method_text(run.method)} · {_answered_by(run)}{known}"), width="content")
    is_hidden = expectation.show(context.workspace, run.id, pair.pair_id)
    row = following.show(context, run)
    if row is not None:
        _show_actions(context, run, row, is_hidden=is_hidden)
        further.show_again(run, row.pair_id, workspace=context.workspace, hides_label=is_hidden)
        further.show_judge(run)


def _answered_by(run: Run) -> str:
    return "simulated, no model" if run.model == SCRIPTED else str(run.model)


def _show_actions(context: PageContext, run: Run, row: LiveRow, *, is_hidden: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if not context.workspace.settings.read_only and st.button("Ask again", icon=":material/refresh:", key="ask-again"):
            form.send(context, ask.question_again(context.workspace, run))
        if is_hidden:
            st.caption(_HIDDEN)
        else:
            links.to_row(run, row.pair_id, "In Rows, with notes and every call")
