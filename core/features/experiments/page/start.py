"""Start: a question, the form of its kind, the plan with its cost, and the button that starts."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.base.experiment import Kind
from core.base.fields.record import make, options_of
from core.base.fields.setting import Option
from core.features.experiments import engine
from core.features.experiments.registry import kinds
from core.llm.call_settings import CallSettings
from core.store.datasets import Dataset
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.linked import bind, choose_one
from core.ui.option_controls import SOURCES, key_of, show_control, show_option
from core.ui.results import show_result
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text, show_empty

# session key: all that this visitor's last computed result rests on, and the result
_COMPUTED = "_experiments"
_SAMPLE = 100
_FIRST = "tools"  # the kind that stands first where a link names none
_OF_CALLS = {"endpoint", "concurrency", *(option.name for option in options_of(CallSettings))}


def show_start(context: PageContext) -> None:
    """Show the choice of a question, and what it takes to answer it."""
    dataset = context.dataset
    if dataset is None:
        show_empty("This workspace has no dataset yet.", lambda: links.to_data("Import one"))
        return
    titles = {kind.name: f"{kind.title}: {kind.question}" for kind in kinds().values()}
    kind = kinds()[choose_one(st.selectbox, "kind", "Question", titles, _FIRST) or _FIRST]
    if missing := kind.missing(context.workspace, dataset.id):
        show_empty(
            as_text(f"It needs {'; and '.join(missing)}."), lambda: links.to_data("Import it")
        )
    chosen = _show_form(context, dataset, kind)
    if kind.compute is not None:
        key = (
            dataset.id,
            kind.name,
            sorted(map(str, chosen.items())),
            context.workspace.store.settled_state(),
        )
        if st.button(
            "Compute", type="primary", icon=":material/play_arrow:", key="compute-experiment"
        ):
            with explain_errors(), st.spinner(f"{kind.title} …"):
                st.session_state[_COMPUTED] = (
                    key,
                    kind.compute(context.workspace, make(kind.settings, chosen)),
                )
        last, result = st.session_state.get(_COMPUTED, (None, None))
        if last == key:
            show_result(result, dataset.name, f"computed-{kind.name}")
        else:
            st.caption("It asks no model: it is computed from what the workspace holds.")
    elif not context.workspace.settings.read_only:
        _show_plan(context, kind, chosen)


def _show_form(context: PageContext, dataset: Dataset, kind: Kind) -> dict[str, Any]:
    """Show a control for each setting of a kind; return the values that differ from the
    defaults."""
    hidden = [
        option.name for option in options_of(kind.settings) if option.about.where != "everywhere"
    ]
    options = [option for option in options_of(kind.settings) if option.name not in hidden]
    of_calls = [option for option in options if option.name in _OF_CALLS]
    values: dict[str, Any] = {}
    columns = st.columns(2, gap="medium")
    for i, option in enumerate(option for option in options if option not in of_calls):
        with columns[i % 2]:
            values[option.name] = _show_setting(context, dataset, kind, option)
    if of_calls:
        with st.expander("Model server and calls"):
            for option in of_calls:
                values[option.name] = _show_setting(context, dataset, kind, option)
    chosen = {
        option.name: values[option.name]
        for option in options
        if values[option.name] != option.default
    }
    of_sidebar = {"dataset": dataset.id, "run": context.run.id if context.run else None}
    return chosen | {name: value for name, value in of_sidebar.items() if name in hidden and value}


def _show_setting(context: PageContext, dataset: Dataset, kind: Kind, option: Option) -> Any:
    owner = f"experiment-{kind.name}"
    if option.name == "rows" and option.default == "":
        return _show_rows(context, option, owner)
    if option.name == "text":
        return st.text_area(
            "TOML file", height=240, key=f"spec-{kind.name}", help=option.about.help
        )
    if option.about.names in SOURCES:
        return show_option(dataset, owner, option)
    return show_control(option, key_of(option, f"{owner}-"))


def _show_rows(context: PageContext, option: Option, owner: str) -> str:
    """Show how many rows are asked; "" for all of the run."""
    most = context.run.done if context.run else _SAMPLE
    usual = min(_SAMPLE, most or _SAMPLE)
    n = st.number_input(
        "Rows",
        1,
        value=usual,
        help=f"{option.about.help} The run that is open has {most:,}.",
        **bind(f"{owner}-rows", usual),
    )
    return "" if context.run and n >= most else f"sample={n}"


def _show_plan(context: PageContext, kind: Kind, chosen: dict[str, Any]) -> None:
    """Show the buttons, and the plan once it was asked for."""
    with st.container(horizontal=True):
        wants_plan = st.button("Plan", key="plan-experiment", icon=":material/request_quote:")
        wants_start = st.button(
            "Start", type="primary", key="start-experiment", icon=":material/play_arrow:"
        )
    if not (wants_plan or wants_start):
        st.caption("Plan shows arms, rows, calls and cost, and starts nothing.")
        return
    with explain_errors(), st.spinner("Planning …"):
        planned = engine.plan(context.workspace, kind.name, make(kind.settings, chosen))
        if wants_plan:
            show_result(planned, planned.saved.name, "experiment-plan")
            return
        engine.start_apart(context.workspace, planned)
        view = {"tab": "Results", "experiment": planned.saved.key}
        words = f"{planned.saved.name}: {planned.left} runs are made in a process of their own."
        confirm(words, lambda: links.to_page(links.EXPERIMENTS, "Results", **view))
