"""The tabs of Experiments: Start (a question, the form of its kind, the plan with its cost),
Results (an experiment's progress while it runs, and its result), and Ledger."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import streamlit as st

from core.base.experiment import Kind
from core.base.fields.record import make, options_of
from core.base.fields.setting import Option
from core.features.experiments import engine, ledger
from core.features.experiments.engine import kinds
from core.features.experiments.result import ExperimentResult
from core.llm.call_settings import CallSettings
from core.store.datasets import Dataset
from core.ui import links
from core.ui.job_panel import watch_job
from core.ui.linked import bind, choose_one
from core.ui.links import confirm
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import all_runs
from core.ui.option_controls import SOURCES, key_of, show_control, show_option
from core.ui.results import show_result
from core.ui.server_workspace import read_workspace
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
    every = options_of(kind.settings)
    options = [option for option in every if option.about.where == "everywhere"]
    own = [option for option in options if option.name not in _OF_CALLS]
    places: dict[str, Any] = dict(
        zip((option.name for option in own), cycle(st.columns(2, gap="medium")), strict=False)
    )
    if len(own) < len(options):
        calls = st.expander("Model server and calls")
        places |= {option.name: calls for option in options if option not in own}
    chosen = {}
    for option in options:
        with places[option.name]:
            value = _show_setting(context, dataset, kind, option)
        if value != option.default:
            chosen[option.name] = value
    of_sidebar = {"dataset": dataset.id, "run": context.run.id if context.run else None}
    hidden = [option.name for option in every if option not in options]
    return chosen | {name: value for name, value in of_sidebar.items() if name in hidden and value}


def _show_setting(context: PageContext, dataset: Dataset, kind: Kind, option: Option) -> Any:
    owner = f"experiment-{kind.name}"
    if option.name == "rows" and option.default == "":
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
    if option.name == "text":
        return st.text_area(
            "TOML file", height=240, key=f"spec-{kind.name}", help=option.about.help
        )
    if option.about.names in SOURCES:
        return show_option(dataset, owner, option)
    return show_control(option, key_of(option, f"{owner}-"))


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


def show_results(context: PageContext) -> None:
    """Show the experiments of the dataset, and one of them."""
    dataset = context.dataset
    here = [
        saved
        for saved in engine.list_saved(context.workspace)
        if dataset and saved.dataset == dataset.id
    ]
    if not here:
        how = lambda: links.to_page(links.EXPERIMENTS, "Start one", tab="Start")  # noqa: E731
        show_empty(
            "No experiment of this dataset yet. A question, a run and a few rows are enough.", how
        )
        return
    states = {run.id: run.status for run in all_runs()}
    by_key = {saved.key: saved for saved in here}
    titles = {
        key: f"{saved.name}: {len(saved.ids) - saved.count_left(states)} of {len(saved.ids)} runs"
        for key, saved in by_key.items()
    }
    latest = here[-1].key
    saved = by_key[choose_one(st.selectbox, "experiment", "Experiment", titles, latest) or latest]
    if left := saved.count_left(states):
        st.markdown(
            f"{left} of {len(saved.ids)} runs are missing; the result stands here when they are"
            " done."
        )
        watch_job(context.workspace, engine.JOB, saved.key)
        return
    with explain_errors():
        with st.spinner("Comparing …"):
            result = _result_of(saved.key)
        st.markdown(f"### {as_text(result.question)}")
        show_result(result, saved.name, "experiment")


@cache_by("runs", "datasets", "presets", entries=8, shared=True)
def _result_of(key: str) -> ExperimentResult:
    workspace = read_workspace()
    return engine.result_of(workspace, engine.find_saved(workspace, key))


def show_ledger(context: PageContext) -> None:
    """Show the ledger of the workspace for all datasets, and the import of the published one."""
    result = ledger.list_ledger(context.workspace)
    if result.hypotheses:
        show_result(result, "", "ledger")
    else:
        show_empty("No hypothesis is registered yet.")
    st.caption(
        "An experiment registers what it tests and records its result; `perturbdesk ledger add`"
        " registers a hypothesis about two runs. Lines are only added, never changed or deleted."
    )
    if not context.workspace.settings.read_only and st.button(
        "Import the published ladder", key="import-ladder", icon=":material/stairs:"
    ):
        with explain_errors():
            added = ledger.import_published_ladder(context.workspace)
            words = f"Imported {len(added)} entries, published elsewhere."
            confirm(
                words if added else "Every line is in the ledger already.",
                lambda: links.to_data("Changes", tab="History"),
            )
