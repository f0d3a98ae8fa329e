"""The three ways in which query modules talk to a cursor. Arrow is imported by what needs it: a listing does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.store.connection import Cursor

if TYPE_CHECKING:
    import pyarrow as pa


def one(cursor: Cursor, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """The first row, or None. Reads the result to its end: an unfinished one would block the cursor."""
    rows = cursor.execute(query, list(values)).fetchall()
    return rows[0] if rows else None


def records(cursor: Cursor, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Every row as a mapping from column name to value."""
    result = cursor.execute(query, list(values))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def lists(values: Iterable[Sequence[str]]) -> pa.Array:
    """A column of lists of strings, of which few are distinct: each is turned into Arrow once."""
    import pyarrow as pa

    places: dict[tuple[str, ...], int] = {}
    indices = [places.setdefault(tuple(value), len(places)) for value in values]
    return pa.array(list(places), pa.list_(pa.string())).take(pa.array(indices, pa.int32()))


def insert(cursor: Cursor, table: str, columns: Mapping[str, Any], *, ignore_existing: bool = False) -> None:
    """Append columns of equal length to a table, by name; rows whose key is there already raise, or are ignored."""
    import pyarrow as pa

    cursor.register("incoming", pa.table(dict(columns)))
    try:
        conflict = " ON CONFLICT DO NOTHING" if ignore_existing else ""
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming{conflict}").fetchall()
    finally:
        cursor.unregister("incoming")
