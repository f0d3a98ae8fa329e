"""The state of a run, as its folder shows it: a run is running only while its worker writes heartbeats.

waiting      created, no worker has started yet
running      a worker predicts rows
pausing      a pause was requested, and the worker finishes the rows in flight
paused       the worker waits
crashed      no worker lives, and none recorded how it ended: resumable
interrupted  its worker received SIGTERM or Ctrl-C: resumable
stopped      its worker gave up, for the cause given: resumable
budget       its token budget is spent: resumable with a larger one
cancelled    a person ended it: resumable
done         every row is finished; `failed` of them failed, and `retry` asks for those again
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from core.engine.journal import Progress, RunFolder, read_json, read_progress, write_json
from core.engine.spending import read_spent_tokens
from core.errors import InputError, StateError

State = Literal["waiting", "running", "pausing", "paused", "crashed", "interrupted", "stopped", "budget", "cancelled", "done"]
Ending = Literal["interrupted", "stopped", "budget", "cancelled", "done"]
LIVE_STATES: tuple[State, ...] = ("running", "pausing", "paused")

HEARTBEAT_EVERY_S = 1.0
STALE_AFTER_S = 20.0  # a worker whose heartbeat is older counts as dead
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows of a run are done or failed. cost: tokens of its rows; spent: tokens paid for, cached answers left out, and
    those of rows that were never finished included."""

    done: int = 0
    failed: int = 0
    cost: int = 0
    spent: int = 0

    @classmethod
    def of(cls, folder: RunFolder, progress: Progress) -> Counts:
        """Returns the counts of a run with this journal."""
        spent = max(progress.spent, read_spent_tokens(folder.spending) or 0)
        return cls(progress.done, len(progress.failed), progress.cost.total(), spent)


@dataclass(frozen=True, slots=True)
class Status:
    """A run's state and counts. cause: why it stopped, "" if it did not. pid: of its live worker, None without one.

    begun_at: when the last worker began, in seconds since 1970; None before the first. rows_per_s: of that worker, None
    before its first row.
    """

    state: State
    total: int
    counts: Counts
    cause: str = ""
    pid: int | None = None
    begun_at: float | None = None
    rows_per_s: float | None = None

    @property
    def done_with_failures(self) -> bool:
        """Whether every row is finished and some failed."""
        return self.state == "done" and self.counts.failed > 0

    @property
    def left_s(self) -> float | None:
        """Seconds that the other rows take at the present rate; None if no rate is known."""
        left = self.total - self.counts.done - self.counts.failed
        return left / self.rows_per_s if self.state in LIVE_STATES and self.rows_per_s else None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a live worker records. size: of the journal in bytes. begun_at: when it began, in seconds since 1970."""

    state: State
    counts: Counts
    total: int
    size: int
    begun_at: float
    rows_per_s: float | None = None


def write_heartbeat(folder: RunFolder, heartbeat: Heartbeat) -> None:
    """Records that this process works on a run, and how many rows are finished."""
    process = {"pid": os.getpid(), "born": process_start(os.getpid()), "host": socket.gethostname()}
    write_json(folder.heartbeat, process | asdict(heartbeat), durable=False)


def write_ending(folder: RunFolder, state: Ending, counts: Counts, total: int, cause: str = "") -> None:
    """Records how the work on a run ended; the last thing that a worker writes."""
    write_json(folder.done, {"state": state, "cause": cause, "counts": asdict(counts), "total": total, "ended_at": time.time()})


def status_of(folder: RunFolder) -> Status:
    """Returns the state of a run. Raises NotFound if the folder holds no run. Reads the whole journal of a crashed run."""
    heartbeat = last_heartbeat(folder)
    pid = _live_worker(folder, heartbeat)
    ending = read_json(folder.done)  # read after the heartbeat, since a worker may have ended in between
    if ending is not None:
        return _status(ending["state"], ending, heartbeat, cause=ending["cause"])
    if heartbeat is not None and pid is not None:
        return _status(heartbeat["state"], heartbeat, heartbeat, pid=pid)
    total = len(folder.spec().rows)
    if heartbeat is None and not folder.rows.exists():
        return Status("waiting", total, Counts())
    counts = asdict(Counts.of(folder, read_progress(folder.rows)))
    return _status("crashed", {"counts": counts, "total": total}, heartbeat, cause="its worker ended without a word")


def refuse_live(folder: RunFolder) -> None:
    """Raises StateError if a worker is on a run; called before the run is deleted."""
    if folder.exists and status_of(folder).state in LIVE_STATES:
        raise StateError(f"run {folder.run}: a worker is on it, expected one that is not running; cancel it first")


def last_heartbeat(folder: RunFolder) -> dict[str, Any] | None:
    """Returns the last heartbeat as it was written; None if there is none, or if a power cut left nothing of it."""
    try:
        return read_json(folder.heartbeat)
    except InputError:
        return None


def _status(
    state: State, record: Mapping[str, Any], heartbeat: Mapping[str, Any] | None, *, cause: str = "", pid: int | None = None
) -> Status:
    """Returns the status with the total and counts of `record`."""
    worker = heartbeat or {}
    counts = Counts(**record["counts"])
    return Status(state, record["total"], counts, cause, pid, worker.get("begun_at"), worker.get("rows_per_s"))


def _live_worker(folder: RunFolder, heartbeat: Mapping[str, Any] | None) -> int | None:
    """Returns the process id of the worker that wrote the heartbeat; None if it does not live any more."""
    if heartbeat is None:
        return None
    try:
        age_s = time.time() - folder.heartbeat.stat().st_mtime
    except FileNotFoundError:
        return None
    elsewhere = heartbeat["host"] != socket.gethostname()
    if age_s > STALE_AFTER_S or not (elsewhere or process_start(heartbeat["pid"]) == heartbeat["born"]):
        return None
    return int(heartbeat["pid"])


def process_start(pid: int) -> str | None:
    """Returns when a process of this machine was started, which tells it from a later process of the same id.

    None if there is no such process or it is a zombie; "" if the system does not tell.
    """
    if (_PROC / "self" / "stat").exists():
        try:
            # The name in brackets may hold anything; behind it: state, …, and as the 20th the start in clock ticks.
            state, *rest = (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if state in "ZX" else rest[18]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    return ""


@contextmanager
def exclusive_lock(folder: RunFolder) -> Iterator[None]:
    """Holds the run's lock, which only one worker can. Raises StateError if another holds it; a dead holder's lock is free."""
    lock = FileLock(folder.lock, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        holder = (last_heartbeat(folder) or {}).get("pid", "unknown")
        raise StateError(f"run {folder.run}: a worker has it already (process {holder}); pause or cancel it first") from None
    try:
        yield
    finally:
        lock.release()
