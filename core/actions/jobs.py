"""Jobs of this workspace: where their folders lie, and what died while nobody looked.

A job that is a command of its own lies in data/jobs/KIND/KEY; fine-tunes and target rankings keep their places.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from core import log
from core.actions.workspace import Workspace
from core.environment import environment_of
from core.errors import DeskError, NotFound
from core.jobs import state
from core.jobs.folder import JobFolder, read_json, write_json
from core.jobs.start import command_line
from core.jobs.start import start as start_process

_FOLDER = "jobs"
_ELSEWHERE = ("finetune", "targets")


def folder_of(workspace: Workspace, kind: str, key: str) -> JobFolder:
    """Return the folder of a job, which may not be there yet."""
    return JobFolder(workspace.settings.data / _FOLDER / kind / key)


def list_folders(workspace: Workspace, kind: str | None = None) -> list[JobFolder]:
    """Return the folders of the jobs of a kind, or of all, for which a process was asked once."""
    data = workspace.settings.data
    places = [*(data / _FOLDER).glob(f"{kind or '*'}/*")]
    if kind is None:
        places += [path for name in _ELSEWHERE for path in (data / name).glob("*")]
    return [folder for path in sorted(places) if (folder := JobFolder(path)).was_begun]


def start(workspace: Workspace, folder: JobFolder, kind: str, arguments: Sequence[str], **about: Any) -> int:
    """Start a command as a job in a process that outlives this one; return its process id, or that of the one that is on it.

    about: what else `about` returns later. Raise StateError, with the last lines of its log, if it ends before it begins.
    """
    workspace.refuse_if_read_only(kind, folder.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    write_json(folder.about, {"kind": kind, "arguments": list(arguments), "started_at": time.time(), **about})
    return _start(workspace, folder, kind, arguments)


def resume(workspace: Workspace, folder: JobFolder) -> int:
    """Start the command of a job again, unless a process is on it. Raise NotFound for a job that is no command."""
    workspace.refuse_if_read_only("resume job", folder.key)
    about = read_about(folder)
    return _start(workspace, folder, about["kind"], about["arguments"])


def _start(workspace: Workspace, folder: JobFolder, kind: str, arguments: Sequence[str]) -> int:
    command = command_line(workspace.settings, *arguments)
    return start_process(folder, command, environment_of(workspace.settings), what=kind)


def read_about(folder: JobFolder) -> dict[str, Any]:
    """Return what was written down of a job when it was started: kind, arguments, started_at and more. Raise NotFound."""
    about = read_json(folder.about)
    if about is None:
        raise NotFound(f"{folder.path}: no job was started here by a page, expected {folder.about.name}")
    return about


def find_unsettled(workspace: Workspace) -> list[JobFolder]:
    """Return the jobs that have crashed and of which nobody recorded it; none in read-only mode."""
    if workspace.settings.read_only:
        return []
    return [folder for folder in list_folders(workspace) if state.is_unsettled(folder)]


def settle_crashed(workspace: Workspace) -> list[JobFolder]:
    """Record of every job that has crashed that it has; return those. What fails is in the log and tried again the next time."""
    settled = []
    for folder in find_unsettled(workspace):
        try:
            if state.settle(folder):
                settled.append(folder)
        except (DeskError, OSError) as error:
            log.record_error(f"settling job {folder.path}", error)
    return settled
