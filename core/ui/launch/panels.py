"""The parts of the Launch page: a form made from a method's options, and the runs that are under way."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import streamlit as st

from core.actions import launch, run_control, run_folders
from core.actions.workspace import Workspace
from core.engine.estimate import Expectation
from core.engine.journal import read_progress
from core.engine.request import RunRequest
from core.engine.run_state import LIVE_STATES, Status
from core.engine.spec import RunSpec
from core.errors import DeskError
from core.llm.health import START_COMMAND, Health
from core.log import record_error
from core.methods.base import Method, Option
from core.methods.registry import methods
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui.shared import links, loaders
from core.ui.shared.shell import PageContext, show_error
from core.ui.shared.widgets import as_text, show_empty

WATCH_S = 2.0  # between two looks at the runs
LOG_LINES = 12
_STARTED = "_started"  # session key: the run that was begun, shown after the rerun
LABELS = {
    "auto": "none of the row's own fold (labelled rows), else all",
    "all": "all training labels",
    "blinded": "none of any chosen row's perturbation or gene",
    "folds": "none of the row's own fold",
}
STATES = {
    "waiting": "waiting for its worker",
    "running": "running",
    "pausing": "finishing rows in flight",
    "paused": "paused",
    "crashed": "its worker ended without a word; can be resumed",
    "interrupted": "its worker was told to end; can be resumed",
    "stopped": "stopped; can be resumed",
    "budget": "token budget spent; can be resumed with a larger one",
    "cancelled": "cancelled; can be resumed",
    "done": "done",
}


def form(view: PageContext, dataset: Dataset) -> None:
    """Everything a run needs, with what it is expected to take, and the button that starts it."""
    known = {name: method for name, method in methods().items() if not name.startswith("_")}
    left, right = st.columns([0.5, 0.5], gap="medium")
    with left:
        name = st.selectbox("Method", list(known), index=_first(known), key="method", bind="query-params")
        method = known[name]
        st.caption(as_text(method.about))
        rows = _rows(dataset)
        labels = st.selectbox(
            "Labels that may be seen",
            list(LABELS),
            format_func=lambda key: f"{key}: {LABELS[key]}",
            key="labels",
            help="Evidence from labelled rows, examples and base rates come from these alone.",
        )
        wanted = RunRequest(name, dataset.name, _options(method), rows, labels=labels)
    with right:
        wanted, health = _server(view.workspace, method, wanted)
        wanted = replace(wanted, name=st.text_input("Name of the run", f"{name} {rows or 'all rows'}", key=f"name-{name}-{rows}"))
        _begin(view, wanted, health)


def _first(known: dict[str, Method]) -> int:
    names = list(known)
    return names.index("evidence_rules") if "evidence_rules" in names else 0


def _rows(dataset: Dataset) -> str:
    """The choice of rows, as the command line writes it."""
    splits = sorted(loaders.dataset_rows(dataset.id)["split"].unique(), key=lambda split: split != "test")
    one, two, three = st.columns(3)
    split = one.selectbox("Rows of split", splits, key="launch_split")
    sample = two.number_input("Only a sample of", 1, None, None, key="launch_sample", placeholder="all of them")
    seed = three.number_input("Sample's seed", 0, None, 0, key="launch_seed", disabled=sample is None)
    return f"split={split}" + (f";sample={sample},seed={seed}" if sample is not None else "")


def _options(method: Method) -> dict[str, object]:
    """A widget for each option of a method; what differs from its default."""
    if not method.options:
        return {}
    with st.expander(f"{len(method.options)} options, each with its default"):
        values = {option.name: _option(method, option) for option in method.options}
    return {option.name: values[option.name] for option in method.options if values[option.name] != option.default}


def _option(method: Method, option: Option) -> Any:
    key = f"option-{method.name}-{option.name}"
    title = option.name.replace("_", " ")
    if option.kind == "flag":
        return st.toggle(title, option.default, key=key, help=option.help)
    if option.kind == "choice":
        choices = list(option.choices)
        return st.selectbox(
            title,
            choices,
            index=choices.index(option.default),
            format_func=lambda choice: choice or "as the server likes",
            key=key,
            help=option.help,
        )
    if option.kind == "text":
        return st.text_area(title, option.default, key=key, help=option.help, height=68)
    least = None if option.least is None else type(option.default)(option.least)
    most = None if option.most is None else type(option.default)(option.most)
    return st.number_input(title, least, most, option.default, key=key, help=option.help)


def _server(workspace: Workspace, method: Method, wanted: RunRequest) -> tuple[RunRequest, Health | None]:
    """The model server, what it can do, and how hard it may be asked; nothing for methods that need none."""
    if not method.needs_model:
        st.markdown("No model is needed: this method runs at once.")
        return wanted, None
    address = st.text_input("Model server", workspace.settings.endpoint, key="endpoint", help="An address ending in /v1.")
    health = _health(workspace, address)
    if not health.models:
        st.warning("No model answers there.", icon=":material/cloud_off:")
        st.caption(as_text(health.problem))
        st.markdown("Start one, for example on a machine with a GPU:")
        st.code(START_COMMAND, language=None, wrap_lines=True)
    else:
        facts = f"log-probabilities {'yes' if health.logprobs else 'no'} · longest context {health.max_model_len or 'unknown'}"
        st.success(f"{', '.join(map(as_text, health.models[:3]))} answers · {facts}", icon=":material/check_circle:")
        if health.problem:
            st.caption(f":orange[{as_text(health.problem)}]")
    model = st.selectbox("Model", health.models, key="model", disabled=not health.models, placeholder="none answers")
    one, two, three = st.columns(3)
    concurrency = one.number_input("Calls at once", 1, 512, 16, key="concurrency", help="vLLM queues without bound: a cap.")
    budget = two.number_input("Token budget", 1, None, None, key="budget", placeholder="none", help="Stops cleanly when spent.")
    seed = three.number_input("Seed", 0, None, 0, key="run_seed")
    cached = st.toggle("Take answers that were given before from the cache", True, key="cached")
    return (
        replace(wanted, endpoint=address, model=model, concurrency=concurrency, token_budget=budget, seed=seed, cached=cached),
        health,
    )


@st.cache_data(ttl=20, show_spinner="Asking the model server …", max_entries=8)
def _asked(address: str, _workspace: Workspace) -> Health:
    return asyncio.run(launch.health(_workspace, address))


def _health(workspace: Workspace, address: str) -> Health:
    try:
        found = _asked(address, workspace)
    except DeskError as error:
        record_error(f"endpoint {address}", error)
        return Health(False, problem=str(error))
    if st.button("Ask again", icon=":material/refresh:", key="ask-again"):
        _asked.clear()
        st.rerun()
    return found


def _begin(view: PageContext, wanted: RunRequest, health: Health | None) -> None:
    """What it will take, and the button."""
    if health is not None and not health.models:
        return
    try:
        spec = launch.resolve(view.workspace, wanted, checked=health)
        expected = launch.estimate(view.workspace, spec, wanted.concurrency)
    except DeskError as error:
        show_error(error)
        return
    st.markdown(_expected(spec, expected))
    if view.workspace.settings.read_only:
        st.caption("This workspace is open for reading only: nothing can be started.")
        return
    if st.button("Start run", type="primary", icon=":material/play_arrow:", key="start-run"):
        try:
            with st.spinner("Starting its worker …"):
                run = launch.start(view.workspace, wanted, spec=spec, detach=True)
        except DeskError as error:
            show_error(error)
            return
        st.session_state[_STARTED] = run.id
        st.rerun()


def _expected(spec: RunSpec, expected: Expectation) -> str:
    parts = [f"**{len(spec.rows):,} rows**"]
    if expected.calls:
        parts.append(f"**{expected.calls:,} calls**")
        if expected.prompt_tokens is None or expected.completion_tokens is None or expected.seconds is None:
            parts.append("tokens and time unknown until this method has asked this model once")
        else:
            parts.append(f"about {expected.prompt_tokens:,.0f} + {expected.completion_tokens:,.0f} tokens")
            parts.append(f"about {duration(expected.seconds)}")
        if expected.money is not None:
            parts.append(f"about {expected.money:,.2f} by the price that is set")
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Seconds in the words of a clock."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def watch(view: PageContext) -> None:
    """The runs that a worker makes or made here, as their journals say, and what can be done to the chosen one."""
    states = run_control.states(view.workspace)
    named = {run.id: run for run in loaders.all_runs()}
    here = {key: named[key] for key in reversed(list(named)) if key in states}
    if not here:
        show_empty("No run was started here yet.")
        return
    for stale in [key for key, run in here.items() if states[key].state not in LIVE_STATES and states[key].state != run.status]:
        run_control.settle(view.workspace, stale)
    started = st.session_state.get(_STARTED)
    wanted = started if started in here else next(iter(here))
    chosen = st.selectbox(
        "Run", list(here), index=list(here).index(wanted), format_func=lambda key: _title(here[key], states[key]), key="watched"
    )
    _one(view, here[chosen], states[chosen])
    st.dataframe(
        [_line(run, states[key]) for key, run in here.items()],
        hide_index=True,
        placeholder="–",
        column_config={
            "progress": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
            **{name: st.column_config.NumberColumn(format="localized") for name in ("rows", "failed", "tokens spent")},
        },
    )


def _title(run: Run, status: Status) -> str:
    return f"{run.name} · {status.state}"


def _line(run: Run, status: Status) -> dict[str, Any]:
    counts = status.counts
    return {
        "run": run.name,
        "method": run.method.replace("_", " "),
        "state": status.state,
        "progress": (counts.done + counts.failed) / max(status.total, 1),
        "rows": counts.done,
        "failed": counts.failed,
        "tokens spent": counts.spent,
        "rows/s": None if status.rows_per_s is None else round(status.rows_per_s, 2),
        "time left": None if status.left_s is None else duration(status.left_s),
        "model": run.model,
    }


def _one(view: PageContext, run: Run, status: Status) -> None:
    counts = status.counts
    finished = counts.done + counts.failed
    words = STATES[status.state] + (f": {status.cause}" if status.cause else "")
    left = f" · {duration(status.left_s)} left" if status.left_s is not None else ""
    rate = _tokens_per_s(status)
    st.progress(finished / max(status.total, 1), f"{as_text(words)} · {finished:,} of {status.total:,} rows{left}{rate}")
    if counts.failed:
        kinds = read_progress(run_folders.folder_of(view.workspace, run.id).rows).kinds
        told = ", ".join(f"{n:,} × {as_text(kind)}" for kind, n in kinds.most_common())
        st.markdown(f":orange[{counts.failed:,} rows failed]: {told}")
    with st.container(horizontal=True):
        if not view.workspace.settings.read_only:
            _controls(view.workspace, run, status)
        links.to_rows(run, "Read its rows")
        if counts.failed:
            links.to_rows(run, "Read the failures", failed="true")
    with st.expander("What its worker says", expanded=status.state in ("crashed", "stopped")):
        st.text("\n".join(run_control.log_tail(view.workspace, run.id, LOG_LINES)) or "nothing yet")


def _tokens_per_s(status: Status) -> str:
    finished = status.counts.done + status.counts.failed
    if status.rows_per_s is None or not finished or status.state not in LIVE_STATES or not status.counts.cost:
        return ""
    return f" · {status.counts.cost / finished * status.rows_per_s:,.0f} tokens/s"


def _controls(workspace: Workspace, run: Run, status: Status) -> None:
    """The buttons that make sense in this state."""
    live = status.state in LIVE_STATES
    actions = {
        "Pause": (run_control.pause, status.state == "running"),
        "Resume": (run_control.resume, status.state not in ("running", "pausing", "waiting", "done")),
        "Cancel": (run_control.cancel, live),
        "Retry failed rows": (run_control.retry, not live and status.counts.failed > 0),
    }
    for name, (act, possible) in actions.items():
        if possible and st.button(name, key=f"{name}-{run.id}"):
            try:
                act(workspace, run.id)
            except DeskError as error:
                show_error(error)
            else:
                st.rerun(scope="fragment")
