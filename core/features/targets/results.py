"""The folder of a target ranking: the request, the fitted models, and their evaluations.

request.json   the request; written first, never changed
data.json      the split, notes on the cells, and their hash
models/NAME/   a fitted model: safetensors and a manifest
evaluations/KEY/  table.parquet, genes.parquet, then evaluation.json with their description
checkpoints/NAME/  the state of a model in training

The training process writes its own files here too: heartbeat, control, log.txt, and last done.json.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core.base.errors import InputError, NotFound
from core.base.file_io import read_file, remove_folder, replace_file
from core.base.records import from_json, to_json
from core.base.texts import list_some
from core.features.targets.evaluate import Evaluation, EvaluationRequest, evaluate
from core.features.targets.models.base import (
    MANIFEST,
    FitSettings,
    FittedModel,
    Report,
    fit_model,
    load_model,
    read_manifest,
)
from core.features.targets.reading import ReadCells, read_source
from core.features.targets.request import TrainingRequest, check_request
from core.features.targets.splits import Split, draw_split
from core.runs.jobs.folder import JobFolder, read_json, write_json
from core.runs.jobs.state import JobStatus, status_of

CHECKPOINTS: Final = "checkpoints"
MAX_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """What models are trained on. notes: on the cells. sha256: of the cells."""

    split: Split
    notes: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class RankingFolder:
    """The folder with a target ranking's files."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def job(self) -> JobFolder:
        """The files that the process of its training shares with those who watch it."""
        return JobFolder(self.path)

    @property
    def exists(self) -> bool:
        return (self.path / "request.json").is_file()

    def status(self) -> JobStatus:
        """Return the state of its training."""
        return status_of(self.job)

    def create(self, request: TrainingRequest) -> None:
        """Create the folder with the request."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "request.json", to_json(request))

    def request(self) -> TrainingRequest:
        """Return the request. Raise NotFound without one."""
        file = self.path / "request.json"
        return from_json(TrainingRequest, _read(file), f"{file}")

    def data(self) -> TrainedOn:
        """Return what the models are trained on. Raise NotFound before the cells are read."""
        file = self.path / "data.json"
        return from_json(TrainedOn, _read(file), f"{file}")

    def split(self) -> Split:
        """Return the split. Raise NotFound before it is drawn."""
        return self.data().split

    def write_data(self, read: ReadCells, split: Split) -> None:
        """Write what the models are trained on.

        Raise InputError for other cells than those that a model or a checkpoint here was trained
        on.
        """
        data = TrainedOn(split, read.notes, read.cells.sha256())
        if self.saved_models() or (self.path / CHECKPOINTS).exists():
            self.refuse_other_cells(data.sha256)
        write_json(self.path / "data.json", to_json(data))

    def refuse_other_cells(self, sha256: str) -> None:
        """Raise InputError if this is not the hash of the cells on which the training began."""
        if self.data().sha256 != sha256:
            raise InputError(
                f"{self.request().source.name}: its cells are not those on which the training of"
                f" {self.name} began, expected the same; train anew under another name, or with"
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
                f"target ranking {self.name}: no model is fitted, expected at least one; train it"
                " first"
            )
        return {name: load_model(self.model(name)) for name in names}

    def write_evaluation(self, result: Evaluation) -> None:
        """Write an evaluation, its description last. An earlier evaluation of the same settings is
        replaced."""
        place = self.path / "evaluations" / result.key
        place.mkdir(parents=True, exist_ok=True)
        (place / "evaluation.json").unlink(missing_ok=True)
        for name, table in (("table", result.table), ("genes", result.genes)):
            content = BytesIO()
            table.to_parquet(content, index=False)
            replace_file(place / f"{name}.parquet", content.getvalue(), durable=True)
        write_json(place / "evaluation.json", {**result.settings, "ceilings": result.ceilings})

    def evaluations(self) -> list[Evaluation]:
        """Return the complete evaluations, the latest last."""
        places = [path.parent for path in self.path.glob("evaluations/*/evaluation.json")]
        places.sort(key=lambda place: ((place / "evaluation.json").stat().st_mtime_ns, place.name))
        read = []
        for place in places:
            tables = (
                pd.read_parquet(BytesIO(read_file(place / f"{name}.parquet", MAX_BYTES)))
                for name in ("table", "genes")
            )
            facts = _read(place / "evaluation.json")
            read.append(Evaluation(facts, facts.pop("ceilings"), *tables))
        return read

    def manifests(self) -> dict[str, dict[str, Any]]:
        """Return the manifests of the fitted models by name."""
        return {name: read_manifest(self.model(name)) for name in self.saved_models()}

    def remove(self) -> None:
        """Delete the folder if it belongs to a target ranking."""
        if self.exists:
            remove_folder(self.path)


def _read(file: Path) -> dict[str, Any]:
    values = read_json(file)
    if values is None:
        raise NotFound(f"{file.parent}: has no {file.name}")
    return values


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


def train(folder: RankingFolder, read: ReadCells, split: Split, report: Report) -> None:
    """Fit the missing models of a folder's request, then evaluate all models on averaged
    conditions.

    Each is saved as soon as it is fitted, so a killed training can continue. report: called with
    the share that is done and the current step. Raise the errors of `RankingFolder.write_data` and
    of the models.
    """
    request = folder.request()
    folder.write_data(read, split)
    training = read.cells.of_conditions(split.train)
    validation = read.cells.of_conditions(split.validation)
    existing, n_models = folder.saved_models(), len(request.models)
    for at, (name, options) in enumerate(request.models.items()):
        if name in existing:
            continue

        def report_model(share: float, what: str, at: int = at, name: str = name) -> None:
            report((at + share) / n_models, f"{name}: {what}")

        checkpoint = folder.path / CHECKPOINTS / name
        settings = FitSettings(options, request.seed, checkpoint)
        fit_model(name, training, validation, settings, report_model).save(folder.model(name))
        shutil.rmtree(checkpoint, ignore_errors=True)
    report(1.0, "evaluating")
    folder.write_evaluation(
        evaluate(folder.load_models(), read.cells, split, EvaluationRequest(), request.seed)
    )
