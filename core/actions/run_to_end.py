"""Makes one run of an experiment here, until it is done: found if it is there, resumed if an earlier worker left it."""

from __future__ import annotations

from core.actions import jobs, launch, run_control
from core.actions.launch import FindMethod
from core.actions.workspace import Workspace
from core.engine.request import RunRequest
from core.engine.spec import RunSpec
from core.errors import StateError
from core.methods.base import method_named
from core.methods.fusion_components import ComponentLoader
from core.store import runs
from core.store.runs import Run


def find_done(workspace: Workspace, spec: RunSpec) -> Run | None:
    """Return the run of a specification if it is done; None if it is not there or not done. Starts nothing."""
    with workspace.store.read() as db:
        found = next((run for run in runs.list_all(db, spec.dataset) if run.id == spec.key), None)
    return found if found is not None and found.status == "done" else None


def run_to_end(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    *,
    components: ComponentLoader,
    replace: bool = False,
    method: FindMethod = method_named,
) -> Run:
    """Return the run of a request, worked on here until it is done; resumed if an earlier worker left it.

    Raise StateError if it ends otherwise, and KeyboardInterrupt if a signal ended its worker, which took it for itself: it is
    meant for the experiment too.
    """
    made = _start(workspace, request, spec, components, method, replace=replace)
    [run] = jobs.with_present_states(workspace, [made])  # a full disk may have kept its ending from the store
    if run.status == "interrupted":
        raise KeyboardInterrupt
    if run.status != "done":
        why = f" ({run.cause})" if run.cause else ""
        rows = f"{run.done:,} of {run.total:,} rows"
        raise StateError(f"{run.name}: is {run.status}{why}, {rows}; repeat the command to resume it")
    return run


def _start(
    workspace: Workspace, request: RunRequest, spec: RunSpec, components: ComponentLoader, method: FindMethod, *, replace: bool
) -> Run:
    there = run_control.find_same(workspace, spec, launch.name_of(request), replace=replace)
    if there is None:
        return launch.start(workspace, request, spec=spec, replace=replace, components=components, method=method)
    [there] = jobs.with_present_states(workspace, [there])
    if there.status == "done":
        return there

    def work_here(workspace: Workspace, run: str) -> None:
        run_control.work_on(workspace, run, method=method, components=components)

    return run_control.resume(workspace, there.id, begin=work_here)
