"""The form that starts a run: a widget for each option of a method, and the run's expected cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd
import streamlit as st

from core.base.errors import InputError
from core.base.fields.record import options_of
from core.base.texts import count_text, describe_duration
from core.base.types import LIVE_STATES
from core.llm.health import Health
from core.methods.base import AsksAgain, DerivedMethod, Method, methods
from core.runs import launch, run_control
from core.runs.dependencies import ReadsTexts
from core.runs.jobs import control
from core.runs.jobs.control import Job
from core.runs.model_servers import ChangedSettings, change_settings
from core.runs.request import RowSelection, RunRequest, cost_sentence
from core.runs.run_state import Status
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import links, results
from core.ui.job_panel import Button, job_of_run, show_job
from core.ui.linked import bind, choose_one, read_ids
from core.ui.links import confirm
from core.ui.loaders.records import all_runs, dataset_rows, settle_runs
from core.ui.option_controls import (
    key_of,
    names_of_rest,
    show_control,
    show_more,
    show_options,
    show_settings,
    title_of,
    with_missing,
)
from core.ui.server_choice import choose_backend, choose_server
from core.ui.shell import PageContext, draw_until_ready, explain_errors, fragment
from core.ui.sidebar import method_text
from core.ui.widgets import as_text, show_empty

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
        links.set_parameters({"watched": run.id})
        confirm(
            text,
            lambda: st.markdown("[Watch](#run)", width="content"),
            lambda: links.to_rows(run, "Open rows"),
        )


TABLE = "started-runs"  # widget key
_COLUMNS = {
    "progress": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
    "rows/s": st.column_config.NumberColumn(format="%.2f"),
}


def show_runs(context: PageContext) -> None:
    """Show the runs of this workspace's workers and the buttons of the chosen one; refresh while
    one is live."""

    def draw() -> None:
        states = run_control.states(context.workspace)
        named = {run.id: run for run in all_runs()}
        here = {
            key: named[key]
            for key in reversed(list(named))
            if key in states and not named[key].is_asked
        }
        if not here:
            show_empty("No run was started here yet.")
            return
        settle_runs()
        ids = list(here)
        place = next(map(ids.index, read_ids("watched", ids)), 0)

        def select() -> None:
            links.set_parameters({"watched": ids[st.session_state[TABLE]["selection"]["rows"][0]]})

        st.session_state[TABLE] = {"selection": {"rows": [place]}}
        results.show_table(
            pd.DataFrame([_table_row(run, states[key]) for key, run in here.items()]),
            "runs started here",
            _COLUMNS,
            key=TABLE,
            height="auto",
            alt="Runs that were started here",
            on_select=select,
            selection_mode="single-row-required",
        )
        chosen = ids[place]
        _show_run(context, here[chosen], states[chosen])

    if _is_any_live(context):
        draw_until_ready(draw, lambda: not _is_any_live(context))
    else:
        fragment(draw)()


def _is_any_live(context: PageContext) -> bool:
    return any(
        status.state in LIVE_STATES for status in run_control.states(context.workspace).values()
    )


def _table_row(run: Run, status: Status) -> dict[str, Any]:
    counts = status.counts
    return {
        "run": run.name,
        "state": status.state,
        "progress": (counts.done + counts.failed) / max(status.total, 1),
        "rows": counts.done,
        "failed": counts.failed,
        "time left": None if status.left_s is None else describe_duration(status.left_s),
        "rows/s": None if status.rows_per_s is None else round(status.rows_per_s, 2),
        "tokens spent": counts.spent,
        "method": method_text(run.method),
        "model": run.model,
    }


def _show_run(context: PageContext, run: Run, status: Status) -> None:
    changes: dict[str, Any] = {}

    def details() -> None:
        counts = status.counts
        if status.servers:
            titles = {
                "in_flight": "in flight",
                "done": "answers",
                "failed": "faults",
                "problem": "why",
            }
            servers = pd.DataFrame(map(asdict, status.servers))
            if not status.has_worker:
                servers = servers[["address", "done", "failed", "tokens"]]
            results.show_table(
                servers.rename(columns=titles),
                "model servers of a run",
                height="auto",
                alt="Model servers",
            )
        if counts.unanswered and status.state not in LIVE_STATES:
            st.caption(
                f"{counts.unanswered:,} requests were pending when a worker ended. The tokens spent"
                " do not include their answers."
            )
        if counts.failed:
            st.markdown(f":orange[{counts.failed:,} rows failed]")
        if not context.read_only:
            changes.update(_show_settings(context.workspace, run, status))

    job = job_of_run(context.workspace, run, status)
    show_job(
        context.workspace,
        job,
        details,
        lambda: _buttons(context.workspace, job, run, status, changes),
        lambda: _show_links(run, status),
    )


def _show_links(run: Run, status: Status) -> None:
    links.to_rows(run, "Open rows")
    if status.has_worker and run.expected_calls and not run.is_reading:
        links.show_link(
            links.ASK,
            label="Watch a debate" if run.method == "debate" else "Watch a row",
            icon=":material/visibility:",
            query_params={"dataset": run.dataset, "asked": run.id},
            width="content",
        )
    # whose link opens the rows of the run that it reads
    if status.counts.failed and not run.is_reading:
        links.to_rows(run, "Open failed rows", failed="true")


def _show_settings(workspace: Workspace, run: Run, status: Status) -> dict[str, Any]:
    """Show the settings with which a run can be resumed; return the choices as arguments of
    `change_settings`.

    There are none for a run without a model, or while its worker lives.
    """
    present = run_control.settings_of(workspace, run.id)
    over = status.state == "done" and not status.counts.failed
    if over or not present.servers or status.state in LIVE_STATES:
        return {}
    with st.expander("Resume with other settings", expanded=status.state in ("budget", "stopped")):
        owner = f"calls-{run.id}-"
        defaults = {"endpoint": present.servers, **asdict(present)}
        chosen = show_settings(ChangedSettings, owner, ["endpoint"], defaults=defaults)
        rest = names_of_rest(ChangedSettings, ("endpoint",))
        chosen |= show_settings(
            ChangedSettings, owner, rest, columns=2, defaults=defaults, in_link=False
        )
        st.caption(
            as_text(
                f"The server has to serve {run.model}. {status.counts.spent:,} tokens are spent."
            )
        )
        return {"servers": chosen.pop("endpoint") or present.servers, **chosen}


def _buttons(
    workspace: Workspace, job: Job, run: Run, status: Status, changes: Mapping[str, Any]
) -> dict[str, Button]:
    """Return the buttons of a run besides stop. changes: the new settings for resuming it."""

    def go_on(action: Callable[..., Run]) -> None:
        present = run_control.settings_of(workspace, run.id)
        action(workspace, run.id, settings=change_settings(present, **changes) if changes else None)

    def resume() -> None:
        control.resume(workspace, job, by=lambda *_: go_on(run_control.resume))

    n_failed, rows = status.counts.failed, (lambda: links.to_rows(run, "Open rows"),)
    retrying = f"Retrying {count_text(n_failed, 'failed row')} of {run.name}."
    possible = (
        (
            Button(
                "Pause", lambda: run_control.pause(workspace, run.id), f"Pausing {run.name}.", rows
            ),
            status.state == "running",
        ),
        (Button("Resume", resume, f"Resumed {run.name}.", rows), job.can_resume),
        (
            Button("Retry failed rows", lambda: go_on(run_control.retry), retrying, rows),
            status.state not in LIVE_STATES and n_failed > 0,
        ),
    )
    return {button.label: button for button, can in possible if can}
