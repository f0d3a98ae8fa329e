"""Writes finished rows as a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.importing.audited_rows import AuditedRows
from core.store import Cursor, changes, runs
from core.store.queries import insert_all
from core.store.runs import Run
from core.version import describe as describe_version

_UNCOUNTED: Mapping[str, Any] = dict.fromkeys(("failed", "fallbacks", "collapsed", "tokens_unknown"), 0) | {"tokens": None}


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """What a run is, apart from its rows. `id` is made from `spec`'s content, so that two people's links agree."""

    id: str
    dataset: str
    name: str
    method: str
    origin: str
    spec: Mapping[str, Any]
    track: str | None = None
    model: str | None = None
    note: str | None = None
    parents: tuple[str, ...] = ()


def write_run(db: Cursor, metadata: RunMetadata, rows: AuditedRows) -> Run:
    """Store a finished run with its rows, traces and evidence, in the caller's transaction; return it."""
    run = Run(
        id=metadata.id,
        dataset=metadata.dataset,
        name=metadata.name,
        method=metadata.method,
        origin=metadata.origin,
        track=metadata.track,
        model=metadata.model,
        spec=metadata.spec,
        parents=metadata.parents,
        status="done",
        total=len(rows),
        done=len(rows),
        **_UNCOUNTED,
        code_version=describe_version(),
        note=metadata.note,
    )
    runs.add(db, run)
    for batch in rows.batches(run.id):
        insert_all(db, batch)
    runs.update_counts(db, run.id)
    changes.bump(db, "runs", f"run:{run.id}")
    return runs.find(db, run.id)
