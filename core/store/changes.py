"""Record every change: a line in the audit log, and counters that tell caches when they are out of
date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from core.base.row_schema import local_of
from core.store.connection import Cursor
from core.store.queries import insert_values, one

if TYPE_CHECKING:
    import pandas as pd

_OF_RUN: Final = "run:"


def record(
    cursor: Cursor, author: str, action: str, subject: str, detail: Mapping[str, Any]
) -> int:
    """Append a line to the audit log, in the transaction that makes the change; return its
    position.

    Lines are only ever added. The lock of a write keeps others from adding one meanwhile.
    """
    [last] = one(cursor, "SELECT max(position) FROM trail") or (None,)
    position = int(last or 0) + 1
    line = {
        "position": position,
        "changed_at": local_of(datetime.now(UTC)),
        "author": author,
        "action": action,
        "subject": subject,
        "detail": json.dumps(detail, default=str, sort_keys=True),
    }
    insert_values(cursor, "trail", line)
    return position


def latest(cursor: Cursor, limit: int = 50) -> pd.DataFrame:
    """Return the last lines of the audit log, newest first: position, changed_at, author, action,
    subject, detail."""
    columns = "position, changed_at, author, action, subject, detail"
    return cursor.execute(
        f"SELECT {columns} FROM trail ORDER BY position DESC LIMIT ?", [limit]
    ).df()


def of_action(cursor: Cursor, action: str, author: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (subject, detail) of an author's changes of one kind, oldest first."""
    rows = cursor.execute(
        "SELECT subject, detail FROM trail WHERE action = ? AND author = ? ORDER BY position",
        [action, author],
    ).fetchall()
    return [(subject, json.loads(detail)) for subject, detail in rows]


def bump(cursor: Cursor, *scopes: str) -> None:
    """Increase the counters of what changed, in the transaction that changes it.

    Scopes: "runs" (the list of runs), "datasets", "notes", "spaces" (and knowledge packs),
    "presets", "walks" (walk-throughs), "ledger", "rubrics" (the user's own), "labels" (and samples
    of texts), and "run:ID" for the rows of one run: those of runs that are made from it move along,
    since how they are scored follows from their parents.
    """
    of_runs = [scope for scope in scopes if scope.startswith(_OF_RUN)]
    n = len(of_runs)
    made = (
        cursor.execute("SELECT id, parents FROM run WHERE len(parents) > 0").fetchall()
        if of_runs
        else []
    )
    for scope in of_runs:  # which grows
        parent = scope.removeprefix(_OF_RUN)
        of_runs += [
            child
            for run, parents in made
            if parent in parents and (child := f"{_OF_RUN}{run}") not in of_runs
        ]
    for scope in (*scopes, *of_runs[n:]):
        cursor.execute(
            "INSERT INTO version VALUES (?, 1) ON CONFLICT (scope) DO UPDATE SET n = n + 1", [scope]
        )


def versions(cursor: Cursor) -> dict[str, int]:
    """Return the counters of all scopes; a scope that never changed is absent."""
    return dict(cursor.execute("SELECT scope, n FROM version").fetchall())
