"""Runs that an experiment or a row asked again needs: found if they are done, made here until they
are, or waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from core.base.errors import StateError
from core.base.log import LOGGER
from core.base.types import LIVE_STATES
from core.methods.base import method_named
from core.methods.fusion_components import ComponentLoader
from core.runs import launch, run_control
from core.runs.jobs import overview
from core.runs.launch import FindMethod
from core.runs.request import RunRequest
from core.runs.spec import RunSpec
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run

_LOOK_EVERY_S = 0.5  # at a run that another process makes
# is told a run's name, how many are done, and of how many
Progress = Callable[[str, int, int], object]


def refuse_changed(run: Run, changed: Sequence[str]) -> None:
    """Raise StateError if anything changed, since asking again would then not ask the same."""
    if changed:
        raise StateError(
            f"run {run.name}: {' and '.join(changed)} changed since it was made, so asking again"
            " would not repeat it. Expected a run made with the present versions"
        )


def find_done(workspace: Workspace, spec: RunSpec) -> Run | None:
    """Return the run of a specification if it is done; None if it is not there or not done. Starts
    nothing."""
    with workspace.store.read() as db:
        found = next((run for run in runs.list_all(db, spec.dataset) if run.id == spec.key), None)
    return found if found is not None and found.status == "done" else None


def run_to_end(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    *,
    components: ComponentLoader,
    method: FindMethod = method_named,
    say: Callable[[str], object] = LOGGER.info,
) -> Run:
    """Return the run of a request, worked on here until it is done; resumed if an earlier worker
    left it.

    One that is resumed is asked from now on as the request says, on another server, say: a setting
    at its default stays as it is in the run. While another process works on it, such as that of
    another study with the same arm, this one waits, and tells `say`. Raise StateError if it ends
    otherwise, KeyboardInterrupt if a signal ended its worker, which took it for itself: it is meant
    for the experiment too; and what `check_change` raises.
    """
    there = run_control.find_same(workspace, spec, launch.name_of(request))
    if there is None:
        made = launch.start(workspace, request, spec=spec, components=components, method=method)
    else:
        is_told = False
        while (now := _look_at(workspace, there)).status in LIVE_STATES:
            if not is_told:
                say(f"{there.name}: waits for the process that is making it already")
                is_told = True
            time.sleep(_LOOK_EVERY_S)
        made = _go_on(workspace, request, spec, now, components, method)
    # a full disk may have kept its ending from the store
    [run] = overview.with_present_states(workspace, [made])
    if run.status == "interrupted":
        raise KeyboardInterrupt
    if run.status != "done":
        why = f" ({run.cause})" if run.cause else ""
        rows = f"{run.done:,} of {run.total:,} rows"
        raise StateError(
            f"{run.name}: is {run.status}{why}, {rows}; started again, it goes on from there"
        )
    return run


def _go_on(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    there: Run,
    components: ComponentLoader,
    method: FindMethod,
) -> Run:
    if there.status == "done":
        return there
    workspace.refuse_if_read_only("resume", there.name)

    def work_here(workspace: Workspace, run: str) -> None:
        run_control.work_on(workspace, run, method=method, components=components)

    present = workspace.run_folder(there.id).execution_settings()
    settings = launch.settings_to_resume(workspace, request, spec, present, method(spec.method))
    return run_control.resume(workspace, there.id, settings=settings, begin=work_here)


def _look_at(workspace: Workspace, run: Run) -> Run:
    with workspace.store.read() as db:
        [now] = overview.with_present_states(workspace, [runs.find(db, run.id)])
    return now


def server_of(workspace: Workspace, made: Iterable[str], since: float = 0.0) -> dict[str, Any]:
    """Return how the latest of some runs that is there is asked: a request's endpoint, concurrency
    and calls; {} without.

    since: only of runs whose settings were written later, in seconds since 1970.
    """
    folders = [
        folder
        for run in made
        if (folder := workspace.run_folder(run)).exists and folder.settings_written_at >= since
    ]
    settings = folders[-1].execution_settings() if folders else None
    if settings is None:
        return {}
    return {
        "endpoint": settings.servers,
        "concurrency": settings.concurrency,
        "calls": settings.calls,
    }
