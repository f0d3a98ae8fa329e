"""The files of gene spaces: written, recorded, read, restored and removed.

Vectors that can be rebuilt from the workspace lie in cache/spaces; imported ones, and those that an
encoder or a server made, lie in data/embeddings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.hashes import sha256_of
from core.base.texts import check_name, list_some
from core.embeddings.space import Space, save_space
from core.embeddings.symbol_matching import match_symbols
from core.features.importing.name_kinds import kind_of_names
from core.features.importing.spaces.load import load_space
from core.runs import packs
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, imports, pairs, spaces
from core.store.spaces import SpaceRecord

Spec = Mapping[str, Any]
MAX_NAME = 60  # characters
# kinds that are built from the workspace's own files in seconds
REBUILT = ("text", "network", "response", "coresponse")


def spec_of_loaded(space: Space, file: str) -> dict[str, Any]:
    """Return the specification of a space that came from a file."""
    built_from = (
        {"built_from": space.built_from_labels} if space.built_from_labels is not None else {}
    )
    return {"file": file, "sha256": space.sha256, **built_from}


def record_space(
    db: Cursor,
    settings: Settings,
    space: Space,
    kind: str,
    spec: Spec,
    source_file: str | None = None,
    *,
    replace: bool = False,
) -> tuple[SpaceRecord, list[SpaceRecord]]:
    """Write a space's file and record it, in the caller's transaction; return the record, and those
    that it replaced."""
    record = SpaceRecord(
        id=identity(space.name, kind, spec),
        name=space.name,
        kind=kind,
        spec=spec,
        source=space.source,
        sha256=space.sha256,
        genes=len(space.symbols),
        columns=space.columns,
        notes=space.notes,
        built_from=spec.get("built_from", spec.get("dataset")),
        source_file=source_file,
        author=settings.author,
    )
    find_same_or_refuse(db, space.name, record.id, replace=replace)
    write(space, file_of(settings, record))
    replaced = [other for other in spaces.list_all(db) if other.name == space.name]
    for old in replaced:
        delete_record(db, old)
    spaces.add(db, record)
    changes.bump(db, "spaces")
    return record, [old for old in replaced if old.id != record.id]


def find_same_or_refuse(db: Cursor, name: str, key: str, *, replace: bool) -> SpaceRecord | None:
    """Return the space of this identity, or None. Raise StateError if the name is another's, unless
    `replace`."""
    check_name("space", name)
    if len(name) > MAX_NAME or "," in name or name != name.strip():
        raise InputError(
            f"space {name!r}: expected a name of 1 to {MAX_NAME} characters without commas or"
            " surrounding blanks"
        )
    named = next((space for space in spaces.list_all(db) if space.name == name), None)
    if named is not None and named.id == key:
        return named
    if named is not None and not replace:
        raise StateError(
            f"space {name!r} exists with another specification; choose another name, or use"
            " --replace"
        )
    return None


def identity(name: str, kind: str, spec: Spec) -> str:
    """Return the id of a space, made from its name, kind and specification."""
    return sha256_of(json.dumps([name, kind, dict(spec)], sort_keys=True))[:10]


def read_saved(record: SpaceRecord, path: Path) -> Space:
    """Return the vectors in a space's file. Raise StateError if it is gone or has changed,
    InputError if it is damaged."""
    if not path.exists():
        raise StateError(
            f"space {record.name}: its file {path.name} is missing in {path.parent}; load or build"
            " it again"
        )
    space = load_space(path, record.name)
    if space.sha256 != record.sha256:
        raise StateError(
            f"space {record.name}: its file {path.name} in {path.parent} has changed since; load or"
            " build it again"
        )
    return space


def restore(settings: Settings, record: SpaceRecord, space: Space) -> bool:
    """Write the file of an imported space again if it was removed or damaged; return whether that
    was needed."""
    try:
        read_saved(record, file_of(settings, record))
    except (InputError, StateError):
        write(space, file_of(settings, record))
        return True
    return False


def remove_file(settings: Settings, record: SpaceRecord) -> None:
    """Delete a space's file, after its record."""
    file_of(settings, record).unlink(missing_ok=True)


def delete_record(db: Cursor, record: SpaceRecord) -> None:
    """Delete a record, with its import if that brought nothing else (the demo's brought more)."""
    spaces.delete(db, record.id)
    if record.kind == "loaded" and record.source_file is not None:
        imports.delete(db, record.source_file)


def file_of(settings: Settings, record: SpaceRecord) -> Path:
    """Return where a space's vectors lie."""
    folder = settings.cache / "spaces" if record.kind in REBUILT else settings.data / "embeddings"
    return folder / f"{record.id}.safetensors"


def write(space: Space, path: Path) -> None:
    """Write a space's vectors to its file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save_space(space, path)


def refuse_uncovering(workspace: Workspace, space: Space, path: str) -> None:
    """Raise InputError for a space without a vector for any gene of the datasets here, with what
    its names look like.

    Simulated datasets do not count; without other datasets there is no check.
    """
    known = set[str]()
    with workspace.store.read() as db:
        real = [each for each in datasets.list_all(db) if each.origin != "simulated"]
        symbols = {
            each: {*map(str, pairs.frame(db, each.id)[["pert", "gene"]].to_numpy().ravel())}
            for each in real
        }
    for dataset, names in symbols.items():
        orthologs = packs.read_orthologs(workspace, dataset.organism, space.symbols)
        if match_symbols(space, sorted(names), orthologs).covered.any():
            return
        known |= names
    if not known:
        return
    kind = kind_of_names(space.symbols)
    alike = f"which look like {kind}; expected" if kind else "expected"
    raise InputError(
        f"{path}: covers no gene of {', '.join(each.name for each in real)}: its names are"
        f" {list_some(list(space.symbols), 3)}, {alike} symbols alone, such as {min(known)}, in a"
        " column symbol; a space of other genes is imported after their dataset"
    )
