"""Labels of a file of cells, made in a process of its own: what was started, how far it is, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.actions import jobs
from core.actions.cells import KIND, job_of
from core.actions.page_imports import check_typed_path
from core.actions.workspace import Workspace
from core.cells.screen import Description, LabelSettings, describe_cells
from core.errors import InputError, StateError
from core.fields.record import arguments_of
from core.jobs.folder import JobFolder, last_line
from core.jobs.process import process_start
from core.jobs.state import LIVE_STATES, State, status_of
from core.store import datasets
from core.texts import check_name, parse_json

_EARLIER = "cells"  # in the workspace's cache: what version 0.1 started


@dataclass(frozen=True, slots=True)
class LabelJob:
    """One file that is or was labelled. dataset: the name of what it makes. last_line: how far it is, or why it ended early.
    can_resume: whether it can be started again as it was."""

    key: str
    dataset: str
    file: str
    started_at: float
    state: State
    last_line: str
    can_resume: bool = True


def describe_typed(workspace: Workspace, text: str, settings: LabelSettings, server_address: str | None) -> Description:
    """Returns what a file holds whose path a visitor typed. Raises as `check_typed_path` and `describe_cells`."""
    return describe_cells(check_typed_path(workspace, text, server_address), settings)


def start_labels(
    workspace: Workspace, text: str, name: str, settings: LabelSettings, server_address: str | None, context: str = ""
) -> None:
    """Starts `cells labels` on a file whose path a visitor typed, in a process that outlives this one.

    Raises as `describe_typed`, InputError for a name that cannot be one, and StateError if a dataset has that name or is being
    made under it.
    """
    workspace.refuse_if_read_only("cells labels", name)
    check_name("dataset", name)
    path = check_typed_path(workspace, text, server_address)
    describe_cells(path, settings)
    if any(job.dataset == name and job.state in LIVE_STATES for job in list_jobs(workspace)):
        raise StateError(f"cells labels: dataset {name!r} is being made")
    with workspace.store.read() as db:
        if any(dataset.name == name for dataset in datasets.list_all(db)):
            raise StateError(f"cells labels: dataset {name!r} exists; choose another name")
    arguments = (
        "cells",
        "labels",
        str(path),
        "--name",
        name,
        *arguments_of(settings),
        *(("--context", context) if context else ()),
    )
    jobs.start(workspace, job_of(workspace, path, name), KIND, arguments, dataset=name, file=path.name)


def resume(workspace: Workspace, key: str) -> None:
    """Starts again what failed or crashed, with the settings that it was started with; what a process is on stays as it is."""
    jobs.resume(workspace, jobs.folder_of(workspace, KIND, key))


def list_jobs(workspace: Workspace) -> list[LabelJob]:
    """Returns what was started from a page, the latest first; what cannot be read is left out."""
    here = [_read_job(folder) for folder in jobs.list_folders(workspace, KIND)]
    earlier = (workspace.settings.cache / _EARLIER).glob("*.json")
    with workspace.store.read() as db:
        made = {dataset.name for dataset in datasets.list_all(db)}
    found = [*here, *(_read_earlier(file, made) for file in earlier)]
    return sorted((job for job in found if job is not None), key=lambda job: -job.started_at)


def _read_job(folder: JobFolder) -> LabelJob | None:
    try:
        about, status = jobs.read_about(folder), status_of(folder)
    except InputError:  # NotFound among them: of a command that a person typed
        return None
    line = status.cause or str(status.said.get("what", ""))
    return LabelJob(folder.key, about["dataset"], about["file"], about["started_at"], status.state, line)


def _read_earlier(file: Path, made: set[str]) -> LabelJob | None:
    """Returns a job that version 0.1 started, which kept other files."""
    try:
        job = parse_json(file.read_bytes())
        name, pid = str(job["dataset"]), int(job["pid"])
        lives = job["born"] is not None and process_start(pid) == job["born"]
        line = last_line(file.with_suffix(".log"))
        state: State = "running" if lives else "done" if name in made and not line.startswith("error: ") else "failed"
        return LabelJob(file.stem, name, str(job["file"]), float(job["started_at"]), state, line, can_resume=False)
    except (OSError, ValueError, KeyError, TypeError):
        return None
