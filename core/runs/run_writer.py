"""Writes finished rows as a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.base.version import describe as describe_version
from core.runs.audited_rows import AuditedRows
from core.store import Cursor, changes, runs
from core.store.queries import insert_all
from core.store.runs import Run

_UNCOUNTED: Mapping[str, Any] = dict.fromkeys(
    ("failed", "fallbacks", "collapsed", "tokens_unknown"), 0
)
_UNKNOWN: Mapping[str, Any] = dict.fromkeys(("tokens", "track", "model"))


def write_run(db: Cursor, rows: AuditedRows, **of_run: Any) -> Run:
    """Store a finished run with its rows, traces and evidence, in the caller's transaction; return
    it.

    of_run: the fields of `Run` that its rows do not tell. `id` is made from `spec`'s content, so
    that two people's links agree.
    """
    finished: dict[str, Any] = {
        "status": "done",
        "total": len(rows),
        "done": len(rows),
        "parents": (),
    }
    run = Run(
        **{**_UNCOUNTED, **_UNKNOWN, **finished, "code_version": describe_version(), **of_run}
    )
    runs.add(db, run)
    for batch in rows.batches(run.id):
        insert_all(db, batch)
    runs.update_counts(db, run.id)
    changes.bump(db, "runs", f"run:{run.id}")
    return runs.find(db, run.id)
