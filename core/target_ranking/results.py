"""The folder of a target ranking: the request, the fitted models, and their evaluations.

request.json   the request; written first, never changed
data.json      the split, and the choice of cells
models/NAME/   a fitted model: safetensors and a manifest
evaluations/KEY/  table.parquet, genes.parquet, then evaluation.json with their description
manifest.json  the fitted models; written last, so a folder with one is complete

The training process writes its own files here too: heartbeat, control, log.txt, done.json, checkpoints.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core.errors import InputError, NotFound
from core.file_io import read_file, replace_file
from core.hashes import KEY_DIGITS, sha256_of
from core.jobs.folder import read_json, write_json
from core.records import from_json, to_json
from core.target_ranking.evaluate import COLUMNS, GENE_COLUMNS, Evaluation, EvaluationSettings
from core.target_ranking.models.base import FittedModel, load_model
from core.target_ranking.models.saved_model import MANIFEST as MODEL_MANIFEST
from core.target_ranking.request import TrainingRequest
from core.target_ranking.splits import Split

MANIFEST: Final = "manifest.json"
MOST_BYTES: Final = 1 << 30
ALL_GENES: Final = "all genes"


@dataclass(frozen=True, slots=True)
class SavedEvaluation:
    """One evaluation saved in a folder. facts: plain data on what was scored. table, genes: as in `Evaluation`."""

    key: str
    facts: Mapping[str, Any]
    table: pd.DataFrame
    genes: pd.DataFrame


@dataclass(frozen=True, slots=True)
class RankingFolder:
    """The folder with a target ranking's files."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def exists(self) -> bool:
        return (self.path / "request.json").is_file()

    @property
    def is_complete(self) -> bool:
        return (self.path / MANIFEST).is_file()

    def create(self, request: TrainingRequest) -> None:
        """Create the folder with the request."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "request.json", request.as_json())

    def request(self) -> TrainingRequest:
        """Return the request. Raise NotFound without one."""
        return TrainingRequest.from_json(_read(self.path / "request.json"))

    def write_data(self, split: Split, facts: Mapping[str, Any], notes: tuple[str, ...]) -> None:
        """Write the split and the choice of cells."""
        write_json(self.path / "data.json", {"split": to_json(split), "facts": dict(facts), "notes": list(notes)})

    def split(self) -> Split:
        """Return the split. Raise NotFound before it is drawn."""
        return from_json(Split, _read(self.path / "data.json")["split"], f"{self.path / 'data.json'}: split")

    def data(self) -> Mapping[str, Any]:
        """Return facts and notes on the cells. Raise NotFound before the cells are read."""
        return _read(self.path / "data.json")

    def model(self, name: str) -> Path:
        """Return the folder of a fitted model."""
        return self.path / "models" / name

    def saved_models(self) -> tuple[str, ...]:
        """Return the names of the completely saved models, sorted."""
        return tuple(sorted(path.parent.name for path in self.path.glob(f"models/*/{MODEL_MANIFEST}")))

    def load_models(self) -> dict[str, FittedModel]:
        """Return the fitted models by name. Raise NotFound if there is none; MissingPackage."""
        names = self.saved_models()
        if not names:
            raise NotFound(f"target ranking {self.name}: no model is fitted, expected at least one; train it first")
        return {name: load_model(self.model(name)) for name in names}

    def write_manifest(self, facts: Mapping[str, Any]) -> None:
        """Write the manifest, which records that every model is complete."""
        write_json(self.path / MANIFEST, {"models": list(self.saved_models()), **facts})

    def write_evaluation(self, settings: EvaluationSettings, pool: str, found: Evaluation) -> SavedEvaluation:
        """Write an evaluation, its description last.

        An earlier evaluation of the same settings is replaced. pool: the name of the pool, ALL_GENES for no pool.
        """
        settled = {"mask": settings.mask, "unit": settings.unit, "seed": settings.seed, "ks": list(settings.ks), "pool": pool}
        key = sha256_of(json.dumps(settled, sort_keys=True))[:KEY_DIGITS]
        place = self.path / "evaluations" / key
        place.mkdir(parents=True, exist_ok=True)
        (place / "evaluation.json").unlink(missing_ok=True)
        for name, table in (("table", found.table), ("genes", found.genes)):
            replace_file(place / f"{name}.parquet", _parquet(table), durable=True)
        facts = {**settled, "ceilings": found.ceilings.steps(), "ranks_untrained": list(found.ranks_untrained)}
        write_json(place / "evaluation.json", facts)
        return SavedEvaluation(key, facts, found.table, found.genes)

    def evaluations(self) -> list[SavedEvaluation]:
        """Return the complete evaluations, the latest last."""
        places = [path.parent for path in self.path.glob("evaluations/*/evaluation.json")]
        places.sort(key=lambda place: ((place / "evaluation.json").stat().st_mtime_ns, place.name))
        return [_read_evaluation(place) for place in places]

    def history(self) -> pd.DataFrame:
        """Return the histories of the fitted models in one table, with a column model; other columns depend on the model."""
        found = {name: load_history(self.model(name)) for name in self.saved_models()}
        tables = [table.assign(model=name) for name, table in found.items() if len(table)]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"model": []})

    def remove(self) -> None:
        """Delete the folder if it belongs to a target ranking."""
        if self.exists:
            shutil.rmtree(self.path)


def load_history(folder: Path) -> pd.DataFrame:
    """Return the history of a saved model. Raise NotFound and InputError."""
    from core.target_ranking.models.saved_model import read_manifest, read_model

    return read_model(folder, read_manifest(folder).model).history


def list_folders(path: Path) -> list[RankingFolder]:
    """Return the target rankings in a folder, the latest started first."""
    found = [RankingFolder(entry) for entry in path.iterdir()] if path.is_dir() else []
    there = [folder for folder in found if folder.exists]
    return sorted(there, key=lambda folder: ((folder.path / "request.json").stat().st_mtime, folder.name), reverse=True)


def _read_evaluation(place: Path) -> SavedEvaluation:
    tables = {}
    for name, columns in (("table", COLUMNS), ("genes", GENE_COLUMNS)):
        tables[name] = pd.read_parquet(BytesIO(read_file(place / f"{name}.parquet", MOST_BYTES)))
        missing = set(columns) - set(tables[name].columns)
        if missing:
            raise InputError(f"{place / name}.parquet: lacks {', '.join(sorted(missing))}; evaluate again")
    return SavedEvaluation(place.name, _read(place / "evaluation.json"), tables["table"], tables["genes"])


def _parquet(table: pd.DataFrame) -> bytes:
    content = BytesIO()
    table.to_parquet(content, index=False)
    return content.getvalue()


def _read(file: Path) -> dict[str, Any]:
    values = read_json(file)
    if values is None:
        raise NotFound(f"{file.parent}: has no {file.name}")
    return values
