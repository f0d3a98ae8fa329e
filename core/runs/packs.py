"""Knowledge packs of a workspace: which there are, and what is read from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.file_io import replace_file
from core.base.hashes import sha256_of
from core.evidence.knowledge_packs import Pack, organism_of, read_knowledge
from core.evidence.packs import PackName, Packs, Source
from core.runs.workspace import Workspace
from core.store import Cursor, changes, pairs, spaces
from core.store.spaces import PackRecord

ORGANISMS = ("mouse", "human")


def name_of_latest(workspace: Workspace, kind: str, organism: str = "") -> str | None:
    """Return the name of the latest pack of a kind about an organism, "" for any; None without
    one."""
    return next(names_of_kind(workspace, kind, organism), None)


def names_of_kind(workspace: Workspace, kind: str, organism: str = "") -> Iterator[str]:
    """Yield the names of the packs of a kind about an organism, "" for any; the latest first."""
    with workspace.store.read() as db:
        of_kind = [pack for pack in spaces.list_packs(db) if pack.kind == kind]
    yield from (pack.name for pack in reversed(of_kind) if _is_about(pack, organism))


def read_latest(workspace: Workspace, kind: str, organism: str = "") -> Pack | None:
    """Return the contents of the latest pack of a kind about an organism, "" for any; None without
    one.

    Raise StateError if its file is missing.
    """
    name = name_of_latest(workspace, kind, organism)
    return None if name is None else read(workspace.settings, name)


def read_orthologs(
    workspace: Workspace, organism: str, symbols: Iterable[str]
) -> Mapping[str, str]:
    """Return the workspace's latest table of an organism's orthologs, to find its genes in a space
    with these symbols; empty if there is none, or if the symbols are the organism's own."""
    if organism and organism_of(symbols) == organism:
        return {}
    pack = read_latest(workspace, "orthologs", organism)
    return pack.entries if pack else {}


# Kind of a pack that evidence tools read → its field of `Packs`.
_READ_BY_TOOLS: Mapping[str, PackName] = {
    "descriptions": "descriptions",
    "orthologs": "orthologs",
    "pathways": "pathways",
    "network": "edges",
    "regulation": "signs",
    "signalling": "signalling",
    "lps_response": "responses",
}


def pack_hashes(workspace: Workspace, organism: str, *, or_another: bool = False) -> dict[str, str]:
    """Return the SHA-256 of the packs that evidence tools would read now, by their names among
    `Packs`.

    They are the latest of each kind that are about genes of this organism, or whose symbols do not
    show it; about any if the organism is unknown. or_another: use the latest pack about another
    organism if a kind has none about this one.
    """
    with workspace.store.read() as db:
        records = [record for record in spaces.list_packs(db) if record.kind in _READ_BY_TOOLS]
    others = records if or_another else []
    own = [record for record in records if _is_about(record, organism)]
    return {_READ_BY_TOOLS[record.kind]: record.sha256 for record in (*others, *own)}


def _is_about(record: PackRecord, organism: str) -> bool:
    return record.organism in ("", organism) or organism not in ORGANISMS


def read_packs(workspace: Workspace, planned: Mapping[str, str]) -> Packs:
    """Return the knowledge packs that a run was planned with, as evidence tools read them.

    planned: name among `Packs` → SHA-256. Raise StateError if a pack of this content is missing.
    """
    with workspace.store.read() as db:
        records = {record.sha256: record for record in spaces.list_packs(db)}
    contents: dict[str, Any] = {}
    sources: dict[Any, Source] = {}
    for name, sha256 in planned.items():
        if sha256 not in records or name not in _READ_BY_TOOLS.values():
            planned_with = f"the version planned for the run (hash {sha256[:12]}) is missing"
            raise StateError(
                f"knowledge pack {name}: {planned_with}; import it again, or start a new run"
            )
        record = records[sha256]
        contents[name] = read(workspace.settings, record.name, sha256).entries
        sources[name] = Source(record.source, sha256)
    return Packs(**contents, sources=sources)


MAX_FILE_NAME = 100  # characters of a pack's name in its file's name


def add_pack(
    db: Cursor, settings: Settings, pack: Pack, content: bytes, name: str, source: str
) -> PackRecord:
    """Record an imported pack and write its file, in the caller's transaction.

    A pack of that name is replaced. A pack of descriptions also describes the genes of the
    workspace.
    """
    record = PackRecord(
        name,
        pack.kind,
        pack.sha256,
        len(pack),
        pack.source or f"{name}.json",
        source,
        pack.organism,
    )
    _write(_file(settings, name), content)
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
