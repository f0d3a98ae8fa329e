"""Records of gene spaces and knowledge packs: names, kinds and origins. Their contents are
files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from core.base.errors import NotFound
from core.base.row_schema import field_names
from core.store.connection import Cursor
from core.store.queries import find_named, insert_values

_COLUMNS = (
    "id, name, kind, spec, source, sha256, genes, columns, notes, built_from, import, author,"
    " created_at"
)


@dataclass(frozen=True, slots=True)
class SpaceRecord:
    """One gene space. kind: how it was made (built: by `core.features.neighbours.spaces.build`,
    else loaded or simulated).

    spec: for rebuilding it. sha256: of its symbols and vectors. built_from: the name of the dataset
    whose labels went into it, None for none. source_file: the import that brought it, None if it
    was built here.
    """

    id: str
    name: str
    kind: str
    spec: Mapping[str, Any]
    source: str
    sha256: str
    genes: int
    columns: int
    notes: tuple[str, ...]
    built_from: str | None
    source_file: str | None
    author: str
    created_at: datetime | None = field(default=None, compare=False)


def add(cursor: Cursor, space: SpaceRecord) -> None:
    """Record a space; its id and name must be new."""
    values = {name: getattr(space, name) for name in field_names(SpaceRecord)}
    values |= {"spec": json.dumps(dict(space.spec), sort_keys=True), "notes": list(space.notes)}
    values["import"] = values.pop("source_file")
    insert_values(cursor, "space", values, dated="created_at")


def list_all(cursor: Cursor) -> list[SpaceRecord]:
    """Return every space, oldest first."""
    rows = cursor.execute(f"SELECT {_COLUMNS} FROM space ORDER BY created_at, name").fetchall()
    return [_record(row) for row in rows]


def find(cursor: Cursor, name: str) -> SpaceRecord:
    """Return the space of a name or id. Raise NotFound, which lists the existing ones."""
    return find_named(list_all(cursor), name, "space")


def delete(cursor: Cursor, space: str) -> None:
    """Delete the record of the space with this id."""
    cursor.execute("DELETE FROM space WHERE id = ?", [space])


def _record(row: tuple[Any, ...]) -> SpaceRecord:
    values = dict(zip(_COLUMNS.replace("import", "source_file").split(", "), row, strict=True))
    values |= {"spec": json.loads(values["spec"]), "notes": tuple(values["notes"])}
    return SpaceRecord(**values)


@dataclass(frozen=True, slots=True)
class PackRecord:
    """One knowledge pack. kind: descriptions, orthologs, proteins, pathways, network, regulation,
    signalling or lps_response.

    organism: of its genes, "" if its symbols do not show it.
    """

    name: str
    kind: str
    sha256: str
    entries: int
    source: str
    source_file: str
    organism: str
    imported_at: datetime | None = field(default=None, compare=False)


_PACK_COLUMNS = "name, kind, sha256, entries, source, import, organism, imported_at"


def add_pack(cursor: Cursor, pack: PackRecord) -> None:
    """Record a pack; its name must be new."""
    values = asdict(pack)
    values["import"] = values.pop("source_file")
    insert_values(cursor, "knowledge", values, dated="imported_at")


def list_packs(cursor: Cursor) -> list[PackRecord]:
    """Return every pack, oldest first."""
    rows = cursor.execute(f"SELECT {_PACK_COLUMNS} FROM knowledge ORDER BY imported_at, name")
    return [PackRecord(*row) for row in rows.fetchall()]


def pack_of_kind(cursor: Cursor, kind: str, name: str | None = None) -> PackRecord:
    """Return the pack of a kind, by name or else the latest. Raise NotFound, which lists the
    existing packs."""
    packs = list_packs(cursor)
    fitting = [pack for pack in packs if pack.kind == kind and name in (None, pack.name)]
    if not fitting:
        names = ", ".join(f"{pack.name} ({pack.kind})" for pack in packs) or "none"
        wanted = f"pack {name!r} of {kind}" if name else f"a pack of {kind}"
        raise NotFound(f"{wanted}: not in this workspace, which has {names}; import one")
    return fitting[-1]


def delete_pack(cursor: Cursor, name: str) -> None:
    """Delete the record of the pack of this name."""
    cursor.execute("DELETE FROM knowledge WHERE name = ?", [name])
