"""What a merged model was made from; written when everything else of its folder is there, so a folder with one is complete."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from core.errors import InputError, NotFound
from core.file_io import sha256_of_file
from core.finetune.spec import FinetuneSpec
from core.jobs.folder import read_json, write_json
from core.version import describe

NAME: Final = "manifest.json"
FORMAT, VERSION = "perturbdesk-finetune", 1


def write_manifest(folder: Path, spec: FinetuneSpec, made: Mapping[str, Any]) -> None:
    """Writes the manifest of a folder whose other files are complete. made: what the process that trained knows."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "key": spec.key,
        "base": spec.base,
        "dataset": {"id": spec.dataset, "name": spec.dataset_name, "sha256": spec.data_sha256},
        "rows": {"train": spec.train, "validation": spec.validation, "left_out": spec.left_out},
        "settings": dict(spec.settings),
        "code": describe(),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **made,
        "files": hashes_of(folder),
    }
    write_json(folder / NAME, values)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a merged model. Raises NotFound without one, InputError for another file or missing parts."""
    values = read_json(folder / NAME)
    if values is None:
        raise NotFound(f"{folder}: has no {NAME}, so it is no complete fine-tune")
    if values.get("format") != FORMAT or values.get("version") != VERSION:
        raise InputError(f"{folder / NAME}: is no manifest of a fine-tune of version {VERSION}")
    missing = [name for name in values["files"] if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: lacks {missing[0]}, which its {NAME} names")
    return values


def hashes_of(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of every file in a folder by its path, without the manifest itself."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file != folder / NAME)
    return {str(file.relative_to(folder)): sha256_of_file(file) for file in files}
