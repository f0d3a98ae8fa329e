"""Knowledge packs of a workspace: add, read, restore and remove them. Their files lie in data/knowledge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.actions.workspace import Workspace
from core.audit.shared_symbols import SymbolTables
from core.datasets.knowledge_packs import Descriptions, LpsResponses, Orthologs, Pack, Proteins, Regulation, read_knowledge
from core.errors import InputError, StateError
from core.evidence.packs import PackName, Packs, Source
from core.file_io import replace_file
from core.store import Cursor, changes, pairs, spaces
from core.store.spaces import PackRecord

if TYPE_CHECKING:  # it imports the reader of every kind of file
    from core.actions.files import PackFile

MAX_FILE_NAME = 100  # characters of a pack's name that its file is called by


def add_pack(workspace: Workspace, db: Cursor, file: PackFile, name: str, source: str) -> PackRecord:
    """Records a pack that came with an import and writes its file, in the caller's transaction.

    A pack of that name is replaced. A pack of descriptions also describes the genes of the workspace.
    """
    pack = file.pack
    source_of_data = pack.source if isinstance(pack, Regulation | LpsResponses) else f"{name}.json"
    record = PackRecord(name, pack.kind, pack.sha256, len(pack), source_of_data, source)
    _write(workspace, name, file.content)
    spaces.delete_pack(db, name)
    spaces.add_pack(db, record)
    describe_genes(workspace, db)
    changes.bump(db, "spaces", "datasets")
    return record


def describe_genes(workspace: Workspace, db: Cursor) -> None:
    """Sets the descriptions of the workspace's genes from its packs; if several packs have one, the latest counts."""
    for record in spaces.list_packs(db):
        if record.kind == Descriptions.kind and isinstance(pack := read(workspace, record.name), Descriptions):
            pairs.describe(db, pack.texts)


def read(workspace: Workspace, name: str, sha256: str | None = None) -> Pack:
    """Returns a pack's contents. Raises StateError if its file is gone, or not the one of this hash."""
    path = _file(workspace, name)
    if not path.exists():
        raise StateError(f"pack {name!r}: its file {path.name} is gone from {path.parent}; import it again")
    pack = read_knowledge(path.read_bytes(), path.name)
    if sha256 is not None and pack.sha256 != sha256:
        raise StateError(f"pack {name!r}: {path.name} has changed since; import the one with hash {sha256[:12]} again")
    return pack


def read_latest(workspace: Workspace, kind: str) -> Pack | None:
    """Returns the contents of the latest pack of a kind; None without one. Raises StateError if its file is gone."""
    with workspace.store.read() as db:
        names = [pack.name for pack in spaces.list_packs(db) if pack.kind == kind]
    return read(workspace, names[-1]) if names else None


def read_orthologs(workspace: Workspace) -> Mapping[str, str]:
    """Returns the latest ortholog table of the workspace; empty if there is none."""
    pack = read_latest(workspace, "orthologs")
    return pack.symbols if isinstance(pack, Orthologs) else {}


def read_symbol_tables(workspace: Workspace) -> SymbolTables:
    """Returns the latest tables of proteins and orthologs; one that is missing or unreadable is empty and named in the notes."""
    notes: list[str] = []
    proteins = _read_or_note(workspace, "proteins", "two names of one gene are not recognised", notes)
    orthologs = _read_or_note(workspace, "orthologs", "paralogs are not listed", notes)
    return SymbolTables(
        proteins.ids if isinstance(proteins, Proteins) else {},
        orthologs.symbols if isinstance(orthologs, Orthologs) else {},
        tuple(notes),
    )


def _read_or_note(workspace: Workspace, kind: str, effect: str, notes: list[str]) -> Pack | None:
    try:
        pack = read_latest(workspace, kind)
    except (InputError, StateError) as error:
        notes.append(f"{effect}: {error}")
        return None
    if pack is None:
        notes.append(f"{effect}: the workspace has no knowledge pack of {kind}")
    return pack


def restore(workspace: Workspace, name: str, content: bytes, sha256: str) -> bool:
    """Writes a pack's file again if it was removed or changed; returns whether that was needed."""
    try:
        read(workspace, name, sha256)
    except (InputError, StateError):
        _write(workspace, name, content)
        return True
    return False


def remove_file(workspace: Workspace, record: PackRecord) -> None:
    """Deletes a pack's file, after its record."""
    _file(workspace, record.name).unlink(missing_ok=True)


def _write(workspace: Workspace, name: str, content: bytes) -> None:
    path = _file(workspace, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def _file(workspace: Workspace, name: str) -> Path:
    """Returns a pack's file, called by its name; with a hash if that is unfit for a file, so that no two packs share one."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:MAX_FILE_NAME]
    stem = name if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return workspace.settings.data / "knowledge" / f"{stem}.json"


# Kind of a pack that evidence tools read → its field of `Packs`, and the field of the pack that holds its contents.
_READ_BY_TOOLS: Mapping[str, tuple[PackName, str]] = {
    "descriptions": ("descriptions", "texts"),
    "orthologs": ("orthologs", "symbols"),
    "pathways": ("pathways", "names"),
    "network": ("edges", "edges"),
    "regulation": ("signs", "signs"),
    "lps_response": ("responses", "genes"),
}


def pack_hashes(workspace: Workspace) -> dict[str, str]:
    """Returns the SHA-256 of the packs that evidence tools read, by their names among `Packs`."""
    return {_READ_BY_TOOLS[record.kind][0]: record.sha256 for record in _latest(workspace)}


def read_packs(workspace: Workspace) -> Packs:
    """Returns the workspace's knowledge packs as evidence tools read them, the latest of each kind."""
    contents: dict[str, Any] = {}
    sources: dict[PackName, Source] = {}
    for record in _latest(workspace):
        name, place = _READ_BY_TOOLS[record.kind]
        contents[name] = getattr(read(workspace, record.name, record.sha256), place)
        sources[name] = Source(record.source, record.sha256)
    return Packs(**contents, sources=sources)


def _latest(workspace: Workspace) -> list[PackRecord]:
    """Returns the latest pack of each kind that evidence tools read."""
    with workspace.store.read() as db:
        latest = {record.kind: record for record in spaces.list_packs(db)}
    return [record for kind, record in latest.items() if kind in _READ_BY_TOOLS]
