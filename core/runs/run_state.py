"""The state of a run, as its folder shows it: a run is running only while its worker writes
heartbeats.

waiting      a worker was asked for less than 20 s ago, and has not begun
running      a worker predicts rows
pausing      a pause was requested, and the worker finishes the rows in flight
paused       the worker waits
crashed      no worker lives, and none recorded how it ended, or none ever began: resumable
interrupted  its worker received SIGTERM or Ctrl-C: resumable
stopped      its worker gave up, for the cause given: resumable
budget       its token budget is spent: resumable with a larger one
cancelled    a person ended it: resumable
done         every row is finished; `failed` of them failed, and `retry` asks for those again

Beside it: how SIGTERM and Ctrl-C end a worker cleanly.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

from core.base.errors import InputError, StateError
from core.base.records import from_json
from core.base.types import LIVE_STATES
from core.llm.endpoint import ServerState
from core.runs.jobs.folder import read_json, write_json
from core.runs.jobs.state import (
    beat,
    describe_crash,
    describe_damage,
    describe_silence,
    is_awaited,
    last_heartbeat,
    live_heartbeat,
)
from core.runs.jobs.work import INTERRUPTED
from core.runs.journal import Progress, Spending, read_progress, read_spending
from core.runs.run_folder import RunFolder

State = Literal[
    "waiting",
    "running",
    "pausing",
    "paused",
    "crashed",
    "interrupted",
    "stopped",
    "budget",
    "cancelled",
    "done",
]
Ending = Literal["interrupted", "stopped", "budget", "cancelled", "done"]
_OF_WORKER: tuple[State, ...] = ("running", "pausing", "paused")  # which its heartbeat may say


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows of a run are done or failed. cost: tokens of its rows; spent: tokens paid for,
    cached answers left out, and those of rows that were never finished included. unanswered:
    requests without an answer or a failure, see `Spending`."""

    done: int = 0
    failed: int = 0
    cost: int = 0
    spent: int = 0
    unanswered: int = 0

    @classmethod
    def of(cls, folder: RunFolder, progress: Progress) -> Counts:
        """Return the counts of a run with this journal."""
        spending = read_spending(folder.spending) or Spending()
        spent = max(progress.spent, spending.tokens)
        return cls(
            progress.done, len(progress.failed), progress.cost.total(), spent, spending.unanswered
        )


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The record of a live worker.

    begun_at: its start, in seconds since 1970. rows_per_s: None before its first row. servers: for
    a run with several. notice: the reason why it waits, "" if it does not.
    """

    state: State
    total: int
    counts: Counts
    begun_at: float | None = None
    rows_per_s: float | None = None
    servers: tuple[ServerState, ...] = ()
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Status(Heartbeat):
    """A run's state and counts, with what its last worker recorded; begun_at is None before the
    first.

    cause: why it stopped, "" if it did not. pid: of its live worker, None without one.
    """

    cause: str = ""
    pid: int | None = None

    @property
    def done_with_failures(self) -> bool:
        """Whether every row is finished and some failed."""
        return self.state == "done" and self.counts.failed > 0

    @property
    def has_worker(self) -> bool:
        """Whether a worker is on the run; none is yet on one that waits for it."""
        return self.state in _OF_WORKER

    @property
    def left_s(self) -> float | None:
        """The seconds for the remaining rows at the present rate; None if no rate is known."""
        left = self.total - self.counts.done - self.counts.failed
        return left / self.rows_per_s if self.has_worker and self.rows_per_s else None


def write_heartbeat(folder: RunFolder, heartbeat: Heartbeat) -> None:
    """Record that this process works on a run, and how many rows are finished."""
    beat(folder, asdict(heartbeat))


def write_ending(
    folder: RunFolder, state: Ending, counts: Counts, total: int, cause: str = ""
) -> None:
    """Record how the work on a run ended; the last thing that a worker writes."""
    write_json(
        folder.done, {"state": state, "cause": cause, "counts": asdict(counts), "total": total}
    )


def state_of(folder: RunFolder) -> tuple[State, str]:
    """Return the state of a run and its cause, as `status_of` does, without reading its rows. The
    folder must be a run's."""
    found = _observe(folder)
    return found.state, found.cause


def status_of(folder: RunFolder) -> Status:
    """Return the state of a run. Raise NotFound if the folder holds no run. Reads the whole journal
    of a crashed run."""
    found = _observe(folder)
    last = found.heartbeat or last_heartbeat(folder)
    worker, record = last if last is not None and _is_of_worker(last) else {}, found.record
    if record is None:
        counts = Counts.of(folder, read_progress(folder.rows)) if folder.rows.exists() else Counts()
        record = {"counts": asdict(counts), "total": len(folder.spec().rows)}
    live = found.heartbeat if found.state in _OF_WORKER else None
    notice = "; ".join(
        filter(None, ((live or {}).get("notice", ""), describe_silence(folder, live)))
    )
    return Status(
        found.state,
        record["total"],
        Counts(**record["counts"]),
        worker.get("begun_at"),
        worker.get("rows_per_s"),
        tuple(ServerState(**server) for server in worker.get("servers", ())),
        notice,
        found.cause,
        found.pid,
    )


class _Observed(NamedTuple):
    """What a run's folder shows. heartbeat: of a live worker. record: the file that has its total
    and counts, None if only the journal has them."""

    state: State
    cause: str
    heartbeat: Mapping[str, Any] | None = None
    record: Mapping[str, Any] | None = None
    pid: int | None = None


def _observe(folder: RunFolder) -> _Observed:
    heartbeat = live_heartbeat(folder)
    if heartbeat is not None and not _is_of_worker(heartbeat):
        heartbeat = None
    try:
        ending = read_json(folder.done, {"state": str, "cause": str, "counts": dict, "total": int})
        if ending is not None and not (
            ending["state"] in get_args(Ending) and _fits(Counts, ending["counts"])
        ):
            raise InputError(
                f"{folder.done}: state or counts are not those of an ending"
            )  # read after the heartbeat, since a worker may have ended in between
    except InputError as error:
        if heartbeat is None:
            return _Observed("crashed", describe_damage(error))
        ending = None
    if ending is not None:
        return _Observed(ending["state"], ending["cause"], heartbeat, ending)
    if heartbeat is not None:
        return _Observed(heartbeat["state"], "", heartbeat, heartbeat, int(heartbeat["pid"]))
    return (
        _Observed("waiting", "")
        if is_awaited(folder)
        else _Observed("crashed", describe_crash(folder))
    )


def _is_of_worker(heartbeat: Mapping[str, Any]) -> bool:
    """Return whether a heartbeat is one of a run's worker, of this version or before: another is
    ignored."""
    known = {
        field.name: heartbeat[field.name] for field in fields(Heartbeat) if field.name in heartbeat
    }
    return heartbeat.get("state") in _OF_WORKER and _fits(Heartbeat, known)


def _fits(record: type, values: object) -> bool:
    """Return whether an object of JSON has values of a record's types, and no other keys."""
    try:
        from_json(record, values, "")
    except InputError:
        return False
    return True


def refuse_live(folder: RunFolder) -> None:
    """Raise StateError if a worker is on a run, or was asked for; called before the run is
    deleted."""
    if folder.exists and state_of(folder)[0] in LIVE_STATES:
        raise StateError(
            f"run {folder.run}: a worker is on it or starts, expected one that is not running;"
            " cancel it first"
        )


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[Ending, str], object]) -> Iterator[None]:
    """Calls `stop` for SIGTERM and SIGINT while the block lasts; only a main thread receives
    them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        loop.add_signal_handler(number, stop, "interrupted", f"{INTERRUPTED} ({number.name})")
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)  # of the job that the run is part of
