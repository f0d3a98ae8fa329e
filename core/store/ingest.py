"""What ingesting a journal changes in the store: rows, failures, and the counts and state of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from core.row_schema import ROW_TABLES, TABLES
from core.store.connection import Cursor
from core.store.queries import arrow_array, insert, one
from core.types import FALLBACKS, Failed, Flag

_TABLE = TABLES["prediction"]
_SETTABLE = frozenset({"status", "cause", "folded_bytes", "started_at", "finished_at"})


def folded_bytes(cursor: Cursor, run: str) -> int | None:
    """Bytes of a run's journal that are in the store; None if the store has no such run."""
    row = one(cursor, "SELECT coalesce(folded_bytes, 0) FROM run WHERE id = ?", [run])
    return None if row is None else int(row[0])


def delete_rows(cursor: Cursor, run: str, pair_ids: Sequence[str]) -> None:
    """Delete rows of a run; notes on them stay. Calls and evidence stay until `runs.delete`."""
    cursor.register("deleted", pa.table({"pair_id": pa.array(list(pair_ids), pa.string())}))
    try:
        any_row = one(cursor, "SELECT 1 FROM prediction SEMI JOIN deleted USING (pair_id) WHERE run = ? LIMIT 1", [run])
        for table in ROW_TABLES if any_row else ():
            cursor.execute(f"DELETE FROM {table} WHERE run = ? AND pair_id IN (SELECT pair_id FROM deleted)", [run]).fetchall()
    finally:
        cursor.unregister("deleted")


def add_failed(cursor: Cursor, run: str, rows: Sequence[Failed]) -> None:
    """Add rows that failed: numbers are NULL, `error` is the kind and message, tokens are those of the calls."""
    if not rows:
        return
    prompts = [sum(call.prompt_tokens for call in row.calls) for row in rows]
    answers = [sum(call.completion_tokens for call in row.calls) for row in rows]
    columns: dict[str, Any] = {
        "run": [run] * len(rows),
        "pair_id": [row.pair_id for row in rows],
        "flags": arrow_array(_TABLE["flags"], [()] * len(rows)),
        "error": [f"{row.kind}: {row.message}" for row in rows],
        "tokens": arrow_array(_TABLE["tokens"], [sum(both) for both in zip(prompts, answers, strict=True)]),
        "prompt_tokens": arrow_array(_TABLE["prompt_tokens"], prompts),
    }
    insert(cursor, "prediction", columns)


def update_counts(cursor: Cursor, run: str) -> None:
    """Set a run's counts from its rows: done, failed, fallbacks, collapsed and tokens."""
    cursor.execute(
        """UPDATE run SET done = c.done, failed = c.failed, fallbacks = c.fallbacks, collapsed = c.collapsed,
             tokens = c.tokens, tokens_unknown = c.unknown
           FROM (SELECT count(*) FILTER (error IS NULL) AS done, count(*) FILTER (error IS NOT NULL) AS failed,
                   count(*) FILTER (list_has_any(flags, ?)) AS fallbacks, count(*) FILTER (list_contains(flags, ?)) AS collapsed,
                   sum(tokens) AS tokens, count(*) FILTER (tokens IS NULL) AS unknown
                 FROM prediction WHERE run = ?) c WHERE run.id = ?""",
        [[str(flag) for flag in FALLBACKS], str(Flag.ROLE_COLLAPSE), run, run],
    )


def add_spent(cursor: Cursor, run: str, tokens: int) -> None:
    """Add to the tokens that a run has paid for."""
    cursor.execute("UPDATE run SET spent_tokens = coalesce(spent_tokens, 0) + ? WHERE id = ?", [tokens, run])


def update_run(cursor: Cursor, run: str, **values: Any) -> None:
    """Set columns of a run that its worker may change: status, cause, folded_bytes, started_at, finished_at."""
    wrong = values.keys() - _SETTABLE
    if wrong:
        raise ValueError(f"run.{', '.join(sorted(wrong))} is not a worker's to change")
    for column, value in values.items():
        cursor.execute(f"UPDATE run SET {column} = ? WHERE id = ?", [value, run])


def statuses(cursor: Cursor) -> Mapping[str, str]:
    """Run id → status of every run."""
    return dict(cursor.execute("SELECT id, status FROM run").fetchall())
