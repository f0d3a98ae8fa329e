"""A run's rows as Arrow tables, one for each part of a bundle: read for export, and added on import."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import pyarrow as pa

from core.errors import InputError
from core.row_schema import TABLES, Column, TableSchema, field_names
from core.store import calls, evidence
from core.store.connection import Cursor
from core.store.queries import arrow_array, insert, one
from core.types import Evidence

_JOINED = "JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id"


def _query(part: str, table: TableSchema) -> str:
    """All rows of a run in one table, its parameter $run."""
    columns = ", ".join(_select_columns(column) for column in table.columns)
    joined = _JOINED if any(column.of_pair for column in table.columns) else ""
    of_run = f"q.id IN (SELECT {part} FROM row_{part} WHERE run = $run)" if table.shared else "q.run = $run"
    order = ", ".join(f"q.{name}" for name in table.order or table.key)
    return f"SELECT {columns} FROM {part} q {joined} WHERE {of_run} ORDER BY {order}"


def _select_columns(column: Column) -> str:
    if column.kind == "words":
        return f"array_to_string(q.{column.name}, ' ') AS {column.name}"
    return f"{'p' if column.of_pair else 'q'}.{column.name}"


_QUERIES = {part: _query(part, table) for part, table in TABLES.items()}


def parts(cursor: Cursor, run: str) -> dict[str, pa.Table]:
    """The tables of the run with this id, each sorted; lists of words are joined by blanks."""
    return {part: read_part(cursor, run, part) for part in _QUERIES}


def read_part(cursor: Cursor, run: str, part: str) -> pa.Table:
    """One of the tables of `parts`."""
    return cursor.sql(_QUERIES[part], params={"run": run}).to_arrow_table()


def add(cursor: Cursor, run: str, tables: Mapping[str, pa.Table]) -> None:
    """Add the tables of `parts` to the run with this id, which has no rows yet.

    Raises InputError for evidence or calls whose id is not the hash of their content, and for a note of another run.
    """
    refuse_wrong_ids(tables)
    _refuse_notes_of_others(cursor, tables["note"])
    for part, table in tables.items():
        columns: dict[str, Any] = {column.name: table[column.name] for column in TABLES[part].columns if not column.of_pair}
        for column in TABLES[part].columns:
            if column.kind == "words":
                columns[column.name] = arrow_array(column, [text.split() for text in table[column.name].to_pylist()])
        if not TABLES[part].shared:
            columns["run"] = pa.repeat(run, table.num_rows)
        insert(cursor, part, columns, ignore_existing=TABLES[part].shared)


def refuse_wrong_ids(tables: Mapping[str, pa.Table]) -> None:
    """Raise InputError for evidence or a call whose id is not the hash of its content: others would be shown in its place."""
    for row in tables["evidence"].to_pylist():
        if row["id"] not in _evidence_ids(row):
            raise InputError(f"evidence {row['id']} of {row['tool']}: its id does not belong to what it says")
    for row in tables["call"].to_pylist():
        if row["id"] != calls.identity(row["key"], row["request"], row["reply"]):
            raise InputError(f"call {row['id']}: its id does not belong to what was said")


def _evidence_ids(row: Mapping[str, Any]) -> set[str]:
    """The ids that evidence may have: with its time as stored, without a zone, and with the same time in UTC."""
    at = row["retrieved_at"]
    values = {name: row[name] for name in field_names(Evidence)} | {"body": json.loads(row["body"])}
    return {evidence.identity(Evidence(**{**values, "retrieved_at": time})) for time in (at, at and at.replace(tzinfo=UTC))}


def _refuse_notes_of_others(cursor: Cursor, table: pa.Table) -> None:
    cursor.register("incoming_notes", table.select(["id"]))
    try:
        taken = one(cursor, "SELECT id, run FROM note SEMI JOIN incoming_notes USING (id) LIMIT 1")
    finally:
        cursor.unregister("incoming_notes")
    if taken is not None:
        raise InputError(f"note {taken[0]}: is one of run {taken[1]} here, expected a note of the bundle's own run")


def add_origin(cursor: Cursor, run: str, origin: str, parent_names: Mapping[str, str]) -> None:
    """Record where a bundled run was made, and the names of its parents."""
    cursor.execute("INSERT INTO bundled_run VALUES (?, ?, ?)", [run, origin, json.dumps(dict(parent_names))])


def origin_of(cursor: Cursor, run: str) -> str | None:
    """How a bundled run was made in its first workspace (`RunRecord.origin`); None if no bundle brought it."""
    row = one(cursor, "SELECT origin FROM bundled_run WHERE run = ?", [run])
    return None if row is None else str(row[0])


def run_names(cursor: Cursor) -> dict[str, str]:
    """Run id → name of every run in the store, and of the parents that bundles name."""
    named: dict[str, str] = {}
    for (texts,) in cursor.execute("SELECT parent_names FROM bundled_run ORDER BY run").fetchall():
        named |= json.loads(texts)
    return named | dict(cursor.execute("SELECT id, name FROM run").fetchall())
