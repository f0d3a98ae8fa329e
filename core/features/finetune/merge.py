"""The merged model with its tokenizer in a folder that a server reads, whole or not at all.

A tokenizer's settings as older releases of transformers, such as a server's, can read them.

The manifest with the sources of a merged model is written last, so a folder with a manifest is
complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from core.base.environment import describe
from core.base.errors import InputError, NotFound, StateError
from core.base.file_io import part_of, replace_file, sync_folder
from core.base.hashes import sha256_of_file
from core.features.finetune.spec import FinetuneSpec
from core.runs.jobs.folder import read_json, write_json

NAME: Final = "manifest.json"
FORMAT, VERSION = "perturbdesk-finetune", 1


CONFIG = "tokenizer_config.json"
_FIELD = "extra_special_tokens"


def refuse_occupied(out: Path) -> None:
    """Raise StateError if anything but an empty folder is in the way at `out`."""
    if (out.is_dir() and not any(out.iterdir())) or not (out.exists() or out.is_symlink()):
        return
    what = "holds other files" if out.is_dir() else "is a file"
    raise StateError(f"{out}: {what}, expected no such folder or an empty one")


def write_merged(adapted: Any, tokenizer: Any, spec: FinetuneSpec, made: Mapping[str, Any]) -> Path:
    """Merge the adapter into its model and write both with the tokenizer; return the folder.

    Everything is written beside the folder and then renamed, so that the folder exists only when it
    is complete. Raise StateError if another file or folder exists there by then.
    """
    out = Path(spec.out)
    refuse_occupied(out)
    with part_of(out, is_folder=True) as unfinished:
        adapted.merge_and_unload().save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        make_readable(unfinished)
        write_manifest(unfinished, spec, made)
        refuse_occupied(out)
        unfinished.rename(out)
    sync_folder(out.parent)
    return out


def make_readable(folder: Path) -> None:
    """Rewrite a tokenizer's settings in which extra special tokens are a list, which older releases
    refuse."""
    values = read_json(folder / CONFIG)
    if values is not None and isinstance(values.get(_FIELD), list):
        values[_FIELD] = name_tokens(values[_FIELD])
        replace_file(folder / CONFIG, json.dumps(values, indent=2, ensure_ascii=False).encode())


def name_tokens(tokens: Sequence[str | Mapping[str, Any]]) -> dict[str, Any]:
    """Return name → token, in the same order: "<|im_start|>" becomes im_start; repeated names get a
    number."""
    named: dict[str, Any] = {}
    for token in tokens:
        text = str(token["content"]) if isinstance(token, Mapping) else token
        name = stem = re.sub(r"\W+", "_", text).strip("_") or "token"
        number = 2
        while name in named:
            name, number = f"{stem}_{number}", number + 1
        named[name] = token
    return named


def write_manifest(folder: Path, spec: FinetuneSpec, made: Mapping[str, Any]) -> None:
    """Write the manifest of a folder whose other files are complete. made: the facts known to the
    training process."""
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
    """Return the manifest of a merged model. Raise NotFound without one, InputError for another
    file or missing parts."""
    values = read_json(folder / NAME)
    if values is None:
        raise NotFound(f"{folder}: has no {NAME}, so it is not a complete fine-tune")
    if values.get("format") != FORMAT or values.get("version") != VERSION:
        raise InputError(f"{folder / NAME}: is not a manifest of a fine-tune of version {VERSION}")
    missing = [name for name in values["files"] if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: lacks {missing[0]}, which its {NAME} names")
    return values


def hashes_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder by its path, without the manifest itself."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file != folder / NAME)
    return {str(file.relative_to(folder)): sha256_of_file(file) for file in files}
