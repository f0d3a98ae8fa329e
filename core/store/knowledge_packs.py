"""Records of knowledge packs. Their contents are files in data/knowledge."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from core.errors import NotFound
from core.store.connection import Cursor


@dataclass(frozen=True, slots=True)
class PackRecord:
    """One knowledge pack. kind: descriptions, orthologs, proteins, pathways, network, regulation or lps_response."""

    name: str
    kind: str
    sha256: str
    entries: int
    source: str
    source_file: str
    imported_at: datetime | None = field(default=None, compare=False)


_COLUMNS = "name, kind, sha256, entries, source, import, imported_at"


def add(cursor: Cursor, pack: PackRecord) -> None:
    """Record a pack; its name must be new."""
    cursor.execute(
        f"INSERT INTO knowledge ({_COLUMNS}) VALUES (?,?,?,?,?,?,now()::TIMESTAMP)",
        [pack.name, pack.kind, pack.sha256, pack.entries, pack.source, pack.source_file],
    )


def list_all(cursor: Cursor) -> list[PackRecord]:
    """Every pack, oldest first."""
    return [PackRecord(*row) for row in cursor.execute(f"SELECT {_COLUMNS} FROM knowledge ORDER BY imported_at, name").fetchall()]


def of_kind(cursor: Cursor, kind: str, name: str | None = None) -> PackRecord:
    """The pack of a kind, by name or else the latest. Raises NotFound, which lists the existing packs."""
    known = list_all(cursor)
    fitting = [pack for pack in known if pack.kind == kind and name in (None, pack.name)]
    if not fitting:
        names = ", ".join(f"{pack.name} ({pack.kind})" for pack in known) or "none"
        wanted = f"pack {name!r} of {kind}" if name else f"a pack of {kind}"
        raise NotFound(f"{wanted}: not in this workspace, which has {names}; import one")
    return fitting[-1]


def delete(cursor: Cursor, name: str) -> None:
    """Delete the record of the pack of this name."""
    cursor.execute("DELETE FROM knowledge WHERE name = ?", [name])
