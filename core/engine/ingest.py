"""Copies a journal into the store, in brief transactions that also record how many bytes of it are copied.

So a crash between two transactions neither loses nor doubles a row, and it does not matter who ingests: the worker while it
works, or another process after it crashed. The store's column `run.folded_bytes` holds the bytes ingested.
While a worker works, its `RunReporter` ingests from time to time, and writes its log and heartbeats.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from core.audit.brief_checks import briefs_of, check_briefs, findings_of_events, flags_with_collapse
from core.engine.audit_processes import AuditProcesses, Checked
from core.engine.backend import Backend
from core.engine.journal import Progress, read_entries, read_spending
from core.engine.row_codec import Entry, RetryMark, calls_tokens, pair_id_of
from core.engine.run_folder import RunFolder
from core.engine.run_state import LIVE_STATES, Counts, Ending, Heartbeat, State, write_heartbeat
from core.errors import DiskFull, NotFound, StoreBusy
from core.llm.server_pool import ServerPool
from core.log import record_error
from core.store import Cursor, Store, calls, changes, evidence, predictions, runs, traces
from core.types import Failed, RowResult

# Of one transaction, each of which looks through the run's rows and writes the last rows of every table anew: a whole journal is
# taken in large pieces. A worker has few rows at a time, and takes no more of them when they have gathered.
BATCH_ROWS = 20_000
WORKER_BATCH_ROWS = 5_000
BATCH_BYTES = 1 << 26
LONG_BYTES = BATCH_BYTES  # from which on other processes check the rows: they take a second to start
_LONGEST_LINE = 500  # characters of an error in the run's log
_REST = 10  # the store is left alone for at least so many times as long as an ingest took


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

    @property
    def results(self) -> list[RowResult]:
        """The rows with a prediction, or with the answer of a reading."""
        return [row for row in self.rows.values() if isinstance(row, RowResult)]


def ingest_journal(store: Store, folder: RunFolder, state: State, cause: str = "") -> int:
    """Brings the store up to date with a journal and the state of its run; returns how many rows were written.

    Raises NotFound if the store has no such run, StoreBusy if another process holds it; both can be tried again.
    """
    with store.read() as db:
        start = _ingested_bytes(db, folder)
    if folder.rows.exists() and folder.rows.stat().st_size - start > LONG_BYTES:
        written = _ingest_long(store, folder, start)
    else:
        checked = ((batch, check_briefs(briefs_of(batch.results))) for batch in _batches(folder, start, WORKER_BATCH_ROWS))
        written = sum(_write(store, folder, *each) for each in checked)
    with store.write() as db:
        _ingested_bytes(db, folder)
        _record_spending(db, folder)
        ended = None if state in LIVE_STATES or state == "crashed" else datetime.now()  # the time of a crash is not known
        runs.change_by_worker(db, folder.run, status=state, cause=cause, finished_at=ended)
        evaluation = folder.evaluation()
        if evaluation is not None:
            runs.change_by_worker(db, folder.run, evaluation=json.dumps(evaluation, sort_keys=True))
        changes.bump(db, "runs")
    return written


def record_start(store: Store, folder: RunFolder) -> None:
    """Records in the store that a worker began."""
    with store.write() as db:
        _ingested_bytes(db, folder)
        runs.change_by_worker(db, folder.run, status="running", cause="", started_at=datetime.now(), finished_at=None)
        changes.bump(db, "runs")


def _batches(folder: RunFolder, start: int, most_rows: int) -> Iterator[_Batch]:
    batch = _Batch(start, start)
    for entry, end in read_entries(folder.rows, start):
        batch.add(entry)
        batch.end = end
        if len(batch.rows) >= most_rows or batch.end - batch.start >= BATCH_BYTES:
            yield batch
            batch = _Batch(end, end)
    if batch.end > batch.start:
        yield batch


def _ingest_long(store: Store, folder: RunFolder, start: int) -> int:
    """Writes batches one after the other, as `ingest_journal` does, while others are read and checked; returns how many rows."""
    written, writing = 0, Future[int]()
    writing.set_result(0)
    with AuditProcesses() as processes, _paused_collector(), ThreadPoolExecutor(1, "ingest") as thread:
        for batch, checked in _checked_apart(_batches(folder, start, BATCH_ROWS), processes):
            written += writing.result()
            writing = thread.submit(_write, store, folder, batch, checked)
        return written + writing.result()


def _checked_apart(batches: Iterable[_Batch], processes: AuditProcesses) -> Iterator[tuple[_Batch, Checked]]:
    """Yields batches with what the audit says of their rows; processes check some while the next are read."""
    waiting: deque[tuple[_Batch, Future[Checked]]] = deque()
    for batch in batches:
        waiting.append((batch, processes.check(briefs_of(batch.results))))
        if len(waiting) > processes.size:
            first, checked = waiting.popleft()
            yield first, checked.result()
    for batch, checked in waiting:
        yield batch, checked.result()


@contextlib.contextmanager
def _paused_collector() -> Iterator[None]:
    """Rows refer to no other rows: to look for circles among a million objects, again and again, takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _write(store: Store, folder: RunFolder, batch: _Batch, checked: Checked) -> int:
    run, results = folder.run, batch.results
    failures = [row for row in batch.rows.values() if isinstance(row, Failed)]
    findings, collapsed = findings_of_events(results, checked)
    flags = flags_with_collapse(results, collapsed)
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
        _record_spending(db, folder, batch.spent)
        runs.change_by_worker(db, run, folded_bytes=batch.end)
        changes.bump(db, "runs", f"run:{run}")
    return len(results) + len(failures)


def _record_spending(db: Cursor, folder: RunFolder, of_rows: int = 0) -> None:
    """Brings the tokens that a run has paid for up to date; without a spending log, adds those of rows that were ingested."""
    spending = read_spending(folder.spending)
    if spending is None:
        runs.add_spent(db, folder.run, of_rows)
    else:
        runs.raise_spent(db, folder.run, spending.tokens)


def _ingested_bytes(db: Cursor, folder: RunFolder) -> int:
    """Returns how many bytes of the journal the store has. Raises NotFound if it has no such run."""
    found = runs.folded_bytes(db, folder.run)
    if found is None:
        raise NotFound(f"run {folder.run}: not in the store any more, expected the run of {folder.path}")
    return found


class RunReporter:
    """Reports on the work on a run of `total` rows: to the log, by heartbeats, and to the store.

    state: of the run now. missing: how many rows were not finished when the work began. scrub: takes secrets out of a text.
    pool: of several model servers, if there are. backend: where the rows are predicted, once there is one.
    """

    def __init__(self, folder: RunFolder, store: Store, progress: Progress, total: int, scrub: Callable[[str], str]) -> None:
        self.state: State = "running"
        self.missing = total - len(progress.finished)
        self._folder, self._store, self._progress, self._total, self._scrub = folder, store, progress, total, scrub
        self.pool: ServerPool | None = None
        self.backend: Backend | None = None
        self._begun_at = time.time()
        self._unforeseen_kinds: set[str] = set()

    @property
    def counts(self) -> Counts:
        """How many rows are finished, and what they cost."""
        return Counts.of(self._folder, self._progress)

    def log(self, text: str) -> None:
        """Appends a line to the run's log, with the time and without secrets. A line that the disk does not take is lost."""
        with contextlib.suppress(OSError), self._folder.log.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {self._scrub(text)}\n")

    def log_unforeseen(self, pair_id: str, error: BaseException) -> None:
        """Logs a row's error that no room expects, the first of its kind only: a line here, and the traceback in the workspace's
        log."""
        kind = type(error).__name__
        if kind not in self._unforeseen_kinds:
            self._unforeseen_kinds.add(kind)
            text = " ".join(f"{kind}: {error}".split())[:_LONGEST_LINE]
            self.log(f"row {pair_id}: {text} (the first of its kind; every such row is a failure)")
            record_error(f"run {self._folder.run}: row {pair_id}", error)

    def enter_state(self, state: State) -> None:
        """Sets the state; if it changes, logs it and writes a heartbeat at once."""
        if state != self.state:
            self.state = state
            self.log(state)
            self.write_heartbeat()

    def write_heartbeat(self) -> None:
        """Records that the worker lives, in which state, and how many rows are finished."""
        rows = len(self._progress.finished) - (self._total - self.missing)
        seconds = time.time() - self._begun_at
        rate = rows / seconds if rows > 0 and seconds > 0 else None
        servers, notice = (self.pool.statuses, self.pool.notice) if self.pool else ((), "")
        nodes, waits = (self.backend.nodes, self.backend.notice) if self.backend else ((), "")
        size, notice = self._progress.bytes, "; ".join(filter(None, (notice, waits)))
        heartbeat = Heartbeat(self.state, self.counts, self._total, size, self._begun_at, rate, servers, notice, nodes)
        write_heartbeat(self._folder, heartbeat)

    async def ingest_until(self, stop: asyncio.Event, every_s: float) -> None:
        """Brings the store up to date every so many seconds until `stop` is set; after a busy store or full disk, the next time.

        Large tables take longer to write, so the store is left alone for longer then. Raises NotFound if the store has no such
        run any more.
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
                await asyncio.to_thread(ingest_journal, self._store, self._folder, self.state)
                ingested = present
            except (StoreBusy, DiskFull) as error:
                self.log(str(error))
            took_s = time.monotonic() - start

    async def ingest_ending(self, ending: Ending, cause: str) -> None:
        """Brings the store up to date with how the work ended; logs it if that fails, and leaves it to the next ingest."""
        try:
            await asyncio.to_thread(ingest_journal, self._store, self._folder, ending, cause)
        except (StoreBusy, DiskFull, NotFound) as error:
            self.log(f"not in the store yet: {error}")
