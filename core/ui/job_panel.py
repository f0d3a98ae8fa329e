"""A background job of any kind on a page: its state, progress, waiting reason, error, buttons and
log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.base.errors import StateError
from core.runs.jobs import control
from core.runs.jobs.control import Job, kinds
from core.runs.jobs.run_kind import RunKind
from core.runs.run_state import Status
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui.links import confirm
from core.ui.shell import draw_until_ready, explain_errors
from core.ui.widgets import as_text

_LOG_LINES = 12
_REFUSED_S = 10.0  # how long a page says why a button did nothing
_AFTER_ERRORS = ("failed", "crashed", "stopped")  # states whose log is open


@dataclass(frozen=True, slots=True)
class Button:
    """A button of a job. said: the confirmation shown after `act`, with these links."""

    label: str
    act: Callable[[], object]
    said: str
    links: Sequence[Callable[[], object]] = ()


def watch_job(workspace: Workspace, kind: str, key: str) -> None:
    """Show the job of a kind and key, refreshed while it is live, then rerun the page; nothing
    without it."""

    def look() -> Job | None:
        return control.find(workspace, kind, key)

    def draw() -> None:
        if (job := look()) is not None:
            show_job(workspace, job)

    draw_until_ready(draw, lambda: (job := look()) is None or not job.is_live)


def job_of_run(workspace: Workspace, run: Run, status: Status | None = None) -> Job:
    """Return the job that makes a run. status: that of its folder, if it was read already."""
    of_runs = (kind for kind in kinds().values() if isinstance(kind, RunKind))
    kind = next(kind for kind in of_runs if kind.of_readings == run.is_reading)
    return kind.job_of(workspace, run, status)


def show_job(
    workspace: Workspace,
    job: Job,
    details: Callable[[], object] | None = None,
    buttons: Callable[[], Mapping[str, Button]] = dict,
    links: Callable[[], object] | None = None,
    *,
    is_brief: bool = False,
) -> None:
    """Show the present state of a job, and its buttons.

    details: drawn below its state. buttons: more buttons by label; one called Resume replaces the
    usual one. links: drawn beside the buttons. is_brief: whether a live job takes one line, for a
    page that shows its work itself.
    """
    is_brief = is_brief and job.is_live
    state = as_text(" · ".join(filter(None, (job.words, job.progress))))
    if is_brief:
        _show_controls(workspace, job, buttons, links, state)
    else:
        st.markdown(f"**{as_text(job.name)}**")
        st.progress(min(max(job.share or 0.0, 0.0), 1.0), state)
    if job.waits_for:
        st.warning(as_text(job.waits_for), icon=":material/hourglass:")
    if job.cause:
        st.error(as_text(job.cause), icon=":material/error:")
    why, at = st.session_state.get(_refusal_key(job), ("", 0.0))
    if why and time.monotonic() - at < _REFUSED_S:
        st.error(as_text(why), icon=":material/error:")
    if is_brief:
        return
    if details is not None:
        details()
    _show_controls(workspace, job, buttons, links)
    lines = job.log_tail(_LOG_LINES)
    if job.is_live and job.last_line:
        st.caption(as_text(job.last_line))
    if lines or job.is_live:
        with st.expander("Log", expanded=job.state in _AFTER_ERRORS):
            st.text("\n".join(lines) or "none yet")


def _show_controls(
    workspace: Workspace,
    job: Job,
    more: Callable[[], Mapping[str, Button]],
    links: Callable[[], object] | None,
    state: str = "",
) -> None:
    """Show the buttons for this state, none in a read-only workspace, and the links. state: shown
    beside them."""
    buttons = {} if workspace.settings.read_only else _buttons(workspace, job) | dict(more())
    if not buttons and links is None and not state:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if state:
            st.caption(state, width="content")
        for label, button in buttons.items():
            if st.button(label, key=_key(label, job)):
                with explain_errors():
                    try:
                        button.act()
                    except StateError as error:  # the job has changed since it was drawn
                        st.session_state[_refusal_key(job)] = str(error), time.monotonic()
                        st.rerun()
                    confirm(button.said, *button.links)
        if links is not None:
            links()


def _buttons(workspace: Workspace, job: Job) -> dict[str, Button]:
    stop = Button(
        "Stop", lambda: control.stop(workspace, job), f"{job.name} stops; its results so far stay."
    )
    resume = Button("Resume", lambda: control.resume(workspace, job), f"Resumed {job.name}.")
    possible = ((stop, job.can_stop), (resume, job.can_resume))
    # A button that a person pressed acts even if the job has changed since, so that they read why
    # nothing was done.
    pressed = st.session_state
    return {
        button.label: button
        for button, can in possible
        if can or pressed.get(_key(button.label, job))
    }


def _refusal_key(job: Job) -> str:
    """Return the session key of why the last button did nothing, and when."""
    return f"_refused-{job.kind}-{job.key}"


def _key(label: str, job: Job) -> str:
    return f"{label}-{job.key}"
