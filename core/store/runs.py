"""Runs: one line each for a set of predictions and how they came about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.errors import NotFound, StateError
from core.row_schema import ROW_TABLES
from core.store.connection import Cursor
from core.store.queries import one

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = (
    "id, dataset, name, method, origin, track, model, spec, parents, status, total, done, failed, fallbacks, collapsed, "
    "tokens, tokens_unknown, created_at, code_version, public_score, note, folded_bytes, cause, spent_tokens, expected_calls, "
    "started_at, finished_at"
)


@dataclass(frozen=True, slots=True)
class Run:
    """One run. origin: imported, simulated or run here; counts are rows; tokens is the sum over rows that know theirs.

    collapsed counts rows in which a brief opens with a multiple-choice option; tokens is what the rows cost, None where no row
    knows, and spent_tokens what this run paid for, answers from the cache left out. cause: why it stopped, "" where it did
    not. folded_bytes: how much of its journal is in the store. expected_calls: of a model, without retries.
    """

    id: str
    dataset: str
    name: str
    method: str
    origin: str
    track: str | None
    model: str | None
    spec: Mapping[str, Any]
    parents: tuple[str, ...]
    status: str
    total: int
    done: int
    failed: int
    fallbacks: int
    collapsed: int
    tokens: int | None
    tokens_unknown: int
    code_version: str
    public_score: float | None = None
    note: str | None = None
    created_at: datetime | None = field(default=None, compare=False)
    folded_bytes: int = 0
    cause: str = ""
    spent_tokens: int | None = None
    expected_calls: int | None = None
    started_at: datetime | None = field(default=None, compare=False)
    finished_at: datetime | None = field(default=None, compare=False)


def add(cursor: Cursor, run: Run) -> None:
    """Create a run, made now unless it says when; its id must be new, its name new within the dataset."""
    refuse_taken_name(cursor, run.dataset, run.name)
    cursor.execute(
        f"""INSERT INTO run ({_COLUMNS})
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,coalesce(?, now()::TIMESTAMP),?,?,?,?,?,?,?,?,?)""",
        [
            *(run.id, run.dataset, run.name, run.method, run.origin, run.track, run.model),
            *(json.dumps(dict(run.spec), sort_keys=True), list(run.parents), run.status, run.total, run.done, run.failed),
            *(run.fallbacks, run.collapsed, run.tokens, run.tokens_unknown, run.created_at, run.code_version),
            *(run.public_score, run.note),
            *(run.folded_bytes, run.cause, run.spent_tokens, run.expected_calls, run.started_at, run.finished_at),
        ],
    )


def refuse_taken_name(cursor: Cursor, dataset: str, name: str) -> None:
    """Raise StateError when a run of the dataset has that name."""
    if one(cursor, "SELECT 1 FROM run WHERE dataset = ? AND name = ?", [dataset, name]):
        raise StateError(f"run {name!r}: the name is taken in this dataset; choose another, or use --replace")


def refuse_unknown_row(cursor: Cursor, run: str, pair_id: str) -> None:
    """Raise NotFound when the run has no row of that id."""
    if not one(cursor, "SELECT 1 FROM prediction WHERE run = ? AND pair_id = ?", [run, pair_id]):
        raise NotFound(f"row {pair_id!r}: not in this run")


def all_of_them(cursor: Cursor, dataset: str | None = None) -> list[Run]:
    """The runs of a dataset, or of the whole workspace, oldest first."""
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM run WHERE ? IS NULL OR dataset = ? ORDER BY created_at, name", [dataset, dataset]
    ).fetchall()
    return [_record(row) for row in rows]


def find(cursor: Cursor, name: str) -> Run:
    """The run of an id or name. Raises NotFound, or StateError where two datasets have a run of that name."""
    rows = cursor.execute(f"SELECT {_COLUMNS} FROM run WHERE id = ? OR name = ? ORDER BY id = ? DESC", [name] * 3).fetchall()
    if not rows:
        known = [run.name for run in all_of_them(cursor)]
        raise NotFound(f"run {name!r}: not in this workspace, which has {', '.join(known) or 'none'}")
    found = [_record(row) for row in rows]
    if len(found) > 1 and found[0].id != name:
        raise StateError(f"run {name!r}: {len(found)} datasets have one; use an id: {', '.join(r.id for r in found)}")
    return found[0]


def _record(row: tuple[Any, ...]) -> Run:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    values["spec"] = json.loads(values["spec"])
    values["parents"] = tuple(values["parents"])
    values["folded_bytes"], values["cause"] = values["folded_bytes"] or 0, values["cause"] or ""
    return Run(**values)


def change(cursor: Cursor, run: str, **values: str | float | None) -> None:
    """Set name, note or public_score of the run with this id."""
    for column, value in values.items():
        if column not in ("name", "note", "public_score"):
            raise ValueError(f"run.{column} is not a person's to change")
        cursor.execute(f"UPDATE run SET {column} = ? WHERE id = ?", [value, run])


def delete(cursor: Cursor, run: str) -> None:
    """Take away a run, its rows, traces and notes, and the evidence and calls of no other run."""
    for table in (*ROW_TABLES, "note"):
        cursor.execute(f"DELETE FROM {table} WHERE run = ?", [run])
    cursor.execute("DELETE FROM evidence WHERE id NOT IN (SELECT evidence FROM row_evidence)")
    cursor.execute("DELETE FROM call WHERE id NOT IN (SELECT call FROM row_call)")
    cursor.execute("DELETE FROM bundled_run WHERE run = ?", [run])
    cursor.execute("DELETE FROM run WHERE id = ?", [run])


def relying_on(cursor: Cursor, source: str) -> list[str]:
    """Names of the runs that predict a row which came with this import."""
    rows = cursor.execute(
        """SELECT DISTINCT r.name FROM pair p JOIN run r ON r.dataset = p.dataset
           JOIN prediction q ON q.run = r.id AND q.pair_id = p.pair_id WHERE p.import = ? ORDER BY 1""",
        [source],
    ).fetchall()
    return [name for (name,) in rows]


def labelled(cursor: Cursor, dataset: str | None = None) -> pd.DataFrame:
    """Per run: run, labelled (rows with a label), unlabelled."""
    return cursor.execute(
        """SELECT q.run, count(p.label) AS labelled, count(*) - count(p.label) AS unlabelled
           FROM prediction q JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id
           WHERE ? IS NULL OR r.dataset = ? GROUP BY q.run""",
        [dataset, dataset],
    ).df()
