"""The files of knowledge packs, in data/knowledge: written, read, restored and removed, in the
caller's transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.file_io import replace_file
from core.base.hashes import sha256_of
from core.features.importing.knowledge_packs import Pack, organism_of, read_knowledge
from core.store import Cursor, changes, pairs, runs, spaces
from core.store.spaces import PackRecord

if TYPE_CHECKING:  # it imports the reader of every kind of file
    from core.features.importing.files import PackFile

MAX_FILE_NAME = 100  # characters of a pack's name in its file's name


def add_pack(db: Cursor, settings: Settings, file: PackFile, name: str, source: str) -> PackRecord:
    """Record an imported pack and write its file, in the caller's transaction.

    A pack of that name is replaced, but stored for the runs planned with it. A pack of descriptions
    also describes the genes of the workspace.
    """
    pack = file.pack
    record = PackRecord(
        name,
        pack.kind,
        pack.sha256,
        len(pack),
        pack.source or f"{name}.json",
        source,
        organism_of(pack),
    )
    for replaced in (known for known in spaces.list_packs(db) if known.name == name):
        keep_for_runs(db, settings, replaced)
    _write(_file(settings, name), file.content)
    spaces.delete_pack(db, name)
    spaces.add_pack(db, record)
    describe_genes(db, settings)
    changes.bump(db, "spaces", "datasets")
    return record


def describe_genes(db: Cursor, settings: Settings) -> None:
    """Set the descriptions of the workspace's genes from its packs; if several packs have one, the
    latest counts."""
    for record in spaces.list_packs(db):
        if record.kind == "descriptions":
            pairs.describe(db, read(settings, record.name).entries)


def keep_for_runs(db: Cursor, settings: Settings, record: PackRecord) -> None:
    """Store the contents of a deleted pack if an unfinished run was planned with it, in the
    caller's transaction.

    Delete stored packs that no run needs.
    """
    planned = [
        run.spec.get("packs") for run in runs.list_all(db) if run.status != "done" or run.failed
    ]
    needed = {
        sha256 for packs in planned if isinstance(packs, Mapping) for sha256 in packs.values()
    }
    for kept in spaces.list_kept_packs(db):
        if kept.sha256 not in needed:
            spaces.forget_kept_pack(db, kept.sha256)
            _kept_file(settings, kept.sha256).unlink(missing_ok=True)
    path = _file(settings, record.name)
    if record.sha256 in needed and path.exists():
        content = path.read_bytes()
        if sha256_of(content) == record.sha256:
            _write(_kept_file(settings, record.sha256), content)
            spaces.keep_pack(db, record.sha256)


def read(settings: Settings, name: str, sha256: str | None = None) -> Pack:
    """Return a pack's contents. Raise StateError if its file is missing, or has another hash."""
    path = _file(settings, name)
    if not path.exists():
        raise StateError(
            f"pack {name!r}: its file {path.name} is missing in {path.parent}; import it again"
        )
    pack = read_knowledge(path.read_bytes(), path.name)
    if sha256 is not None and pack.sha256 != sha256:
        raise StateError(
            f"pack {name!r}: {path.name} has changed since; import the file with hash {sha256[:12]}"
            " again"
        )
    return pack


def read_kept(settings: Settings, record: PackRecord) -> Pack | None:
    """Return the contents of a pack that are kept for runs; None if they are not."""
    kept = _kept_file(settings, record.sha256)
    return read_knowledge(kept.read_bytes(), f"{record.name}.json") if kept.exists() else None


def restore(settings: Settings, name: str, content: bytes, sha256: str) -> bool:
    """Write a pack's file again if it was removed or changed; return whether that was needed."""
    try:
        read(settings, name, sha256)
    except (InputError, StateError):
        _write(_file(settings, name), content)
        return True
    return False


def remove_file(settings: Settings, record: PackRecord) -> None:
    """Delete a pack's file, after its record."""
    _file(settings, record.name).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def _file(settings: Settings, name: str) -> Path:
    """Return a pack's file, named after it; with a hash if the name is unfit for a file, so that no
    two packs share a file."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:MAX_FILE_NAME]
    stem = name if plain == name else f"{plain}-{sha256_of(name)[:8]}"
    return settings.data / "knowledge" / f"{stem}.json"


def _kept_file(settings: Settings, sha256: str) -> Path:
    """Return the file of a pack stored for runs, named by its content."""
    return settings.data / "knowledge" / "kept" / f"{sha256}.json"
