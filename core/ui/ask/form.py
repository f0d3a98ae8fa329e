"""The form of a question: a pair, a method and a server."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.actions import ask, model_servers
from core.actions.ask import SCRIPTED, Question
from core.actions.workspace import Workspace
from core.errors import DeskError, InputError
from core.fields.record import make, option_of
from core.llm.call_settings import CallSettings
from core.llm.health import START_COMMAND, Health
from core.store.datasets import Dataset
from core.ui.ask import following
from core.ui.shared import links
from core.ui.shared.linked import bind, choose_one
from core.ui.shared.option_controls import choose_setting, key_of, show_calls, show_more, show_options, show_settings, title_of
from core.ui.shared.run_choice import method_text
from core.ui.shared.server_health import read_health
from core.ui.shared.shell import PageContext, show_error
from core.ui.shared.widgets import as_text

_OWNER = "ask_"  # the beginning of keys and query parameters
NOT_HERE = {"model": "it has a control if the server has several"}  # settings without a control, and why
_SERVERS = {"server": "A model server", "scripted": "Simulated, no model"}
_SERVER_HELP = "The simulated server makes up every text and number by a rule. It only shows how the page works."
_PAIR_HELP = "A symbol of the dataset, in any case of its letters, or any other."


def show(context: PageContext, dataset: Dataset) -> None:
    """Show the form, and ask when its button is pressed."""
    pert, gene, method, server, button = st.columns([0.2, 0.2, 0.2, 0.25, 0.15], vertical_alignment="bottom")
    known = ask.methods_that_argue()
    typed = (
        pert.text_input("Perturbation", placeholder="such as Slc35b1", help=_PAIR_HELP, **bind("ask_pert")),
        gene.text_input("Target gene", placeholder="such as Pdia6", help=_PAIR_HELP, **bind("ask_gene")),
    )
    titles = {name: method_text(name) for name in known}
    about, usual = option_of(Question, "method"), next(iter(known))
    name = choose_setting(method.selectbox, about, _OWNER, titles, usual) or usual
    default = "scripted" if dataset.origin == "simulated" else "server"
    who = choose_one(server.selectbox, "answered_by", "Answered by", _SERVERS, default, help=_SERVER_HELP) or default
    if context.workspace.settings.read_only:
        st.caption("This workspace is read-only: you cannot ask here.")
        return
    server_asked = (SCRIPTED, SCRIPTED, None, CallSettings()) if who == "scripted" else _show_server(context.workspace)
    endpoint, model, health, calls = server_asked
    options = show_options(dataset, known[name])
    chosen = {"method": name, "dataset": dataset.name, "endpoint": endpoint, "model": model}
    chosen |= show_more(Question, _OWNER, chosen)
    question = make(Question, chosen, pert=typed[0], gene=typed[1], options=options, calls=calls)
    is_ready = all(text.strip() for text in typed) and bool(model)
    wide: dict[str, Any] = {"type": "primary", "icon": ":material/forum:", "width": "stretch"}
    if button.button("Ask", key="ask", disabled=not is_ready, **wide):
        send(context, question, health)


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


def _show_server(workspace: Workspace) -> tuple[str, str, Health, CallSettings]:
    """Show the model server and its state; return its address, the model ("" for none), its health and the call options."""
    usual = workspace.settings.endpoint
    address = show_settings(Question, _OWNER, ["endpoint"], defaults={"endpoint": usual})["endpoint"] or usual
    try:
        calls = show_calls(_OWNER)
    except InputError as error:
        st.markdown(f":orange[{as_text(error)}]")
        return address, "", Health(False), CallSettings()
    found = read_health(workspace, address, calls)
    health = model_servers.combine(found)
    if not health.models:
        st.warning("No model answers there. Start one, for example on a machine with a GPU:", icon=":material/cloud_off:")
        st.code(START_COMMAND, language=None, wrap_lines=True)
        problem = health.problem.partition("; start a server")[0]
        st.caption(f"{as_text(problem)}. Or choose the simulated server, which needs no model.")
        return address, "", health, calls
    about, model = option_of(Question, "model"), health.models[0]
    if len(health.models) > 1:
        model = st.selectbox(title_of(about), health.models, help=about.help, **bind(key_of(about, _OWNER)))
    return address, str(model), health, calls
