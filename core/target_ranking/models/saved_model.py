"""The folder of a fitted model: its arrays as safetensors, and the manifest.

The manifest is written last, so a folder with one is complete. There is no pickle; bytes of other libraries are saved as uint8
arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from core.errors import InputError, NotFound
from core.file_io import read_file, replace_file
from core.hashes import sha256_of
from core.jobs.folder import write_json
from core.texts import parse_json
from core.version import describe

ARRAYS: Final = "model.safetensors"
MANIFEST: Final = "manifest.json"
FORMAT: Final = "perturbdesk-ranking-model"
VERSION: Final = 1
MOST_BYTES: Final = 1 << 34
MOST_MANIFEST_BYTES: Final = 1 << 26
_HISTORY: Final = "history."

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SavedModel:
    """The contents of a folder. model: the name of the model. facts: plain data about its origin."""

    model: str
    genes: tuple[str, ...]
    facts: Mapping[str, Any]
    arrays: Arrays
    history: pd.DataFrame
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a saved model. sha256: hash of its arrays."""

    model: str
    genes: tuple[str, ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    sha256: str


def write_model(folder: Path, saved: SavedModel) -> None:
    """Write a model to a folder, creating it if missing; an earlier manifest is removed first. Raise OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    columns = {f"{_HISTORY}{name}": saved.history[name].to_numpy(np.float64) for name in saved.history}
    content = save({name: np.ascontiguousarray(array) for name, array in (*saved.arrays.items(), *columns.items())})
    replace_file(folder / ARRAYS, content, durable=True)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "model": saved.model,
        "genes": list(saved.genes),
        "facts": dict(saved.facts),
        "notes": list(saved.notes),
        "history": list(saved.history.columns),
        "code": describe(),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": {ARRAYS: sha256_of(content)},
    }
    write_json(folder / MANIFEST, manifest)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a saved model. Raise NotFound without one, and InputError for one of another format."""
    path = folder / MANIFEST
    if not path.is_file():
        raise NotFound(f"{folder}: has no {MANIFEST}, so it is not a complete ranking model")
    try:
        values = parse_json(read_file(path, MOST_MANIFEST_BYTES))
        if (values["format"], values["version"]) != (FORMAT, VERSION):
            raise InputError(
                f"{path}: {values['format']!r} of version {values['version']!r}, expected {FORMAT} of version {VERSION}"
            )
        texts = {name: tuple(map(str, values[name])) for name in ("genes", "notes", "history")}
        return Manifest(
            values["model"], texts["genes"], dict(values["facts"]), texts["notes"], texts["history"], values["files"][ARRAYS]
        )
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise InputError(f"{path}: is not the manifest of a ranking model ({type(error).__name__}: {error})") from error


def read_model(folder: Path, model: str) -> SavedModel:
    """Return the model written by `write_model`. Raise NotFound, and InputError for another model or for changed arrays."""
    manifest = read_manifest(folder)
    if manifest.model != model:
        raise InputError(f"{folder}: holds a model {manifest.model!r}, expected {model}")
    content = read_file(folder / ARRAYS, MOST_BYTES)
    if sha256_of(content) != manifest.sha256:
        raise InputError(f"{folder / ARRAYS}: is not the file that its {MANIFEST} names; save the model again")
    try:
        arrays = load(content)
    except SafetensorError as error:
        raise InputError(f"{folder / ARRAYS}: damaged safetensors ({error})") from error
    history = pd.DataFrame({name: arrays.pop(f"{_HISTORY}{name}") for name in manifest.columns})
    return SavedModel(model, manifest.genes, manifest.facts, arrays, history, manifest.notes)
