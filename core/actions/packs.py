"""Knowledge packs of a workspace: add, read, restore and remove them. Their files lie in data/knowledge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.actions.workspace import Workspace
from core.audit.shared_symbols import SymbolTables
from core.datasets.knowledge_packs import (
    Descriptions,
    LpsResponses,
    Orthologs,
    Pack,
    Proteins,
    Regulation,
    organism_of,
    read_knowledge,
)
from core.errors import InputError, StateError, UnknownFormat
from core.evidence.packs import PackName, Packs, Source
from core.file_io import replace_file
from core.store import Cursor, changes, pairs, runs, spaces
from core.store.spaces import PackRecord

if TYPE_CHECKING:  # it imports the reader of every kind of file
    from core.actions.files import PackFile

ORGANISMS = ("mouse", "human")
_ORGANISMS_READ: dict[str, str] = {}  # SHA-256 of a pack → its organism, of packs for which the store does not have it
MAX_FILE_NAME = 100  # characters of a pack's name in its file's name


def add_pack(workspace: Workspace, db: Cursor, file: PackFile, name: str, source: str) -> PackRecord:
    """Record an imported pack and write its file, in the caller's transaction.

    A pack of that name is replaced, but stored for the runs planned with it. A pack of descriptions also describes the genes of
    the workspace.
    """
    workspace.refuse_if_read_only("import", name)
    pack = file.pack
    source_of_data = pack.source if isinstance(pack, Regulation | LpsResponses) else f"{name}.json"
    record = PackRecord(name, pack.kind, pack.sha256, len(pack), source_of_data, source, organism=organism_of(pack))
    for replaced in (known for known in spaces.list_packs(db) if known.name == name):
        keep_for_runs(workspace, db, replaced)
    _write(_file(workspace, name), file.content)
    spaces.delete_pack(db, name)
    spaces.add_pack(db, record)
    describe_genes(workspace, db)
    changes.bump(db, "spaces", "datasets")
    return record


def describe_genes(workspace: Workspace, db: Cursor) -> None:
    """Set the descriptions of the workspace's genes from its packs; if several packs have one, the latest counts.

    Packs that an earlier version took for descriptions by mistake are ignored.
    """
    workspace.refuse_if_read_only("describe genes", "packs")
    for record in spaces.list_packs(db):
        if record.kind == Descriptions.kind:
            with suppress(UnknownFormat):
                pack = read(workspace, record.name)
                pairs.describe(db, pack.texts if isinstance(pack, Descriptions) else {})


def keep_for_runs(workspace: Workspace, db: Cursor, record: PackRecord) -> None:
    """Store the contents of a deleted pack if an unfinished run was planned with it, in the caller's transaction.

    Delete stored packs that no run needs.
    """
    workspace.refuse_if_read_only("keep pack", record.name)
    planned = [run.spec.get("packs") for run in runs.list_all(db) if run.status != "done" or run.failed]
    needed = {sha256 for packs in planned if isinstance(packs, Mapping) for sha256 in packs.values()}
    for kept in spaces.list_kept_packs(db):
        if kept.sha256 not in needed:
            spaces.forget_kept_pack(db, kept.sha256)
            _kept_file(workspace, kept.sha256).unlink(missing_ok=True)
    path = _file(workspace, record.name)
    if record.sha256 in needed and path.exists():
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == record.sha256:
            _write(_kept_file(workspace, record.sha256), content)
            spaces.keep_pack(db, record.sha256)


def read(workspace: Workspace, name: str, sha256: str | None = None) -> Pack:
    """Return a pack's contents. Raise StateError if its file is missing, or has another hash."""
    path = _file(workspace, name)
    if not path.exists():
        raise StateError(f"pack {name!r}: its file {path.name} is missing in {path.parent}; import it again")
    pack = read_knowledge(path.read_bytes(), path.name)
    if sha256 is not None and pack.sha256 != sha256:
        raise StateError(f"pack {name!r}: {path.name} has changed since; import the file with hash {sha256[:12]} again")
    return pack


def list_with_organisms(workspace: Workspace) -> list[PackRecord]:
    """Return every pack, oldest first, with its organism; None there if its file cannot be read."""
    with workspace.store.read() as db:
        records = spaces.list_packs(db)
    return [replace(record, organism=_organism_or_none(workspace, record)) for record in records]


def _organism_or_none(workspace: Workspace, record: PackRecord) -> str | None:
    try:
        return organism_of_pack(workspace, record)
    except (InputError, StateError):
        return None


def organism_of_pack(workspace: Workspace, record: PackRecord) -> str:
    """Return the organism of a pack's genes, "" if its symbols do not show it; from its file if it is not recorded.

    Raise StateError or InputError if that file cannot be read.
    """
    if record.organism is not None:
        return record.organism
    if record.sha256 not in _ORGANISMS_READ:
        _ORGANISMS_READ[record.sha256] = organism_of(read(workspace, record.name, record.sha256))
    return _ORGANISMS_READ[record.sha256]


def name_of_latest(workspace: Workspace, kind: str, organism: str = "") -> str | None:
    """Return the name of the latest pack of a kind about an organism, "" for any; None without one."""
    return next(names_of_kind(workspace, kind, organism), None)


def names_of_kind(workspace: Workspace, kind: str, organism: str = "") -> Iterator[str]:
    """Yield the names of the packs of a kind about an organism, "" for any; the latest first."""
    with workspace.store.read() as db:
        of_kind = [pack for pack in spaces.list_packs(db) if pack.kind == kind]
    yield from (pack.name for pack in reversed(of_kind) if _is_about(workspace, pack, organism))


def read_latest(workspace: Workspace, kind: str, organism: str = "") -> Pack | None:
    """Return the contents of the latest pack of a kind about an organism, "" for any; None without one.

    Raise StateError if its file is missing.
    """
    name = name_of_latest(workspace, kind, organism)
    return None if name is None else read(workspace, name)


def read_orthologs(workspace: Workspace, organism: str) -> Mapping[str, str]:
    """Return the workspace's latest table of an organism's orthologs; empty if there is none."""
    pack = read_latest(workspace, "orthologs", organism)
    return pack.symbols if isinstance(pack, Orthologs) else {}


def read_symbol_tables(workspace: Workspace, organism: str = "") -> SymbolTables:
    """Return the latest tables of proteins and orthologs; one that is missing or unreadable is empty and named in the notes."""
    notes: list[str] = []
    proteins = _read_or_note(workspace, "proteins", organism, "two names of one gene are not recognised", notes)
    orthologs = _read_or_note(workspace, "orthologs", organism, "paralogs are not listed", notes)
    return SymbolTables(
        proteins.ids if isinstance(proteins, Proteins) else {},
        orthologs.symbols if isinstance(orthologs, Orthologs) else {},
        tuple(notes),
    )


def _read_or_note(workspace: Workspace, kind: str, organism: str, effect: str, notes: list[str]) -> Pack | None:
    try:
        pack = read_latest(workspace, kind, organism)
    except (InputError, StateError) as error:
        notes.append(f"{effect}: {error}")
        return None
    if pack is None:
        whose = f" of {organism} genes" if organism in ORGANISMS else ""
        notes.append(f"{effect}: the workspace has no knowledge pack of {kind}{whose}")
    return pack


def restore(workspace: Workspace, name: str, content: bytes, sha256: str) -> bool:
    """Write a pack's file again if it was removed or changed; return whether that was needed."""
    workspace.refuse_if_read_only("restore pack", name)
    try:
        read(workspace, name, sha256)
    except (InputError, StateError):
        _write(_file(workspace, name), content)
        return True
    return False


def remove_file(workspace: Workspace, record: PackRecord) -> None:
    """Delete a pack's file, after its record."""
    workspace.refuse_if_read_only("remove pack", record.name)
    _file(workspace, record.name).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def _file(workspace: Workspace, name: str) -> Path:
    """Return a pack's file, named after it; with a hash if the name is unfit for a file, so that no two packs share a file."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:MAX_FILE_NAME]
    stem = name if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return workspace.settings.data / "knowledge" / f"{stem}.json"


def _kept_file(workspace: Workspace, sha256: str) -> Path:
    """Return the file of a pack stored for runs, named by its content."""
    return workspace.settings.data / "knowledge" / "kept" / f"{sha256}.json"


# Kind of a pack that evidence tools read → its field of `Packs`, and the field of the pack that holds its contents.
_READ_BY_TOOLS: Mapping[str, tuple[PackName, str]] = {
    "descriptions": ("descriptions", "texts"),
    "orthologs": ("orthologs", "symbols"),
    "pathways": ("pathways", "names"),
    "network": ("edges", "edges"),
    "regulation": ("signs", "signs"),
    "signalling": ("signalling", "signs"),
    "lps_response": ("responses", "genes"),
}


def pack_hashes(workspace: Workspace, organism: str, *, or_another: bool = False) -> dict[str, str]:
    """Return the SHA-256 of the packs that evidence tools would read now, by their names among `Packs`.

    They are the latest of each kind that are about genes of this organism, or whose symbols do not show it; about any if the
    organism is unknown. or_another: use the latest pack about another organism if a kind has none about this one. Unreadable
    packs are ignored.
    """
    with workspace.store.read() as db:
        records = [record for record in spaces.list_packs(db) if record.kind in _READ_BY_TOOLS]
    others = [record for record in records if or_another and _organism_or_none(workspace, record) is not None]
    own = [record for record in records if _is_about(workspace, record, organism)]
    return {_READ_BY_TOOLS[record.kind][0]: record.sha256 for record in (*others, *own)}


def _is_about(workspace: Workspace, record: PackRecord, organism: str) -> bool:
    found = _organism_or_none(workspace, record)
    return found is not None and (found in ("", organism) or organism not in ORGANISMS)


def refuse_missing(db: Cursor, planned: Mapping[str, str]) -> None:
    """Raise StateError if a pack of a requested run was deleted before its planning."""
    here = {record.sha256 for record in spaces.list_packs(db)}
    gone = [name for name, sha256 in planned.items() if sha256 not in here]
    if gone:
        raise StateError(
            f"knowledge packs: {', '.join(gone)} were deleted or replaced since the run was requested; request it again"
        )


def read_packs(workspace: Workspace, planned: Mapping[str, str]) -> Packs:
    """Return the knowledge packs that a run was planned with, as evidence tools read them.

    planned: name among `Packs` → SHA-256. Raise StateError if a pack of this content is missing.
    """
    with workspace.store.read() as db:
        here, kept = spaces.list_packs(db), spaces.list_kept_packs(db)
    records = {record.sha256: record for record in (*kept, *here)}
    places = dict(_READ_BY_TOOLS.values())
    contents: dict[str, Any] = {}
    sources: dict[PackName, Source] = {}
    for name, sha256 in planned.items():
        if sha256 not in records or name not in places:
            planned_with = f"the version planned for the run (hash {sha256[:12]}) is missing"
            raise StateError(f"knowledge pack {name}: {planned_with}; import it again, or start a new run")
        pack = _read_here_or_kept(workspace, records[sha256])
        contents[name] = getattr(pack, places[name])
        sources[name] = Source(records[sha256].source, sha256)
    return Packs(**contents, sources=sources)


def _read_here_or_kept(workspace: Workspace, record: PackRecord) -> Pack:
    try:
        return read(workspace, record.name, record.sha256)
    except (InputError, StateError):  # replaced, perhaps just now: before that, its contents were kept
        kept = _kept_file(workspace, record.sha256)
        pack = read_knowledge(kept.read_bytes(), f"{record.name}.json") if kept.exists() else None
        if pack is None or pack.sha256 != record.sha256:
            raise
        return pack
