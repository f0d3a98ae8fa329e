"""What a person asks for to make a dataset of a screen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd

from core.base.errors import DeskError, InputError, StateError
from core.base.fields.record import arguments_of
from core.base.fields.setting import setting
from core.base.file_io import part_of
from core.base.hashes import KEY_DIGITS, sha256_of
from core.base.system_errors import explain
from core.base.texts import check_name
from core.base.types import Label, Pair
from core.evidence.knowledge_packs import organism_of
from core.features.cells.cell_formats import hash_cells, is_cell_file
from core.features.cells.changes_table import label_changes
from core.features.cells.differential_expression import compare_on_one_processor
from core.features.cells.label_record import ScreenFolder, marks_of, record_of
from core.features.cells.screen import (
    Description,
    LabelSettings,
    ScreenLabels,
    describe_cells,
    label_screen,
)
from core.features.importing.allowed_paths import check_typed_path
from core.features.importing.import_target import ImportedRows, folder_of, record_import
from core.features.importing.other_formats import refuse_other_format
from core.runs import packs
from core.runs.jobs import overview
from core.runs.jobs.folder import JobFolder
from core.runs.jobs.state import last_heartbeat, status_of
from core.runs.jobs.work import work_on
from core.runs.ray_cluster import Cluster
from core.runs.spec import Backend, ClusterAddress, check_backend
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, imports, pairs
from core.store.datasets import Dataset


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """A dataset to make. context: a description of the cells, for prompts. backend, ray_address:
    where perturbations are compared."""

    name: Annotated[
        str, setting("The new dataset's name.", title="Name of the dataset", changes_result=False)
    ] = ""
    settings: LabelSettings = field(default_factory=LabelSettings)
    context: Annotated[
        str,
        setting(
            "Description of the cells, for prompts.",
            title="Description of the cells, for prompts",
            missing="K562 cells",
            name="cells_context",
            option="--context",
            key="context",
            changes_result=False,
        ),
    ] = ""
    backend: Annotated[
        Backend,
        setting(
            "Compare perturbations in this process (local) or on a Ray cluster (ray).",
            title="Perturbations are compared on",
        ),
    ] = "local"
    ray_address: ClusterAddress = ""


KIND = "cells"  # of imports and of jobs


@dataclass(frozen=True, slots=True)
class LabelledCells:
    """The dataset made from a file. record: that of `core.features.cells.screen.record_of`, with
    the file and its SHA-256.

    new is False if the same file was labelled with the same settings before; then the dataset stays
    as it is, and `message` says so.
    """

    dataset: str
    record: Mapping[str, Any]
    new: bool = True
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Content:
    """What an import is known by: file and settings together."""

    sha256: str
    kind: str = KIND


def label_cells(
    workspace: Workspace,
    path: Path,
    request: LabelRequest,
    say: Callable[[str], None],
) -> LabelledCells:
    """Make a dataset from a file of cells; repeating it with the same file and settings changes
    nothing.

    say: called with lines of progress. Raise what `label_screen` and `Cluster` do, InputError for a
    name that cannot be one, and StateError if another dataset has it; then nothing is written.
    """
    name = request.name
    check_backend(request.backend, request.ray_address)
    workspace.settings.server_access.refuse_cluster(request.ray_address)
    workspace.refuse_if_read_only("cells labels", path.name)
    check_name("dataset", name)
    if not is_cell_file(path):
        refuse_other_format(path, path.name)
    elif request.settings.columns:
        raise InputError(
            f"{path.name}: --column names columns of a table, got cells; they take --perturbation"
            " and --control"
        )
    folder, is_new = job_of(workspace, path, name), False
    try:
        with work_on(folder, "labels of cells") as reporter:
            reporter.update(dataset=name)
            is_new = not folder.about.exists()
            if is_new:
                overview.write_about(folder, KIND, **_about(path, request))

            def report(line: str) -> None:
                reporter.update(what=line)
                say(line)

            return _label(workspace, path, request, report)
    except DeskError:
        if is_new:  # a command says what is wrong itself, and leaves nothing
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def identify(file_sha256: str, settings: LabelSettings) -> str:
    """Return the identity of the labels of a file, by which they are found again: a SHA-256."""
    return sha256_of(
        json.dumps({"file": file_sha256, "settings": settings.identity()}, sort_keys=True)
    )


def job_of(workspace: Workspace, path: Path, name: str) -> JobFolder:
    """Return the folder of the job that makes a dataset of a file, here or apart."""
    return overview.folder_of(workspace, KIND, sha256_of(f"{name}\n{path.name}")[:KEY_DIGITS])


def _label(
    workspace: Workspace, path: Path, request: LabelRequest, say: Callable[[str], None]
) -> LabelledCells:
    name, settings, file_sha256 = request.name, request.settings, hash_cells(path)
    content = _Content(identify(file_sha256, settings))
    with workspace.store.read() as db:
        earlier = imports.by_content(db, content.sha256)
        existing = None if earlier is None else datasets.find(db, str(earlier.dataset))
        if existing is None and any(dataset.name == name for dataset in datasets.list_all(db)):
            raise StateError(
                f"{path}: dataset {name!r} exists, with other content; choose another --name, or"
                " undo its import first"
            )
    if existing is not None and (folder := screen_folder(workspace, existing.id)).is_whole:
        message = (
            f"{path}: already labelled with these settings, as {existing.name}; nothing changed"
        )
        return LabelledCells(existing.name, folder.record(), False, message)
    if not is_cell_file(path):
        labels = label_changes(path, settings)
    elif request.backend == "local":
        labels = label_screen(path, settings, say)
    else:
        with closing(Cluster(request.ray_address)) as cluster:
            compare = partial(cluster.call_each, compare_on_one_processor)
            labels = label_screen(path, settings, say, compare)
    record = json.loads(
        json.dumps({"file": path.name, "sha256": file_sha256, **record_of(labels, settings)})
    )
    target = existing or Dataset(
        sha256_of(name)[:8],
        name,
        organism_of(labels.genes),
        request.context,
        "imported",
        marks=marks_of(record),
    )
    with workspace.change("label cells", str(path)) as (db, detail):
        detail |= {"name": target.name, **record}
        if existing is None:
            _write_rows(db, workspace, path, target, content, labels)
        final = screen_folder(workspace, target.id).path
        try:
            with part_of(final, is_folder=True) as staged:
                ScreenFolder(staged).write(labels, record)
                # of a dataset that was undone, or whose tables were damaged
                shutil.rmtree(final, ignore_errors=True)
                staged.rename(final)
        except OSError as error:
            raise explain(error, error.filename or final) from error
    if existing is not None:
        message = f"{path}: imported already as {existing.name}; its lost tables are restored"
        return LabelledCells(existing.name, record, False, message)
    return LabelledCells(name, record)


def _write_rows(
    db: Cursor,
    workspace: Workspace,
    path: Path,
    target: Dataset,
    content: _Content,
    labels: ScreenLabels,
) -> None:
    """Add the dataset, its rows and its genes, and the record of the import."""
    datasets.add(db, target)
    rows = [
        Pair(f"{pert}_{gene}", pert, gene, Label(label), split)
        for pert, gene, label, split in labels.pairs.itertuples(index=False, name=None)
    ]
    source = record_import(
        db,
        workspace.settings,
        content,
        str(path),
        ImportedRows(len(rows), labels.rejected, target.id),
    )
    pairs.add(db, target.id, rows, source)
    pairs.add_genes(db, [symbol for row in rows for symbol in (row.pert, row.gene)], {})
    packs.describe_genes(db, workspace.settings)
    changes.bump(db, "datasets")


def screen_folder(workspace: Workspace, dataset: str) -> ScreenFolder:
    """Return the folder of a dataset's (id) screen, which is there for those made of cells."""
    return ScreenFolder(folder_of(workspace.settings, KIND, dataset))


def control_expression_of(workspace: Workspace, dataset: str) -> pd.DataFrame | None:
    """Return statistics of a dataset's (id) genes in control cells: gene, mean, variance, detected;
    None if it was not made from cells. Raise StoreDamaged.
    """
    return screen_folder(workspace, dataset).genes()


def describe_file(path: Path, settings: LabelSettings) -> Description:
    """Return what a file of cells holds. Raise UnknownFormat for a known format that holds none,
    else as `describe_cells`."""
    if not is_cell_file(path):
        refuse_other_format(path, path.name)
    return describe_cells(path, settings)


def describe_typed(
    workspace: Workspace, text: str, settings: LabelSettings, server_address: str | None
) -> Description:
    """Return a description of the file at a typed path. Raise what `check_typed_path` and
    `describe_cells` raise."""
    return describe_cells(check_typed_path(workspace.settings, text, server_address), settings)


def start_labels(
    workspace: Workspace, text: str, request: LabelRequest, server_address: str | None
) -> None:
    """Start `cells labels` on a file whose path a visitor typed, in a process that outlives this
    one.

    Raise as `describe_typed`, InputError for a name that cannot be one, and StateError if a dataset
    has that name or is being made under it.
    """
    name = request.name
    workspace.refuse_if_read_only("cells labels", name)
    check_name("dataset", name)
    path = check_typed_path(workspace.settings, text, server_address)
    describe_cells(path, request.settings)
    if any(
        dataset_of(folder) == name and status_of(folder).is_live
        for folder in overview.list_folders(workspace, KIND)
    ):
        raise StateError(f"cells labels: dataset {name!r} is being made")
    with workspace.store.read() as db:
        if any(dataset.name == name for dataset in datasets.list_all(db)):
            raise StateError(f"cells labels: dataset {name!r} exists; choose another name")
    overview.start(workspace, job_of(workspace, path, name), KIND, **_about(path, request))


def _about(path: Path, request: LabelRequest) -> dict[str, Any]:
    """Return how a job is started, as of `jobs.start`."""
    arguments = ("cells", "labels", str(path.absolute()), *arguments_of(request))
    return {"arguments": arguments, "dataset": request.name, "file": path.name}


def dataset_of(folder: JobFolder) -> str:
    """Return the name of the dataset that a job makes; "" where its files do not say."""
    about = overview.find_about(folder) or last_heartbeat(folder) or {}
    return str(about.get("dataset", ""))
