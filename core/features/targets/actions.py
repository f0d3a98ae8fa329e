"""Target rankings of this workspace: train, evaluate, find, delete. Each lies in data/targets/NAME.

request.json   the request; written first, never changed
data.json      the split, notes on the cells, and their hash
models/NAME/   a fitted model: safetensors and a manifest
evaluations/KEY/  table.parquet, then evaluation.json with its description

The training process writes its own files here too: heartbeat, control, log.txt, and last done.json.
A page trains in a separate process, which outlives the page and reports its progress.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd

from core.base.errors import InputError, NotFound, StateError
from core.base.fields.record import identity_of
from core.base.file_io import read_file, remove_folder, replace_file
from core.base.records import from_json, to_json
from core.base.texts import list_known, list_some
from core.features.targets.evaluate import (
    Evaluation,
    EvaluationRequest,
    TrainingRequest,
    check_request,
    evaluate,
    read_candidates,
)
from core.features.targets.expression import ReadCells, read_source
from core.features.targets.models.base import (
    MANIFEST,
    FitSettings,
    FittedModel,
    Report,
    fit_model,
    load_model,
    read_manifest,
)
from core.features.targets.splits import Split, draw_split
from core.runs.jobs import overview, work
from core.runs.jobs.folder import JobFolder, read_json, write_json
from core.runs.jobs.state import JobStatus, status_of
from core.runs.workspace import Workspace

WHAT: Final = "target ranking"
MAX_BYTES: Final = 1 << 30
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """What models are trained on. notes: on the cells. sha256: of the cells."""

    split: Split
    notes: tuple[str, ...]
    sha256: str


class RankingFolder(JobFolder):
    """The folder with a target ranking's files."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The ranking's name."""
        return self.key

    @property
    def exists(self) -> bool:
        return (self.path / "request.json").is_file()

    def create(self, request: TrainingRequest) -> None:
        """Create the folder with the request."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "request.json", to_json(request))

    def status(self) -> JobStatus:
        """Return the state of its training."""
        return status_of(self)

    def request(self) -> TrainingRequest:
        """Return the request. Raise NotFound without one."""
        return self._read("request.json", TrainingRequest)

    def data(self) -> TrainedOn:
        """Return what the models are trained on. Raise NotFound before the cells are read."""
        return self._read("data.json", TrainedOn)

    def split(self) -> Split:
        """Return the split. Raise NotFound before it is drawn."""
        return self.data().split

    def _read(self, name: str, kind: type[T]) -> T:
        file = self.path / name
        values = read_json(file)
        if values is None:
            raise NotFound(f"{self.path}: has no {name}")
        return from_json(kind, values, str(file))

    def refuse_other_cells(self, sha256: str) -> None:
        """Raise InputError if this is not the hash of the cells on which the training began."""
        if self.data().sha256 != sha256:
            raise InputError(
                f"{self.request().source.name}: its cells are not those on which the training of"
                f" {self.key} began, expected the same; train anew under another name, or with"
                " --replace"
            )

    def model(self, name: str) -> Path:
        """Return the folder of a fitted model."""
        return self.path / "models" / name

    def saved_models(self) -> tuple[str, ...]:
        """Return the names of the completely saved models, sorted."""
        return tuple(sorted(path.parent.name for path in self.path.glob(f"models/*/{MANIFEST}")))

    def load_models(self) -> dict[str, FittedModel]:
        """Return the fitted models by name. Raise NotFound if there is none; MissingPackage."""
        names = self.saved_models()
        if not names:
            raise NotFound(
                f"target ranking {self.key}: no model is fitted, expected at least one; train it"
                " first"
            )
        return {name: load_model(self.model(name)) for name in names}

    def manifests(self) -> dict[str, dict[str, Any]]:
        """Return the manifests of the fitted models by name."""
        return {name: read_manifest(self.model(name)) for name in self.saved_models()}

    def write_evaluation(self, result: Evaluation) -> None:
        """Write an evaluation, its description last. An earlier evaluation of the same settings is
        replaced."""
        place = self.path / "evaluations" / result.key
        place.mkdir(parents=True, exist_ok=True)
        (place / "evaluation.json").unlink(missing_ok=True)
        content = result.table.to_parquet(None, index=False)
        replace_file(place / "table.parquet", content, durable=True)
        write_json(place / "evaluation.json", {**result.settings, "ceilings": result.ceilings})

    def evaluations(self) -> list[Evaluation]:
        """Return the complete evaluations, the latest last."""
        files = self.path.glob("evaluations/*/evaluation.json")
        read = []
        for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.parent.name)):
            table = pd.read_parquet(BytesIO(read_file(file.with_name("table.parquet"), MAX_BYTES)))
            facts = read_json(file) or {}
            read.append(Evaluation(facts, facts.pop("ceilings"), table))
        return read

    def remove(self) -> None:
        """Delete the folder if it belongs to a target ranking."""
        if self.exists:
            remove_folder(self.path)


def list_all(workspace: Workspace) -> Sequence[RankingFolder]:
    """Return every target ranking of the workspace, the latest started first."""
    folders = map(RankingFolder, (workspace.settings.data / "targets").glob("[!.]*"))
    return sorted(
        (folder for folder in folders if folder.exists),
        key=lambda folder: ((folder.path / "request.json").stat().st_mtime, folder.key),
        reverse=True,
    )


def find(workspace: Workspace, name: str | None = None) -> RankingFolder:
    """Return the target ranking of a name; without a name, the latest started. Raise NotFound."""
    folders = list_all(workspace)
    for folder in folders:
        if name in (None, folder.key):
            return folder
    names = list_known(name or "", [folder.key for folder in folders])
    hint = names if folders else f"{names}; try: perturbdesk targets train --simulate"
    raise NotFound(f"target ranking{f' {name}' if name else ''}: not in this workspace, {hint}")


def _find_same(workspace: Workspace, request: TrainingRequest) -> RankingFolder | None:
    """Return the target ranking of a request's name if it was asked for with the same options; None
    for any other."""
    for folder in list_all(workspace):
        if folder.key == request.name and identity_of(folder.request()) == identity_of(request):
            return folder
    return None


def _refuse_live(folder: RankingFolder) -> None:
    if folder.status().is_live:
        raise StateError(f"target ranking {folder.key}: running, expected one that is not running")


def create(
    workspace: Workspace, request: TrainingRequest, *, replace: bool = False
) -> RankingFolder:
    """Create the folder of a target ranking without any fitted model.

    Raise InputError for a wrong request, and StateError if the name is taken, unless `replace`.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    if not _NAME.fullmatch(request.name):
        raise InputError(
            f"name of a target ranking: got {request.name!r}, expected up to 64 letters, digits and"
            " . _ -"
        )
    check_request(request)
    folder = RankingFolder(workspace.settings.data / "targets" / request.name)
    if folder.exists:
        _refuse_live(folder)
        if not replace:
            raise StateError(
                f"target ranking {request.name}: the name is taken by a ranking with other options;"
                " choose another, or use --replace"
            )
    with workspace.change("train target ranking", request.name) as (_, detail):
        detail |= {"models": ", ".join(request.models), "cells": request.source.name}
        folder.remove()
        folder.create(request)
    return folder


def evaluate_saved(
    workspace: Workspace,
    name: str,
    request: EvaluationRequest,
    report: Report = lambda _share, _what: None,
) -> Evaluation:
    """Evaluate the fitted models of a target ranking and keep the table.

    The cells are read again from where they came. Raise NotFound, InputError for cells that are
    gone or others, and StateError while it is being trained.
    """
    workspace.refuse_if_read_only("evaluate target ranking", name)
    folder = find(workspace, name)
    _refuse_live(folder)
    models, split, training = folder.load_models(), folder.split(), folder.request()
    pools = None if request.candidates is None else read_candidates(request.candidates, split.test)
    report(0.0, "reading the cells")
    cells = read_source(training.source).cells
    folder.refuse_other_cells(cells.sha256())
    result = evaluate(models, cells, split, request, training.seed, pools, report)
    with workspace.change("evaluate target ranking", name) as (_, detail):
        folder.write_evaluation(result)
        detail |= {
            "mask": request.mask,
            "unit": request.unit,
            "candidates": result.settings["pool"],
        }
    return result


def delete(workspace: Workspace, name: str) -> None:
    """Delete a target ranking with its models and evaluations. Raise NotFound, and StateError while
    it is being trained."""
    workspace.refuse_if_read_only("delete target ranking", name)
    folder = find(workspace, name)
    _refuse_live(folder)
    with workspace.change("delete target ranking", name) as (_, detail):
        detail |= {"models": ", ".join(folder.saved_models())}
        folder.remove()


def start_apart(workspace: Workspace, request: TrainingRequest) -> RankingFolder:
    """Start the training of a request in a separate process.

    One of that name with the same options is resumed, or returned if it is done. Raise InputError
    for a wrong request, StateError if the name is taken or the process ends before its first
    heartbeat.
    """
    if _find_same(workspace, request) is not None:
        return resume(workspace, request.name)
    folder = create(workspace, request)
    overview.start(workspace, folder, WHAT, ("targets", "work", folder.key))
    return folder


def resume(workspace: Workspace, name: str) -> RankingFolder:
    """Resume a failed or crashed training after its finished models. A live or finished one is
    returned unchanged."""
    workspace.refuse_if_read_only("resume target ranking", name)
    folder = find(workspace, name)
    status = folder.status()
    if not status.is_live and status.state != "done":
        _log_resumption(workspace, folder)
        overview.start(workspace, folder, WHAT, ("targets", "work", name))
    return folder


def _log_resumption(workspace: Workspace, folder: RankingFolder) -> None:
    with workspace.change("resume target ranking", folder.key) as (_, detail):
        detail |= {"models": ", ".join(folder.saved_models())}


def train(
    workspace: Workspace,
    request: TrainingRequest,
    say: Callable[[str], object],
    *,
    replace: bool = False,
) -> RankingFolder:
    """Train and evaluate every model of a request in this process; `say` receives the progress.

    One of that name with the same options is resumed after its finished models; a finished one is
    returned unchanged. Cells, split and options are checked before anything is written. Raise
    InputError, StateError, MissingPackage.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    folder = None if replace else _find_same(workspace, request)
    if folder is not None and folder.status().state == "done":
        say(f"{request.name}: exists already with the same options; --replace trains it again")
        return folder
    prepared = prepare(request)
    if folder is None:
        folder = create(workspace, request, replace=replace)
    else:
        _log_resumption(workspace, folder)
        trained = ", ".join(folder.saved_models()) or "no model"
        say(f"{folder.key}: continues; trained already: {trained}")
    return work_on(workspace, folder.key, say, prepared)


def work_on(
    workspace: Workspace,
    name: str,
    say: Callable[[str], object],
    prepared: tuple[ReadCells, Split] | None = None,
) -> RankingFolder:
    """Train the remaining models of a folder in this process. prepared: of its request. Raise what
    `train` raises."""
    workspace.refuse_if_read_only("train target ranking", name)
    folder = find(workspace, name)
    with work.work_on(folder, WHAT) as reporter:

        def report(share: float, what: str) -> None:
            reporter.report(share, what)
            say(f"{100 * share:3.0f}% {what}")

        report(0.0, "reading the cells")
        train_models(folder, *(prepared or prepare(folder.request())), report)
    return folder


def prepare(request: TrainingRequest) -> tuple[ReadCells, Split]:
    """Return the cells of a request and its split, published or drawn, without writing anything.

    Raise InputError for wrong settings, cells or split, and MissingPackage.
    """
    check_request(request)
    read = read_source(request.source)
    split = request.split or draw_split(read.cells.perturbed, request.kind, request.seed)
    missing = sorted(set(split.conditions) - set(read.cells.perturbed))
    if missing:
        raise InputError(
            f"{request.source.name}: {len(missing):,} conditions of the split {split.name} have no"
            f" cells: {list_some(missing)}"
        )
    return read, split


def train_models(folder: RankingFolder, read: ReadCells, split: Split, report: Report) -> None:
    """Fit the missing models of a folder's request, then evaluate all models on averaged
    conditions.

    Each is saved as soon as it is fitted, so a killed training can continue. report: called with
    the share that is done and the current step. Raise InputError for other cells than those that a
    model here was trained on, and the errors of the models.
    """
    request, existing = folder.request(), folder.saved_models()
    data = TrainedOn(split, read.notes, read.cells.sha256())
    if existing:
        folder.refuse_other_cells(data.sha256)
    write_json(folder.path / "data.json", to_json(data))
    training = read.cells.of_conditions(split.train)
    validation = read.cells.of_conditions(split.validation)
    for at, (name, options) in enumerate(request.models.items()):
        if name in existing:
            continue

        def report_model(share: float, what: str, at: int = at, name: str = name) -> None:
            report((at + share) / len(request.models), f"{name}: {what}")

        settings = FitSettings(options, request.seed)
        fit_model(name, training, validation, settings, report_model).save(folder.model(name))
    report(1.0, "evaluating")
    folder.write_evaluation(
        evaluate(folder.load_models(), read.cells, split, EvaluationRequest(), request.seed)
    )
