"""Labels of a file of cells, made in a process of its own, which a page starts."""

from __future__ import annotations

from core.actions import jobs
from core.actions.cells import KIND, job_of
from core.actions.page_imports import check_typed_path
from core.actions.workspace import Workspace
from core.cells.screen import Description, LabelSettings, describe_cells
from core.errors import InputError, StateError
from core.fields.record import arguments_of
from core.jobs.folder import JobFolder, read_json
from core.jobs.state import last_heartbeat, status_of
from core.store import datasets
from core.texts import check_name


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
    if any(dataset_of(folder) == name and status_of(folder).is_live for folder in jobs.list_folders(workspace, KIND)):
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


def dataset_of(folder: JobFolder) -> str:
    """Return the name of the dataset that a job makes; "" where its files do not say."""
    try:
        about = read_json(folder.about) or last_heartbeat(folder) or {}
    except InputError:
        return ""
    return str(about.get("dataset", ""))
