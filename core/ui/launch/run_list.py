"""The runs that workers make: how far they are, what can be done to them, and what they logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from core.actions import run_control
from core.actions.changed_settings import change_settings
from core.actions.workspace import Workspace
from core.engine.journal import read_progress
from core.engine.run_state import LIVE_STATES, Status
from core.errors import DeskError
from core.store.runs import Run
from core.ui.launch.run_form import MOST_CALLS, STARTED
from core.ui.shared import links, loaders
from core.ui.shared.shell import PageContext, show_error
from core.ui.shared.widgets import as_text, describe_duration, show_empty

WATCH_S = 2.0  # between two refreshes of the list
LOG_LINES = 12
STATES = {
    "waiting": "waiting for its worker",
    "running": "running",
    "pausing": "finishing rows in flight",
    "paused": "paused",
    "crashed": "crashed; can be resumed",
    "interrupted": "its worker was told to end; can be resumed",
    "stopped": "stopped; can be resumed",
    "budget": "token budget spent; can be resumed with a larger one",
    "cancelled": "cancelled; can be resumed",
    "done": "done",
}


def show_runs(context: PageContext) -> None:
    """Show the runs of this workspace's workers with the progress in their journals, and what can be done to the chosen one."""
    states = run_control.states(context.workspace)
    named = {run.id: run for run in loaders.all_runs()}
    here = {key: named[key] for key in reversed(list(named)) if key in states}
    if not here:
        show_empty("No run was started here yet.")
        return
    loaders.settle_runs()
    wanted = next(key for key in (st.query_params.get("watched"), st.session_state.get(STARTED), next(iter(here))) if key in here)
    chosen = st.selectbox(
        "Run", list(here), index=list(here).index(wanted), format_func=lambda key: _title(here[key], states[key]), key="watched"
    )
    _show_run(context, here[chosen], states[chosen])
    st.dataframe(
        [_table_row(run, states[key]) for key, run in here.items()],
        hide_index=True,
        placeholder="–",
        column_config={
            "progress": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
            **{name: st.column_config.NumberColumn(format="localized") for name in ("rows", "failed", "tokens spent")},
        },
    )


def _title(run: Run, status: Status) -> str:
    return f"{run.name} · {status.state}"


def _table_row(run: Run, status: Status) -> dict[str, Any]:
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
        "time left": None if status.left_s is None else describe_duration(status.left_s),
        "model": run.model,
    }


def _show_run(context: PageContext, run: Run, status: Status) -> None:
    counts = status.counts
    finished = counts.done + counts.failed
    words = STATES[status.state] + (f": {status.cause}" if status.cause else "")
    left = f" · {describe_duration(status.left_s)} left" if status.left_s is not None else ""
    rate = _tokens_per_s(status)
    st.progress(finished / max(status.total, 1), f"{as_text(words)} · {finished:,} of {status.total:,} rows{left}{rate}")
    if counts.failed:
        kinds = read_progress(context.workspace.run_folder(run.id).rows).kinds
        text = ", ".join(f"{n:,} × {as_text(kind)}" for kind, n in kinds.most_common())
        st.markdown(f":orange[{counts.failed:,} rows failed]: {text}")
    may_change = not context.workspace.settings.read_only
    changes = _show_settings(context.workspace, run, status) if may_change else {}
    with st.container(horizontal=True):
        if may_change:
            _show_controls(context.workspace, run, status, changes)
        links.to_rows(run, "Read its rows")
        if counts.failed:
            links.to_rows(run, "Read the failures", failed="true")
    with st.expander("Its worker's log", expanded=status.state in ("crashed", "stopped")):
        st.text("\n".join(run_control.log_tail(context.workspace, run.id, LOG_LINES)) or "nothing yet")


def _tokens_per_s(status: Status) -> str:
    finished = status.counts.done + status.counts.failed
    if status.rows_per_s is None or not finished or status.state not in LIVE_STATES or not status.counts.cost:
        return ""
    return f" · {status.counts.cost / finished * status.rows_per_s:,.0f} tokens/s"


def _show_settings(workspace: Workspace, run: Run, status: Status) -> dict[str, Any]:
    """Show how a run that can go on would be carried out; return what was chosen there, as `change_settings` takes it.

    A run that asks no model has nothing to choose, nor has one whose worker lives: it keeps the settings it began with.
    """
    present = run_control.settings_of(workspace, run.id)
    over = status.state == "done" and not status.counts.failed
    if over or not present.base_url or status.state in (*LIVE_STATES, "waiting"):
        return {}
    with st.expander("Go on elsewhere, or with more tokens", expanded=status.state in ("budget", "stopped")):
        address, budget, calls = st.columns([0.5, 0.25, 0.25])
        return {
            "base_url": address.text_input(
                "Model server", present.base_url, key=f"address-{run.id}", help=as_text(f"It has to serve {run.model}.")
            ),
            "token_budget": budget.number_input(
                "Token budget",
                1,
                None,
                present.token_budget,
                key=f"budget-{run.id}",
                placeholder="none",
                help=f"In all; {status.counts.spent:,} are spent.",
            ),
            "concurrency": calls.number_input(
                "Calls at once", 1, max(MOST_CALLS, present.concurrency), present.concurrency, key=f"calls-{run.id}"
            ),
        }


def _show_controls(workspace: Workspace, run: Run, status: Status, changes: Mapping[str, Any]) -> None:
    """Show the buttons that make sense in this state. changes: of the settings with which a run goes on."""

    def go_on(action: Callable[..., Run]) -> None:
        present = run_control.settings_of(workspace, run.id)
        action(workspace, run.id, settings=change_settings(present, **changes) if changes else None)

    live = status.state in LIVE_STATES
    actions: dict[str, tuple[Callable[[], object], bool]] = {
        "Pause": (lambda: run_control.pause(workspace, run.id), status.state == "running"),
        "Resume": (lambda: go_on(run_control.resume), status.state not in ("running", "pausing", "waiting", "done")),
        "Cancel": (lambda: run_control.cancel(workspace, run.id), live),
        "Retry failed rows": (lambda: go_on(run_control.retry), not live and status.counts.failed > 0),
    }
    for name, (act, possible) in actions.items():
        if possible and st.button(name, key=f"{name}-{run.id}"):
            try:
                act()
            except DeskError as error:
                show_error(error)
            else:
                st.rerun(scope="fragment")
