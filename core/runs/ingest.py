"""Copies a journal into the store, in brief transactions that also record how many bytes of it are
copied.

So a crash between two transactions neither loses nor doubles a row, and it does not matter who
ingests: the worker while it works, or another process after it crashed. The store's column
`run.folded_bytes` holds the bytes ingested. While a worker works, its `RunReporter` ingests from
time to time, and writes its log and heartbeats.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from core.base.errors import InputError, NotFound, StoreBusy, StoreMemoryShort, SystemFailure
from core.base.log import record_error
from core.base.types import LIVE_STATES, Failed, FinishedRow, RowResult
from core.llm.server_pool import ServerPool
from core.methods.brief_checks import check_rows, flags_with_collapse
from core.runs.journal import (
    Entry,
    Progress,
    RetryMark,
    calls_tokens,
    read_entries,
    read_spending,
)
from core.runs.run_folder import RunFolder
from core.runs.run_state import Counts, Ending, Heartbeat, State, write_heartbeat
from core.store import Cursor, Store, calls, changes, evidence, predictions, runs, traces
from core.store.queries import Insertion, insert_all

# Of a transaction: a commit takes about three times its bytes in memory; a worker's store has
# `WORKER_STORE_MB`.
BATCH_ROWS = 5_000
BATCH_BYTES = 1 << 24
_MOST_STORE_MB = 1 << 11  # DuckDB needs the content of some 2,000 rows in memory
_LONGEST_LINE = 500  # characters of an error in the run's log
_REST = 10  # the pause after an ingest is at least this many times its duration


def ingest_journal(
    store: Store, folder: RunFolder, state: State, cause: str = "", *, until: int | None = None
) -> int:
    """Bring the store up to date with a journal and the state of its run; return how many rows were
    written.

    until: for a journal that is being written, the bytes that are certainly on disk, so that the
    store never has more than the journal after a power cut. Raise NotFound if the store has no such
    run, StoreBusy if another process holds it; both can be tried again. Raise InputError for an
    invalid line, after those before it are in the store.
    """
    with store.read() as db:
        start = _ingested_bytes(db, folder)
    size = folder.rows.stat().st_size if folder.rows.exists() else 0
    left = Piece(folder.run, folder.rows.absolute(), start, size if until is None else until)
    written = sum(
        _write(store, folder, batch) for batch in read_batches(left, BATCH_ROWS, BATCH_BYTES)
    )
    with store.write() as db:
        _ingested_bytes(db, folder)
        _record_spending(db, folder)
        # the time of a crash is unknown
        ended = None if state in LIVE_STATES or state == "crashed" else datetime.now()
        runs.change_by_worker(db, folder.run, status=state, cause=cause, finished_at=ended)
        evaluation = folder.evaluation()
        if evaluation is not None:
            runs.change_by_worker(db, folder.run, evaluation=json.dumps(evaluation, sort_keys=True))
        changes.bump(db, "runs")
    return written


def record_start(store: Store, folder: RunFolder) -> None:
    """Record in the store that a worker began. Called before it appends to the journal."""
    with store.write() as db:
        if _ingested_bytes(db, folder) > (
            folder.rows.stat().st_size if folder.rows.exists() else 0
        ):
            runs.change_by_worker(
                db, folder.run, folded_bytes=0
            )  # lines were lost since then, so the remaining ones are ingested again
        runs.change_by_worker(
            db, folder.run, status="running", cause="", started_at=datetime.now(), finished_at=None
        )
        changes.bump(db, "runs")


def _write(store: Store, folder: RunFolder, batch: RowBatch) -> int:
    run = folder.run
    with store.write() as db:
        if _ingested_bytes(db, folder) != batch.start:  # another process was faster
            return 0
        predictions.delete(db, run, batch.pair_ids)
        insert_all(db, batch.insertions)
        runs.update_counts(db, run)
        _record_spending(db, folder, batch.spent)
        runs.change_by_worker(db, run, folded_bytes=batch.end)
        changes.bump(db, "runs", f"run:{run}")
    return batch.finished


def _record_spending(db: Cursor, folder: RunFolder, of_rows: int = 0) -> None:
    """Update the tokens that a run has paid for; without a spending log, adds those of rows that
    were ingested."""
    spending = read_spending(folder.spending)
    if spending is None:
        runs.add_spent(db, folder.run, of_rows)
    else:
        runs.raise_spent(db, folder.run, spending.tokens)


def _ingested_bytes(db: Cursor, folder: RunFolder) -> int:
    """Return how many bytes of the journal the store has. Raise NotFound if it has no such run."""
    found = runs.folded_bytes(db, folder.run)
    if found is None:
        raise NotFound(f"run {folder.run}: not in the store, expected the run of {folder.path}")
    return found


class RunReporter:
    """Reports on the work on a run of `total` rows: to the log, by heartbeats, and to the store.

    state: of the run now. missing: how many rows were not finished when the work began. scrub:
    removes secrets from a text. pool: of several model servers, or None.
    """

    def __init__(
        self,
        folder: RunFolder,
        store: Store,
        progress: Progress,
        total: int,
        scrub: Callable[[str], str],
    ) -> None:
        self.state: State = "running"
        self.missing = total - len(progress.finished)
        self._folder, self._store, self._progress, self._total, self._scrub = (
            folder,
            store,
            progress,
            total,
            scrub,
        )
        self.pool: ServerPool | None = None
        # for messages, and for the rate
        self._begun_at, self._begun = time.time(), time.monotonic()
        self._unforeseen_kinds: set[str] = set()

    @property
    def counts(self) -> Counts:
        """The number of finished rows, and their cost."""
        return Counts.of(self._folder, self._progress)

    def log(self, text: str) -> None:
        """Append a line to the run's log, with the time and without secrets. A line that cannot be
        written is dropped."""
        with (
            contextlib.suppress(OSError),
            self._folder.log.open("a", encoding="utf-8", errors="replace") as log,
        ):
            log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {self._scrub(text)}\n")

    def log_unforeseen(self, pair_id: str, error: BaseException) -> None:
        """Log an unexpected error of a row, only the first of its kind: a line here, and the
        traceback in the workspace's log."""
        kind = type(error).__name__
        if kind not in self._unforeseen_kinds:
            self._unforeseen_kinds.add(kind)
            text = " ".join(f"{kind}: {error}".split())[:_LONGEST_LINE]
            self.log(f"row {pair_id}: {text} (the first of its kind; every such row is a failure)")
            record_error(f"run {self._folder.run}: row {pair_id}", error)

    def enter_state(self, state: State) -> None:
        """Set the state; if it changes, log it and write a heartbeat at once."""
        if state != self.state:
            self.state = state
            self.log(state)
            self.write_heartbeat()

    def write_heartbeat(self) -> None:
        """Record that the worker is alive, its state, and the number of finished rows."""
        rows = len(self._progress.finished) - (self._total - self.missing)
        seconds = time.monotonic() - self._begun
        rate = rows / seconds if rows > 0 and seconds > 0 else None
        servers, notice = (self.pool.states, self.pool.notice) if self.pool else ((), "")
        write_heartbeat(
            self._folder,
            Heartbeat(self.state, self._total, self.counts, self._begun_at, rate, servers, notice),
        )

    async def ingest_until(self, stop: asyncio.Event, every_s: float) -> None:
        """Ingest at intervals until `stop` is set; retry the next time if the store is busy or the
        disk full.

        Large tables take longer to write, so the interval grows with them. Raise NotFound if the
        store has lost the run.
        """
        ingested: tuple[int, State] = (0, "running")
        took_s = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(every_s, _REST * took_s))
                return
            present = (self._progress.bytes, self.state)
            if present == ingested:
                continue
            start = time.monotonic()
            try:
                await self._ingest(self.state, until=present[0])
                ingested = present
            except (StoreBusy, SystemFailure) as error:
                self.log(str(error))
            took_s = time.monotonic() - start

    async def ingest_ending(self, ending: Ending, cause: str) -> None:
        """Bring the store up to date with how the work ended; log it if that fails, and leave it to
        the next ingest."""
        try:
            await self._ingest(ending, cause, until=self._progress.bytes)
        except (StoreBusy, SystemFailure, NotFound) as error:
            self.log(f"not in the store yet: {error}")

    async def _ingest(self, state: State, cause: str = "", *, until: int) -> None:
        """Ingest as `ingest_journal` does. If the store's memory is too small for long rows, double
        it from now on."""
        while True:
            try:
                await asyncio.to_thread(
                    ingest_journal, self._store, self._folder, state, cause, until=until
                )
                return
            except StoreMemoryShort as error:
                if self._store.memory_mb >= _MOST_STORE_MB:
                    raise
                self.log(f"{error}; this worker gives it {2 * self._store.memory_mb:,} MB")
                self._store = self._store.with_memory(2 * self._store.memory_mb)


class Piece(NamedTuple):
    """Whole lines of a run's journal. start, end: in bytes."""

    run: str
    file: Path
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some lines of a journal. start, end: in bytes. pair_ids: of the row of each line, also if it
    is marked for retry.

    finished: the number of rows with a result or a failure. spent: tokens. damage: the fault in the
    next line, or None.
    """

    start: int
    end: int
    pair_ids: list[str]
    finished: int
    spent: int
    insertions: list[Insertion]
    damage: InputError | None


@dataclass(slots=True)
class _Entries:
    """Entries of a journal. rows: pair id → its last entry, None for a failure marked for retry."""

    rows: dict[str, FinishedRow | None] = field(default_factory=dict)
    spent: int = 0

    def add(self, entry: Entry) -> None:
        if isinstance(entry, RetryMark):
            self.rows |= dict.fromkeys(entry.pair_ids)
        else:
            self.rows[entry.pair_id] = entry
            self.spent += calls_tokens(entry.calls, spent=True)

    def lay_out(self, run: str, start: int, end: int, damage: InputError | None) -> RowBatch:
        """Return them as rows of the store, with what the audit finds in their briefs."""
        results = [row for row in self.rows.values() if isinstance(row, RowResult)]
        failures = [row for row in self.rows.values() if isinstance(row, Failed)]
        findings, collapsed = check_rows(results)
        insertions = [
            predictions.insertion_of(run, results, flags_with_collapse(results, collapsed)),
            predictions.insertion_of_failed(run, failures),
            traces.insertion_of(run, results, findings),
            *evidence.insertions_of(run, results),
            *calls.insertions_of(
                run, {key: row.calls for key, row in self.rows.items() if row is not None}
            ),
        ]
        return RowBatch(
            start,
            end,
            list(self.rows),
            len(results) + len(failures),
            self.spent,
            insertions,
            damage,
        )


def read_batches(piece: Piece, most_rows: int, size: int) -> Iterator[RowBatch]:
    """Yield the lines of a piece in order, in batches of at most `most_rows` rows or `size` bytes.

    Raise InputError for an invalid line, after yielding the lines before it.
    """
    start = piece.start
    while start < piece.end:
        entries, end, damage = _Entries(), start, None
        try:
            for entry, end in read_entries(piece.file, start):
                entries.add(entry)
                if end >= min(start + size, piece.end) or len(entries.rows) >= most_rows:
                    break
        except InputError as error:
            damage = error
        batch = entries.lay_out(piece.run, start, end, damage)
        if batch.end > start:
            yield batch
        if batch.damage is not None:
            raise batch.damage
        if batch.end == start:
            return  # a torn last line
        start = batch.end
