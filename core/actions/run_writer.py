"""Write a finished set of rows as a run: what importing, simulating and folding a journal share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core import __version__
from core.actions.run_folders import refuse_live
from core.actions.workspace import Workspace
from core.audit import brief_checks
from core.errors import StateError
from core.store import Cursor, cache_versions, evidence, imports, predictions, runs, traces
from core.store.runs import Run
from core.types import FALLBACKS, Flag, RowResult


@dataclass(frozen=True, slots=True)
class AuditedRows:
    """Rows with what the audit found in them: one list of findings an event, one list of flags a row."""

    rows: Sequence[RowResult]
    findings: Sequence[Sequence[str]]
    flags: Sequence[Sequence[str]]


def audit_rows(rows: Sequence[RowResult]) -> AuditedRows:
    """Look at every brief once, before the store is locked."""
    findings, collapsed = brief_checks.check_rows(rows)
    flags = [
        list(dict.fromkeys([*row.prediction.flags, *([Flag.ROLE_COLLAPSE] if collapse else [])]))
        for row, collapse in zip(rows, collapsed, strict=True)
    ]
    return AuditedRows(rows, findings, flags)


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


def made_here(dataset: str, name: str, method: str, spec: Mapping[str, Any], parents: tuple[str, ...] = ()) -> RunMetadata:
    """The origin of a run that is made in this workspace, known by its dataset, name and specification."""
    whole = {"method": method, **spec}
    key = hashlib.sha256(json.dumps([dataset, name, whole], sort_keys=True).encode()).hexdigest()[:10]
    return RunMetadata(key, dataset, name, method, "made here", whole, parents=parents)


def same_or_refused(db: Cursor, workspace: Workspace, origin: RunMetadata, *, replace: bool) -> Run | None:
    """The run of this origin where it is here already.

    Raises StateError where its name is another's, unless `replace`, and in any case where that is a parent or a worker is on it.
    """
    here = runs.all_of_them(db, origin.dataset)
    same = next((run for run in here if run.id == origin.id), None)
    named = next((run for run in here if run.name == origin.name), None)
    if same is None and named is not None:
        if named.id in origin.parents:
            raise StateError(f"run {origin.name!r}: a parent of the run that would replace it; choose another name")
        if not replace:
            raise StateError(f"run {origin.name!r} exists with another specification; choose another name, or use --replace")
        refuse_live(workspace, named.id)
    return same


def make_room(db: Cursor, workspace: Workspace, origin: RunMetadata, *, replace: bool) -> list[str]:
    """Delete the run of the origin's name, if there is one; the ids of runs whose folders have to go after the transaction.

    Raises StateError as `same_or_refused` does, since the name may have been taken after that was asked.
    """
    same = same_or_refused(db, workspace, origin, replace=replace)
    if same is not None:
        refuse_live(workspace, same.id)
    gone = [run.id for run in runs.all_of_them(db, origin.dataset) if run.name == origin.name]
    for run in gone:
        imports.delete_with_run(db, run)
        cache_versions.bump(db, f"run:{run}")
    return [run for run in gone if run != origin.id]


def write_run(db: Cursor, origin: RunMetadata, batch: AuditedRows) -> Run:
    """Store a finished run with its rows, traces and evidence, in the caller's transaction."""
    known = [row.prediction.tokens for row in batch.rows if row.prediction.tokens is not None]
    run = Run(
        id=origin.id,
        dataset=origin.dataset,
        name=origin.name,
        method=origin.method,
        origin=origin.origin,
        track=origin.track,
        model=origin.model,
        spec=origin.spec,
        parents=origin.parents,
        status="done",
        total=len(batch.rows),
        done=len(batch.rows),
        failed=0,
        fallbacks=sum(any(flag in FALLBACKS for flag in flags) for flags in batch.flags),
        collapsed=sum(Flag.ROLE_COLLAPSE in flags for flags in batch.flags),
        tokens=sum(known) if known else None,
        tokens_unknown=len(batch.rows) - len(known),
        code_version=__version__,
        note=origin.note,
    )
    runs.add(db, run)
    predictions.add(db, run.id, batch.rows, batch.flags)
    traces.add(db, run.id, batch.rows, batch.findings)
    evidence.add(db, run.id, batch.rows)
    cache_versions.bump(db, "runs", f"run:{run.id}")
    return run
