"""The form that starts a run: a widget for each option of a method, and the run's expected cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.base.errors import InputError
from core.base.fields.record import options_of
from core.base.texts import count_text
from core.llm.health import Health
from core.methods.base import AsksAgain, DerivedMethod, Method, methods
from core.runs import launch
from core.runs.dependencies import ReadsTexts
from core.runs.request import RowSelection, RunRequest, cost_sentence
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.linked import bind, choose_one
from core.ui.loaders.records import all_runs, dataset_rows
from core.ui.option_controls import (
    key_of,
    show_control,
    show_more,
    show_options,
    show_settings,
    title_of,
    with_missing,
)
from core.ui.run_choice import method_text
from core.ui.server_choice import choose_backend, choose_server
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text

_RUN = {option.name: option for option in options_of(RunRequest)}
_ROWS = {option.name: option for option in options_of(RowSelection)}
# Settings that other parts of the form show.
_ABOVE = ("dataset", "rows", "labels", "name", "endpoint", "model", "backend", "ray_address")


def show_form(context: PageContext, dataset: Dataset) -> None:
    """Show the settings of a run, its expected cost, and the button that starts it."""
    known = launchable_methods()
    left, right = st.columns([0.5, 0.5], gap="medium")
    with left:
        titles = {name: method_text(name) for name in known}
        usual = "evidence_rules" if "evidence_rules" in known else next(iter(known))
        name = choose_one(st.selectbox, "method", "Method", titles, usual) or usual
        method = known[name]
        st.caption(as_text(method.about))
        # it chooses its rows and hides their labels itself
        derived = isinstance(method, DerivedMethod)
        rows = "" if derived else _show_rows(dataset)
        labels: Any = "auto" if derived else show_settings(RunRequest, "", ["labels"])["labels"]
        wanted = RunRequest(name, dataset.name, show_options(dataset, method), rows, labels=labels)
        named = with_missing(_RUN["name"], launch.name_of(wanted))
        wanted = replace(wanted, name=show_control(named, key_of(named, "")))
    with right, explain_errors():
        wanted, health = _show_server(context.workspace, method, wanted)
        _show_start(context, wanted, health)


def launchable_methods() -> dict[str, Method]:
    """Return the methods that can be started here, by name.

    Methods that read texts start on the page Arguments, and methods that ask a row again in Rows.
    """
    return {
        name: method
        for name, method in methods().items()
        if not isinstance(method, ReadsTexts | AsksAgain)
    }


def _show_rows(dataset: Dataset) -> str:
    """Show the choice of rows and return it in the form of the command line."""
    splits = sorted(dataset_rows(dataset.id)["split"].unique(), key=lambda split: split != "test")
    one, two, three = st.columns(3, vertical_alignment="bottom")
    option = _ROWS["split"]
    split = one.selectbox(title_of(option), splits, help=option.about.help, **bind("launch_split"))
    with two:
        chosen = show_settings(RowSelection, "launch_", ["sample"])
    with three:
        chosen |= show_settings(RowSelection, "launch_", ["seed"])
    rest = show_more(RowSelection, "launch_", ("split", *chosen))
    parts = (
        [f"sample={chosen['sample']},seed={chosen['seed']}"] if chosen["sample"] is not None else []
    )
    parts += [f"{name}={value}" for name, value in rest.items() if value != _ROWS[name].default]
    return ";".join([f"split={split}", *parts])


def _show_server(
    workspace: Workspace, method: Method, wanted: RunRequest
) -> tuple[RunRequest, Health | None]:
    """Show the model server, its abilities, and the number of calls at once; nothing for methods
    without a model."""
    if not method.needs_model:
        st.markdown("This method needs no model.")
        return wanted, None
    if workspace.settings.read_only:
        st.caption("This workspace is read-only, so no model server is asked.")
        return wanted, Health(False)
    server = choose_server(workspace, RunRequest, "")
    chosen = show_settings(RunRequest, "", ["concurrency", "token_budget", "seed"], columns=3)
    chosen |= show_more(
        RunRequest, "", (*_ABOVE, *chosen), words="time, length, repeats and cached answers"
    )
    chosen |= choose_backend(RunRequest, "")
    return replace(
        wanted, endpoint=server.address, model=server.model, calls=server.calls, **chosen
    ), server.health


def _show_start(context: PageContext, wanted: RunRequest, health: Health | None) -> None:
    """Show the expected cost of the run, and the button that starts it."""
    if health is not None and not health.models:
        return
    try:
        spec = launch.resolve(context.workspace, wanted, known_health=health)
        expected = launch.estimate(
            context.workspace, spec, wanted.concurrency, endpoint=wanted.endpoint
        )
        not_asked = launch.describe_not_asked(context.workspace, wanted, spec)
    except InputError as error:  # for example, because a choice is missing
        st.markdown(f":orange[{as_text(error)}]")
        return
    n_rows = len(spec.rows)
    st.markdown(
        as_text(
            cost_sentence(expected, 1, n_rows)
            if expected.calls
            else f"{count_text(n_rows, 'row')}, no calls."
        )
    )
    if not_asked:
        st.markdown(f":orange[{as_text(not_asked)}]")
    if context.read_only:
        st.caption("This workspace is read-only: you cannot start runs here.")
        return
    if st.button("Start run", type="primary", icon=":material/play_arrow:", key="start-run"):
        known = {run.id for run in all_runs()}
        with st.spinner("Starting …"):
            run = launch.start(context.workspace, wanted, spec=spec, detach=True)
        again = run.id in known
        text = (
            f"{run.name} has these settings already: no second run was started."
            if again
            else f"Started {run.name}."
        )
        links.set_parameter("watched", run.id)
        confirm(
            text,
            lambda: st.markdown("[Watch](#run)", width="content"),
            lambda: links.to_rows(run, "Open rows"),
        )
