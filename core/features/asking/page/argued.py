"""The page Ask: the form of a question, one argued row with the person's expectation, and what was
asked before.

The label of a labelled pair stays on the server until the person has stated an expectation or asked
for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.base.errors import DeskError
from core.base.fields.record import make, option_of
from core.base.types import ASKED
from core.features.asking import actions as ask
from core.features.asking import expectations
from core.features.asking import panel as asking_panel
from core.features.asking.expectations import EXPECTED, Expectation, Expected
from core.features.asking.page import following
from core.features.asking.question import SCRIPTED, Question
from core.llm.call_settings import CallSettings
from core.llm.health import Health
from core.plots import drawing
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import links, results
from core.ui.linked import bind, choose_one
from core.ui.option_controls import choose_setting, show_more, show_options
from core.ui.server_choice import ChosenServer, choose_server
from core.ui.shell import PageContext, show_error
from core.ui.sidebar import method_text
from core.ui.widgets import as_text, coloured_text, label_text, pair_text, show_empty

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
            st.caption(
                f"You were right {tally.right} of {tally.said} times; the best single answer"
                f" {tally.commonest}.",
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
    label = coloured_text(label_text(said.label), drawing.LABEL_COLOURS[said.label])
    if said.expected is None:
        return f"label: **{label}*** (shown on request)"
    outcome = "hit" if said.is_right else "miss"
    return (
        f"you expected {label_text(said.expected)} · label: **{label}** ·"
        f" {drawing.OUTCOME_SIGNS[outcome]} {outcome}"
    )


_OWNER = "ask_"  # the beginning of keys and query parameters
_SERVERS = {"server": "A model server", "scripted": "Simulated, no model"}
_SERVER_HELP = (
    "The simulated server makes up every text and number by a rule. It only shows how the page"
    " works."
)
_PAIR_HELP = "A symbol of the dataset, in any case of its letters, or any other."


def show_form(context: PageContext, dataset: Dataset) -> None:
    """Show the form, and ask when its button is pressed."""
    pert, gene, method, server, button = st.columns(
        [0.2, 0.2, 0.2, 0.25, 0.15], vertical_alignment="bottom"
    )
    known = ask.methods_that_argue()
    typed = (
        pert.text_input(
            "Perturbation", placeholder="such as Slc35b1", help=_PAIR_HELP, **bind("ask_pert")
        ),
        gene.text_input(
            "Target gene", placeholder="such as Pdia6", help=_PAIR_HELP, **bind("ask_gene")
        ),
    )
    titles = {name: method_text(name) for name in known}
    about, usual = option_of(Question, "method"), next(iter(known))
    name = choose_setting(method.selectbox, about, _OWNER, titles, usual) or usual
    default = "scripted" if dataset.origin == "simulated" else "server"
    who = (
        choose_one(
            server.selectbox, "answered_by", "Answered by", _SERVERS, default, help=_SERVER_HELP
        )
        or default
    )
    if context.read_only:
        st.caption("This workspace is read-only: you cannot ask here.")
        return
    simulated = ChosenServer(SCRIPTED, SCRIPTED, None, CallSettings())
    asked = simulated if who == "scripted" else choose_server(context.workspace, Question, _OWNER)
    options = show_options(dataset, known[name])
    chosen = {
        "method": name,
        "dataset": dataset.name,
        "endpoint": asked.address,
        "model": asked.model,
    }
    chosen |= show_more(Question, _OWNER, chosen)
    question = make(
        Question, chosen, pert=typed[0], gene=typed[1], options=options, calls=asked.calls
    )
    is_ready = all(text.strip() for text in typed) and bool(asked.model)
    wide: dict[str, Any] = {"type": "primary", "icon": ":material/forum:", "width": "stretch"}
    if button.button("Ask", key="ask", disabled=not is_ready, **wide):
        send(context, question, asked.health)


def send(context: PageContext, question: Question, health: Health | None = None) -> None:
    """Ask a question, and redraw the page with its row."""
    try:
        with st.spinner("Starting …"):
            asked = ask.ask(context.workspace, question, known_health=health)
    except DeskError as error:
        show_error(error)
        return
    following.forget(asked.run.id)
    links.set_parameters({"asked": asked.run.id})
    st.rerun()


def show_asked(asked: Sequence[Run]) -> None:
    """Show the dataset's ad-hoc runs, latest first."""
    st.markdown("### Asked before")
    if not asked:
        show_empty("No questions yet. Type a perturbation and a target gene above, and press Ask.")
        return
    rows = [
        {
            "asked": run.created_at,
            "question": run.name.removeprefix("asked "),
            "method": method_text(run.method),
            "model": f"{run.model} (simulated)" if run.model == SCRIPTED else run.model,
            "state": "failed" if run.failed else run.status,
            "tokens": run.tokens,
            "open": links.page_address("ask", dataset=run.dataset, asked=run.id),
        }
        for run in asked
    ]
    columns = {
        "asked": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        "open": st.column_config.LinkColumn(display_text="open"),
        "tokens": st.column_config.NumberColumn(format="localized"),
    }
    results.show_table(
        pd.DataFrame(rows), "what was asked", columns, height="auto", alt="What was asked before"
    )
