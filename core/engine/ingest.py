"""Copies a journal into the store, in brief transactions that also record how many bytes of it are copied.

So a crash between two transactions neither loses nor doubles a row, and it does not matter who ingests: the worker while it
works, or another process after it crashed. The store's column `run.folded_bytes` holds the bytes ingested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from core.audit import brief_checks
from core.engine.journal import RunFolder, read_entries
from core.engine.row_codec import Entry, RetryMark, calls_tokens, pair_id_of
from core.engine.run_state import LIVE_STATES, State
from core.errors import NotFound
from core.store import Cursor, Store, calls, changes, evidence, predictions, runs, traces
from core.types import Failed, RowResult

BATCH_ROWS = 500
BATCH_BYTES = 1 << 24


@dataclass(slots=True)
class _Batch:
    """Some lines of a journal. start, end: in bytes. rows: pair id → its last entry, None for a failure marked for retry."""

    start: int
    end: int
    rows: dict[str, RowResult | Failed | None] = field(default_factory=dict)
    spent: int = 0

    def add(self, entry: Entry) -> None:
        if isinstance(entry, RetryMark):
            self.rows |= dict.fromkeys(entry.pair_ids)
        else:
            self.rows[pair_id_of(entry)] = entry
            self.spent += calls_tokens(entry.calls, spent=True)


def ingest_journal(store: Store, folder: RunFolder, state: State, cause: str = "") -> int:
    """Brings the store up to date with a journal and the state of its run; returns how many rows were written.

    Raises NotFound if the store has no such run, StoreBusy if another process holds it; both can be tried again.
    """
    written = 0
    with store.read() as db:
        start = _ingested_bytes(db, folder)
    for batch in _batches(folder, start):
        written += _write(store, folder, batch)
    with store.write() as db:
        _ingested_bytes(db, folder)
        ended = None if state in LIVE_STATES or state == "crashed" else _now()  # the time of a crash is not known
        runs.change_by_worker(db, folder.run, status=state, cause=cause, finished_at=ended)
        changes.bump(db, "runs")
    return written


def record_start(store: Store, folder: RunFolder) -> None:
    """Records in the store that a worker began."""
    with store.write() as db:
        _ingested_bytes(db, folder)
        runs.change_by_worker(db, folder.run, status="running", cause="", started_at=_now(), finished_at=None)
        changes.bump(db, "runs")


def _batches(folder: RunFolder, start: int) -> Iterator[_Batch]:
    batch = _Batch(start, start)
    for entry, end in read_entries(folder.rows, start):
        batch.add(entry)
        batch.end = end
        if len(batch.rows) >= BATCH_ROWS or batch.end - batch.start >= BATCH_BYTES:
            yield batch
            batch = _Batch(end, end)
    if batch.end > batch.start:
        yield batch


def _write(store: Store, folder: RunFolder, batch: _Batch) -> int:
    run = folder.run
    results = [row for row in batch.rows.values() if isinstance(row, RowResult)]
    failures = [row for row in batch.rows.values() if isinstance(row, Failed)]
    findings, collapsed = brief_checks.check_rows(results)
    flags = brief_checks.flags_with_collapse(results, collapsed)
    with store.write() as db:
        if _ingested_bytes(db, folder) != batch.start:  # another process was faster
            return 0
        predictions.delete(db, run, list(batch.rows))
        predictions.add(db, run, results, flags)
        predictions.add_failed(db, run, failures)
        traces.add(db, run, results, findings)
        evidence.add(db, run, results)
        calls.add(db, run, {key: row.calls for key, row in batch.rows.items() if row is not None})
        runs.update_counts(db, run)
        runs.add_spent(db, run, batch.spent)
        runs.change_by_worker(db, run, folded_bytes=batch.end)
        changes.bump(db, "runs", f"run:{run}")
    return len(results) + len(failures)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _ingested_bytes(db: Cursor, folder: RunFolder) -> int:
    """Returns how many bytes of the journal the store has. Raises NotFound if it has no such run."""
    found = runs.folded_bytes(db, folder.run)
    if found is None:
        raise NotFound(f"run {folder.run}: not in the store any more, expected the run of {folder.path}")
    return found
