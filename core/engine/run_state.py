"""What became of a run, truthfully: it runs only while its worker beats.

waiting      begun, no worker has started yet
running      a worker beats
pausing      it was told to pause and finishes the rows in flight
paused       it beats and does nothing
crashed      no worker beats, and none said how it ended: resumable
interrupted  its worker was told to end (SIGTERM, Ctrl-C): resumable
stopped      it gave up, for the cause given: resumable
budget       its token budget is spent: resumable with a larger one
cancelled    a person ended it: resumable
done         every row is finished; `failed` of them with a failure, which `retry` asks for again
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

from core.engine.journal import Progress, RunFolder, read_progress, read_whole, write_whole
from core.errors import InputError, StateError

State = Literal["waiting", "running", "pausing", "paused", "crashed", "interrupted", "stopped", "budget", "cancelled", "done"]
Ending = Literal["interrupted", "stopped", "budget", "cancelled", "done"]
LIVE_STATES: tuple[State, ...] = ("running", "pausing", "paused")

BEAT_S = 1.0  # between beats
LIVE_S = 20.0  # a worker that has not beaten for longer is not taken to be alive
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a run is. cost: what its rows cost in tokens; spent: what this run paid for, answers from the cache left out."""

    done: int = 0
    failed: int = 0
    cost: int = 0
    spent: int = 0

    @classmethod
    def of(cls, progress: Progress) -> Counts:
        """The counts of a journal."""
        return cls(progress.done, len(progress.failed), progress.cost.total(), progress.spent)


@dataclass(frozen=True, slots=True)
class Status:
    """A run's state and counts. cause: why it stopped, "" where it did not. pid: of the worker that beats, else None.

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
        """Whether every row is finished, some with a failure."""
        return self.state == "done" and self.counts.failed > 0

    @property
    def left_s(self) -> float | None:
        """How long the rest takes at the present rate; None where no rate is known."""
        left = self.total - self.counts.done - self.counts.failed
        return left / self.rows_per_s if self.state in LIVE_STATES and self.rows_per_s else None


def write_heartbeat(
    folder: RunFolder, state: State, counts: Counts, total: int, *, size: int, begun_at: float, rows_per_s: float | None = None
) -> None:
    """Say that this process works on a run, and how far it is; size: the journal's, in bytes."""
    values: dict[str, Any] = {
        "pid": os.getpid(),
        "born": process_start(os.getpid()),
        "host": socket.gethostname(),
        "state": state,
    }
    values |= {"counts": asdict(counts), "total": total, "size": size, "begun_at": begun_at, "rows_per_s": rows_per_s}
    write_whole(folder.heartbeat, values, durable=False)


def write_ending(folder: RunFolder, state: Ending, counts: Counts, total: int, cause: str = "") -> None:
    """Say how the work on a run ended; the last thing that a worker writes."""
    write_whole(folder.done, {"state": state, "cause": cause, "counts": asdict(counts), "total": total, "ended_at": time.time()})


def status_of(folder: RunFolder) -> Status:
    """What became of a run. Raises NotFound where none was begun. Reads the whole journal where nobody counted it."""
    beaten = last_heartbeat(folder)
    pid = _beating(folder, beaten)
    # Looked at after the beat: a worker that ended in between has left its last word here.
    ended = read_whole(folder.done)
    if ended is not None:
        return _status(ended["state"], ended, beaten, cause=ended["cause"])
    if beaten is not None and pid is not None:
        return _status(beaten["state"], beaten, beaten, pid=pid)
    total = len(folder.spec().rows)
    if beaten is None and not folder.rows.exists():
        return Status("waiting", total, Counts())
    counts = asdict(Counts.of(read_progress(folder.rows)))
    return _status("crashed", {"counts": counts, "total": total}, beaten, cause="its worker ended without a word")


def last_heartbeat(folder: RunFolder) -> dict[str, Any] | None:
    """What the last worker said of itself; None where none did, or where a power cut left nothing of it."""
    try:
        return read_whole(folder.heartbeat)
    except InputError:
        return None


def _status(
    state: State, said: Mapping[str, Any], beaten: Mapping[str, Any] | None, *, cause: str = "", pid: int | None = None
) -> Status:
    beaten = beaten or {}
    return Status(state, said["total"], Counts(**said["counts"]), cause, pid, beaten.get("begun_at"), beaten.get("rows_per_s"))


def _beating(folder: RunFolder, beaten: Mapping[str, Any] | None) -> int | None:
    """The worker that beats."""
    if beaten is None:
        return None
    try:
        age_s = time.time() - folder.heartbeat.stat().st_mtime
    except FileNotFoundError:
        return None
    elsewhere = beaten["host"] != socket.gethostname()
    if age_s > LIVE_S or not (elsewhere or process_start(beaten["pid"]) == beaten["born"]):
        return None
    return int(beaten["pid"])


def process_start(pid: int) -> str | None:
    """When a process of this machine was started, so that a number that is used again is not taken for it.

    None where there is no such process, or only what is left of one; "" where the system does not tell.
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
    """Work on a run with nobody else doing so. Raises StateError where somebody does; a lock whose holder died is free."""
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
