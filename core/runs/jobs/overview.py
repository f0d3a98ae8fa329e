"""Jobs of this workspace: their folders, and jobs that died unnoticed.

A job that is a command is in data/jobs/KIND/KEY; a kind may keep its jobs in another place,
data/PLACE/KEY. Runs in the state that their folders show now: the store records a worker's death
only when the run is settled. Every command settles dead jobs before it first opens the store
(`SettleOnce`); a page does it in the background, and shows the states of the folders meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from core.base import log
from core.base.environment import environment_of
from core.base.errors import DeskError, NotFound, StoreBusy
from core.base.types import LIVE_STATES, JsonObject
from core.runs.jobs import state
from core.runs.jobs.folder import JobFolder, read_json, write_json
from core.runs.jobs.work import command_line
from core.runs.jobs.work import start as start_process
from core.runs.run_folder import RUNS, RunFolder
from core.runs.run_state import state_of
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run

_FOLDER = "jobs"
_ABOUT, _MORE = {"kind": str, "arguments": list, "started_at": float}, {"name": str, "wanted": dict}


def folder_of(workspace: Workspace, kind: str, key: str) -> JobFolder:
    """Return the folder of a job, which may not be there yet."""
    return JobFolder(workspace.settings.data / _FOLDER / kind / key)


def list_folders(workspace: Workspace, kind: str | None = None) -> list[JobFolder]:
    """Return the folders in data/jobs of the jobs of a kind for which a process was ever requested.

    Without a kind, return those of every kind, wherever it keeps them, but no run's: the store has
    the states of runs. They are recognised by their files, so that nothing imports the kinds, which
    takes half a second, before a command's work.
    """
    data = workspace.settings.data
    paths = [*(data / _FOLDER).glob(f"{kind or '*'}/*")]
    if kind is None:
        paths += [
            path
            for place in data.glob("*/")
            if place.name not in (_FOLDER, RUNS)
            for path in place.glob("*/")
        ]
    return [folder for path in sorted(paths) if (folder := JobFolder(path)).was_begun]


def start(
    workspace: Workspace, folder: JobFolder, kind: str, arguments: Sequence[str], **about: Any
) -> int:
    """Start a command as a job in a process that outlives this one; return its process id, or that
    of the running one.

    about: further values for `write_about`, which is not called while a process is on the job.
    Raise StateError, with the last lines of its log, if it ends before it begins.
    """
    workspace.refuse_if_read_only(kind, folder.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    return _start(
        workspace, folder, kind, arguments, partial(write_about, folder, kind, arguments, **about)
    )


def write_about(folder: JobFolder, kind: str, arguments: Sequence[str], **about: Any) -> None:
    """Record how a job is started, by which `resume` starts it again."""
    folder.path.mkdir(parents=True, exist_ok=True)
    write_json(
        folder.about,
        {"kind": kind, "arguments": list(arguments), "started_at": time.time(), **about},
    )


def resume(workspace: Workspace, folder: JobFolder) -> int:
    """Start the command of a job again, unless it is running. Raise NotFound for a job that is not
    a command."""
    workspace.refuse_if_read_only("resume job", folder.key)
    about = read_about(folder)
    return _start(workspace, folder, about["kind"], about["arguments"])


def _start(
    workspace: Workspace,
    folder: JobFolder,
    kind: str,
    arguments: Sequence[str],
    prepare: Callable[[], object] = lambda: None,
) -> int:
    command = command_line(workspace.settings, *arguments)
    return start_process(
        folder, command, environment_of(workspace.settings), what=kind, prepare=prepare
    )


def read_about(folder: JobFolder) -> JsonObject:
    """Return the record of a job's start: kind, arguments, started_at and more. Raise NotFound;
    InputError if it was damaged."""
    about = read_json(folder.about, _ABOUT, _MORE)
    if about is None:
        raise NotFound(
            f"{folder.path}: no job was started here by a page, expected {folder.about.name}"
        )
    return about


def find_about(folder: JobFolder) -> Mapping[str, Any]:
    """Return the record of a job's start; {} for a job that is not a command, or if it was
    damaged."""
    try:
        return read_about(folder)
    except DeskError:
        return {}


def find_unsettled(workspace: Workspace) -> list[JobFolder]:
    """Return the jobs whose crash is not recorded yet; none in read-only mode."""
    if workspace.settings.read_only:
        return []
    return [folder for folder in list_folders(workspace) if state.is_unsettled(folder)]


def settle_crashed(workspace: Workspace) -> list[JobFolder]:
    """Record the crash of every crashed job; return those jobs. Failures are logged and tried again
    the next time."""
    settled = []
    for folder in find_unsettled(workspace):
        try:
            if state.settle(folder):
                settled.append(folder)
        except (DeskError, OSError) as error:
            log.record_error(f"settling job {folder.path}", error)
    return settled


def with_present_states(workspace: Workspace, recorded: Sequence[Run]) -> list[Run]:
    """Return runs of the store, each in its present state.

    `done` and `failed` still count the rows in the store: those that can be read, scored and shown.
    Workers have finished more while the run is not settled, and for good in a read-only workspace.
    """
    return [_with_present_state(workspace, run) for run in recorded]


def _with_present_state(workspace: Workspace, run: Run) -> Run:
    folder = workspace.run_folder(run.id)
    if not folder.exists:  # no worker of this workspace made it
        return run
    try:
        state, cause = state_of(folder)
    except DeskError as error:
        log.record_error(f"run {run.id}", error)
        return replace(
            run, status="crashed", cause=f"the files of its worker cannot be read: {error}"
        )
    return (
        run
        if (state, cause) == (run.status, run.cause)
        else replace(run, status=state, cause=cause)
    )


def unsettled_runs(workspace: Workspace, recorded: Sequence[Run]) -> list[Run]:
    """Return the runs without a live worker whose state or rows the store lacks; none in read-only
    mode."""
    if workspace.settings.read_only:
        return []
    present = with_present_states(workspace, recorded)
    return [
        run
        for run, now in zip(recorded, present, strict=True)
        if now.status not in LIVE_STATES
        and (
            now.status != run.status
            or _has_more_rows(workspace.run_folder(run.id), run.folded_bytes)
        )
    ]


def _has_more_rows(folder: RunFolder, start: int) -> bool:
    """Return whether a journal has a whole line behind this byte."""
    if not folder.rows.exists() or folder.rows.stat().st_size <= start:
        return False
    with folder.rows.open("rb") as journal:
        journal.seek(start)
        return journal.readline().endswith(b"\n")


class SettleOnce:
    """Settles dead jobs before a workspace's store is first used."""

    def __init__(self) -> None:
        self._is_settled = False

    def __call__(self, workspace: Workspace) -> None:
        if not self._is_settled:
            self._is_settled = True
            settle_ended(replace(workspace, before_use=None))
            if workspace.remark is not None and workspace.store.recovered:
                workspace.remark(workspace.store.recovered)


def settle_ended(workspace: Workspace) -> list[Run]:
    """Update the store for every run without a live worker, and record which other jobs crashed;
    return those runs.

    Write nothing in read-only mode. Failures are logged and tried again the next time, so that
    reading runs still works.
    """
    settle_crashed(workspace)
    with workspace.store.read() as db:
        recorded = runs.list_all(db)
    unsettled = unsettled_runs(workspace, recorded)
    if not unsettled:
        return []
    from core.runs import run_control  # imports the methods, which most readers do not need

    settled = []
    for run in unsettled:
        try:
            settled.append(run_control.settle(workspace, run.id))
        except StoreBusy as error:
            log.record_error(f"settling run {run.id}", error)
            break
        except DeskError as error:
            log.record_error(f"settling run {run.id}", error)
    return settled
