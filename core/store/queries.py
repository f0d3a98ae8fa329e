"""How query modules talk to a cursor, and what `core.base.row_schema` says in SQL and in Arrow.

Arrow and pandas are imported only by the functions that need them, so that listings start faster.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import duckdb

from core.base.errors import NotFound
from core.base.row_schema import ARROW_TYPES, Column
from core.base.texts import list_known
from core.store.connection import Cursor

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray


class _Named(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_Named)


def one(cursor: Cursor, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row, or None. Reads the result to its end: an unfinished one would block the
    cursor."""
    rows = cursor.execute(query, list(values)).fetchall()
    return rows[0] if rows else None


def find_named(known: Sequence[Named], name: str, what: str) -> Named:
    """Return the record of an id or name. what: the word for such a record. Raise NotFound, which
    lists the existing names."""
    for record in known:
        if name in (record.id, record.name):
            return record
    raise NotFound(
        f"{what} {name!r}: not in this workspace,"
        f" {list_known(name, [record.name for record in known])}"
    )


def records(cursor: Cursor, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Return every row as a mapping from column name to value."""
    result = cursor.execute(query, list(values))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def data_frame(cursor: Cursor, query: str, values: Sequence[Any] = ()) -> pd.DataFrame:
    """Return every row, like `.df()`, but without an object for every text, which would take
    gigabytes for a million rows.

    Whole numbers of which some are missing are of pandas' type Int32. Lists of words are arrays of
    texts; rows with the same words share one.
    """
    import pandas as pd
    import pyarrow as pa

    nullable = {pa.int32(): pd.Int32Dtype()}
    columns: dict[str, Any] = {}
    table = cursor.sql(query, params=list(values)).to_arrow_table()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type):
            columns[name] = _word_arrays(column)
        else:
            columns[name] = column.to_pandas(
                types_mapper=nullable.get if column.null_count else None
            )
    return pd.DataFrame(columns)


def _word_arrays(lists: pa.ChunkedArray) -> NDArray[np.object_]:
    """Return an array of words for each list, shared by lists of the same words; words contain no
    spaces."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    joined = pa.chunked_array(pc.binary_join(lists, " ")).combine_chunks().dictionary_encode()
    distinct = np.empty(len(joined.dictionary), dtype=object)
    for place, words in enumerate(joined.dictionary.to_pylist()):
        distinct[place] = np.array(words.split(), dtype=object)
    shared: NDArray[np.object_] = distinct[joined.indices.to_numpy()]
    return shared


def select_list(columns: Iterable[Column], table: str) -> str:
    """Return the columns of a query by name, each of them of this table."""
    return ", ".join(f"{table}.{column.name}" for column in columns)


def record_columns(columns: Sequence[Column], records: Sequence[Any]) -> dict[str, pa.Array]:
    """Return the fields of records, one Arrow array for each of two or more columns."""
    by_record = map(attrgetter(*(column.name for column in columns)), records)
    by_column = zip(*by_record, strict=True) if records else repeat(())
    return {
        column.name: arrow_array(column, values)
        for column, values in zip(columns, by_column, strict=False)
    }


def arrow_array(column: Column, values: Sequence[Any]) -> pa.Array:
    """Return values as the store holds them in a column: words as lists, JSON as text."""
    import pyarrow as pa

    if column.kind == "words":
        # Few lists are distinct: each of those is turned into Arrow once.
        places: dict[tuple[str, ...], int] = {}
        indices = [places.setdefault(tuple(value), len(places)) for value in values]
        return pa.array(list(places), pa.list_(pa.string())).take(pa.array(indices, pa.int32()))
    return pa.array(
        _json_texts(values) if column.kind == "json" else values,
        pa.type_for_alias(ARROW_TYPES[column.kind]),
    )


def _json_texts(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return mappings as JSON. Few are distinct: each of those is written once."""
    known: dict[str, str] = {"{}": "{}"}
    texts = []
    for mapping in mappings:
        key = repr(mapping) if mapping else "{}"
        if key not in known:
            known[key] = json.dumps(dict(mapping))
        texts.append(known[key])
    return texts


class Insertion(NamedTuple):
    """Rows for a table, in the layout of the store. ignore_existing: ignore rows with an existing
    key."""

    table: str
    rows: pa.Table
    ignore_existing: bool = False


def insertion(
    table: str, columns: Mapping[str, Any], *, ignore_existing: bool = False
) -> Insertion:
    """Return columns of equal length as rows for a table."""
    import pyarrow as pa

    return Insertion(table, pa.table(dict(columns)), ignore_existing)


def insert(
    cursor: Cursor, table: str, columns: Mapping[str, Any], *, ignore_existing: bool = False
) -> None:
    """Append columns of equal length to a table, by name; rows whose key is there already raise, or
    are ignored."""
    insert_all(cursor, [insertion(table, columns, ignore_existing=ignore_existing)])


def insert_values(cursor: Cursor, table: str, values: Mapping[str, Any], dated: str = "") -> None:
    """Insert one row, a value for each column named. dated: the column that gets the time now
    instead."""
    marks = ("now()::TIMESTAMP" if name == dated else "?" for name in values)
    cursor.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(marks)})",
        [value for name, value in values.items() if name != dated],
    )


def _hand_over(tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tables, which are let go: the transaction keeps what was registered until
    it ends."""
    while tables:
        yield from tables.pop(0).to_batches()


def insert_all(cursor: Cursor, insertions: Iterable[Insertion]) -> None:
    """Append rows to tables, by column names. Insertions of the same columns are one statement."""
    import pyarrow as pa

    together: dict[tuple[str, bool, tuple[str, ...]], list[pa.Table]] = {}
    for table, rows, ignore_existing in insertions:
        if rows.num_rows:
            together.setdefault((table, ignore_existing, tuple(rows.column_names)), []).append(rows)
    for (table, ignore_existing, _), parts in together.items():
        cursor.register(
            "incoming", pa.RecordBatchReader.from_batches(parts[0].schema, _hand_over(parts))
        )
        try:
            conflict = " ON CONFLICT DO NOTHING" if ignore_existing else ""
            cursor.execute(
                f"INSERT INTO {table} BY NAME SELECT * FROM incoming{conflict}"
            ).fetchall()
        finally:
            with suppress(duckdb.Error):  # in a failed transaction; the original cause is raised
                cursor.unregister("incoming")
