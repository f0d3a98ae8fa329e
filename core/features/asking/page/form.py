"""The form of a question: a pair, a method and a server."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.base.errors import DeskError
from core.base.fields.record import make, option_of
from core.features.asking import actions as ask
from core.features.asking.actions import SCRIPTED, Question
from core.features.asking.page import following
from core.llm.call_settings import CallSettings
from core.llm.health import Health
from core.store.datasets import Dataset
from core.ui import links
from core.ui.linked import bind, choose_one
from core.ui.option_controls import choose_setting, show_more, show_options
from core.ui.run_choice import method_text
from core.ui.server_choice import ChosenServer, choose_server
from core.ui.shell import PageContext, show_error

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
    links.set_parameter("asked", asked.run.id)
    st.rerun()
