"""A run's rows as Arrow tables, one for each part of a bundle: read for export, and added on
import."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from typing import Any

import pyarrow as pa

from core.base.errors import InputError
from core.base.row_schema import TABLES, Column, field_names
from core.base.types import Evidence
from core.store import calls, evidence
from core.store.connection import Cursor
from core.store.queries import arrow_array, insert, one
from core.store.traces import BATCH_BYTES, split_events

_JOINED = (
    "JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id"
)


def _select(cursor: Cursor, part: str, condition: str, values: list[Any]) -> pa.Table:
    """Return the rows q of a part that a condition chooses, sorted; lists of words are joined by
    blanks."""
    table = TABLES[part]
    columns = ", ".join(map(_select_column, table.columns))
    joined = _JOINED if any(column.of_pair for column in table.columns) else ""
    order = ", ".join(f"q.{name}" for name in table.order or table.key)
    query = f"SELECT {columns} FROM {part} q {joined} WHERE {condition} ORDER BY {order}"
    return cursor.sql(query, params=values).to_arrow_table()


def _select_column(column: Column) -> str:
    if column.kind == "words":
        return f"array_to_string(q.{column.name}, ' ') AS {column.name}"
    return f"{'p' if column.of_pair else 'q'}.{column.name}"


def _of_run(part: str) -> str:
    """Return the condition on the rows q of a part that they are a run's; its parameter is the
    run's id."""
    return (
        f"q.id IN (SELECT {part} FROM row_{part} WHERE run = ?)"
        if TABLES[part].shared
        else "q.run = ?"
    )


def read_part(cursor: Cursor, run: str, part: str) -> pa.Table:
    """Return one of the tables of the run with this id, sorted; lists of words are joined by
    blanks."""
    return _select(cursor, part, _of_run(part), [run])


def read_in_pieces(cursor: Cursor, run: str, part: str) -> Iterator[pa.Table]:
    """Yield the rows of `read_part`, some megabytes of texts at a time; a part without rows yields
    once, nothing."""
    found = False
    for condition, values in _pieces(cursor, run, part):
        found = True
        yield _select(cursor, part, condition, values)
    if not found:
        yield read_part(cursor, run, part)


def _pieces(cursor: Cursor, run: str, part: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield a condition on the rows q of a part, and its parameters, for each of its pieces."""
    if part == "trace_event":
        for batch in split_events(cursor, "e.run = ?", [run], "e.pair_id, e.seq"):
            yield batch.condition.replace("e.rowid", "q.rowid"), list(batch.values)
        return
    size_of = " + ".join(
        f"strlen(q.{name})" for name in ("body", "request", "reply") if name in TABLES[part].names
    )
    of_run = _of_run(part)
    rows = cursor.execute(
        f"SELECT q.id, {size_of} FROM {part} q WHERE {of_run} ORDER BY q.id", [run]
    ).fetchall()
    first, size = 0, 0
    for at, (key, n_bytes) in enumerate(rows):
        size += n_bytes
        if size >= BATCH_BYTES or at + 1 == len(rows):
            yield f"q.id BETWEEN ? AND ? AND {of_run}", [rows[first][0], key, run]
            first, size = at + 1, 0


def add(cursor: Cursor, run: str, parts: Mapping[str, Iterable[pa.RecordBatch]]) -> None:
    """Add the parts of a bundle to the run with this id, which has no rows yet. Raise InputError
    for a note of another run."""
    for part, batches in parts.items():
        for batch in batches:
            if part == "note":
                cursor.register("incoming_notes", pa.table({"id": batch["id"]}))
                try:
                    taken = one(
                        cursor,
                        "SELECT id, run FROM note SEMI JOIN incoming_notes USING (id) LIMIT 1",
                    )
                finally:
                    cursor.unregister("incoming_notes")
                if taken is not None:
                    raise InputError(
                        f"note {taken[0]}: is one of run {taken[1]} here, expected a note of the"
                        " bundle's own run"
                    )
            columns: dict[str, Any] = {
                column.name: batch[column.name]
                for column in TABLES[part].columns
                if not column.of_pair
            }
            for column in TABLES[part].columns:
                if column.kind == "words":
                    columns[column.name] = arrow_array(
                        column, [text.split() for text in batch[column.name].to_pylist()]
                    )
            if not TABLES[part].shared:
                columns["run"] = pa.repeat(run, batch.num_rows)
            insert(cursor, part, columns, ignore_existing=TABLES[part].shared)


def refuse_wrong_ids(
    evidence_rows: Iterable[pa.RecordBatch], call_rows: Iterable[pa.RecordBatch]
) -> None:
    """Raise InputError for evidence or a call whose id is not the hash of its content: others would
    be shown in its place."""
    for row in (row for batch in evidence_rows for row in batch.to_pylist()):
        # The id may be of the time as stored, without a zone, or of the same time in UTC.
        at = row["retrieved_at"]
        values = {name: row[name] for name in field_names(Evidence)} | {
            "body": json.loads(row["body"])
        }
        if row["id"] not in {
            evidence.identity(Evidence(**{**values, "retrieved_at": time}))
            for time in (at, at and at.replace(tzinfo=UTC))
        }:
            raise InputError(
                f"evidence {row['id']} of {row['tool']}: its id does not belong to what it says"
            )
    for row in (row for batch in call_rows for row in batch.to_pylist()):
        if row["id"] != calls.identity(row["key"], row["request"], row["reply"]):
            raise InputError(f"call {row['id']}: its id does not belong to what was said")


def add_origin(cursor: Cursor, run: str, origin: str, parent_names: Mapping[str, str]) -> None:
    """Record where a bundled run was made, and the names of its parents."""
    cursor.execute(
        "INSERT INTO bundled_run VALUES (?, ?, ?)", [run, origin, json.dumps(dict(parent_names))]
    )


def origin_of(cursor: Cursor, run: str) -> str | None:
    """Return how a bundled run was made in its first workspace (`RunRecord.origin`); None if no
    bundle brought it."""
    row = one(cursor, "SELECT origin FROM bundled_run WHERE run = ?", [run])
    return None if row is None else str(row[0])


def run_names(cursor: Cursor) -> dict[str, str]:
    """Run id → name of every run in the store, and of the parents that bundles name."""
    named: dict[str, str] = {}
    for (texts,) in cursor.execute("SELECT parent_names FROM bundled_run ORDER BY run").fetchall():
        named |= json.loads(texts)
    return named | dict(cursor.execute("SELECT id, name FROM run").fetchall())
