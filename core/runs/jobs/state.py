"""The state of a job, as its folder shows it.

waiting      a process was asked for less than 20 s ago, or is still being started, and has not
             begun
running      a process is on it
done         it is finished
failed       it gave up, for the cause given: can be started again, and goes on
stopped      a person ended it: likewise
interrupted  its process received SIGTERM or Ctrl-C: likewise
crashed      no process lives, and none recorded how it ended: likewise

A process is on a job while it writes heartbeats. One of this machine has to live, too, and may be
silent as long as it holds the job's lock: it was stopped, or the machine slept. A dead one is
missed at once, but after 20 s where the system does not tell it from a later one with the same id
(`core.runs.jobs.state.lives_here`). No state depends on the clock being right: a file from the
future is as old as one from the past.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import psutil
from filelock import FileLock, Timeout

from core.base.errors import InputError, StateError
from core.base.log import LOGGER
from core.base.types import LIVE_STATES, JsonObject
from core.runs.jobs.folder import JobFolder, last_line, read_json, write_json

State = Literal["waiting", "running", "done", "failed", "stopped", "interrupted", "crashed"]
Ending = Literal["done", "failed", "stopped", "interrupted"]

HEARTBEAT_EVERY_S: Final = 1.0
# a process elsewhere without a heartbeat for longer counts as dead, one that has not begun as lost
STALE_AFTER_S: Final = 20.0
NO_REASON: Final = "its worker ended without giving a reason"
_MOST_PID = 1 << 31
_IDENTITY = {"pid": int, "host": str, "born": str | None}
_SAID = {
    "state": str,
    "begun_at": float,
    "share": float | int,
    "what": str,
    "name": str,
    "dataset": str,
}
_ENDING = {"state": str, "cause": str}
_LOOKED_AT_S = 0.2  # for which somebody who asks whether a lock is held may hold it


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job's state. cause: why it ended early, "" if it did not. pid: of its live process.

    said: further values of its last heartbeat, such as its progress.
    """

    state: State
    cause: str = ""
    pid: int | None = None
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        """Whether a process works on it, or was requested."""
        return self.state in LIVE_STATES


def beat(folder: JobFolder, values: Mapping[str, Any]) -> None:
    """Write a heartbeat of this process: its identity and these values."""
    write_json(folder.heartbeat, {**identify_process(os.getpid()), **values}, durable=False)


def last_heartbeat(folder: JobFolder) -> JsonObject | None:
    """Return the last heartbeat; None if there is none, or if it is not one: a power cut destroyed
    it, say."""
    try:
        heartbeat = read_json(folder.heartbeat, _IDENTITY, _SAID)
    except InputError:
        return None
    return heartbeat if heartbeat is not None and 0 < heartbeat["pid"] < _MOST_PID else None


def live_heartbeat(folder: JobFolder) -> Mapping[str, Any] | None:
    """Return the heartbeat of a folder's process while that lives; None without one."""
    heartbeat = last_heartbeat(folder)
    if heartbeat is None:
        return None
    if not is_here(heartbeat):
        return heartbeat if is_fresh(folder) else None
    return heartbeat if lives_here(heartbeat) and (is_fresh(folder) or is_held(folder)) else None


def is_fresh(folder: JobFolder) -> bool:
    """Return whether a heartbeat was written within the last 20 s, by this machine's clock or by
    one that is as far ahead."""
    age_s = _age_s(folder.heartbeat, time.time())
    return age_s is not None and abs(age_s) <= STALE_AFTER_S


def describe_silence(folder: JobFolder, heartbeat: Mapping[str, Any] | None) -> str:
    """Return in words that a live process has written no heartbeat for longer than 20 s; "" for any
    other."""
    if heartbeat is None or is_fresh(folder):
        return ""
    return (
        f"process {heartbeat['pid']} lives, but has sent no heartbeat for more than"
        f" {STALE_AFTER_S:.0f} s: it may be suspended"
    )


def is_awaited(folder: JobFolder) -> bool:
    """Return whether a process was requested recently, or somebody still starts it, and it has
    written nothing since."""
    # of all ages: those of files that were written together differ by less than it takes to look
    now = time.time()
    asked_s = _age_s(folder.control, now)
    if asked_s is None or folder.command() != "run":
        return False
    signs = [
        sign
        for sign in folder.first_signs
        if sign != folder.heartbeat or last_heartbeat(folder) is not None
    ]
    if not all(
        age_s is None or age_s > asked_s or age_s < -STALE_AFTER_S
        for age_s in (_age_s(sign, now) for sign in signs)
    ):
        return False
    return abs(asked_s) <= STALE_AFTER_S or _is_locked(folder.start_lock)


def _age_s(file: Path, now: float) -> float | None:
    """Return how long before `now` a file was written, in seconds, below 0 if its time is yet to
    come; None without the file."""
    try:
        return now - file.stat().st_mtime
    except FileNotFoundError:
        return None


def record_ending(folder: JobFolder, state: str, cause: str = "", **values: object) -> None:
    """Record how the work on a job ended, on a full disk too; the last thing that its process
    writes."""
    folder.release_reserve()
    write_json(folder.done, {"state": state, "cause": cause, **values})


def read_ending(folder: JobFolder) -> Mapping[str, Any] | None:
    """Return how the work ended; None while it has not. A recorded crash is ignored while a process
    works on the job.

    Raise InputError if the record was damaged.
    """
    ending = read_json(folder.done, _ENDING)
    if ending is not None and ending["state"] not in (*get_args(Ending), "crashed"):
        raise InputError(
            f"{folder.done}: state is {ending['state']!r:.80}, expected one of"
            f" {', '.join(get_args(Ending))}"
        )
    return (
        None
        if ending is not None
        and ending["state"] == "crashed"
        and live_heartbeat(folder) is not None
        else ending
    )


def status_of(folder: JobFolder) -> JobStatus:
    """Return the state of a job; one without a process whose record of its ending was damaged
    counts as crashed."""
    alive = live_heartbeat(folder)
    said = alive or last_heartbeat(folder) or {}
    try:
        # read after the heartbeat, since a process may have ended in between
        ending = read_ending(folder)
    except InputError as error:
        if alive is None:
            return JobStatus("crashed", describe_damage(error), said=said)
        ending = None
    if ending is not None:
        return JobStatus(ending["state"], ending["cause"], said=said)
    if alive is not None:
        return JobStatus("running", pid=int(alive["pid"]), said=said)
    if is_awaited(folder):
        return JobStatus("waiting", said=said)
    return JobStatus("crashed", describe_crash(folder), said=said)


def describe_crash(folder: JobFolder) -> str:
    """Return why a job crashed, if its log shows it."""
    line = last_line(folder.log)
    return f"{NO_REASON}; the last line of its log: {line}" if line else NO_REASON


def describe_damage(error: InputError) -> str:
    """Return why a job whose ending cannot be read counts as crashed."""
    return f"its files cannot be read: {error}"


def is_unsettled(folder: JobFolder) -> bool:
    """Return whether a job has crashed and this is not recorded yet."""
    return not folder.done.exists() and status_of(folder).state == "crashed"


def settle(folder: JobFolder) -> bool:
    """Record that a job has crashed, in its folder and in the workspace's log, once; return whether
    it was new.

    A running job, or one that ended otherwise, is not changed.
    """
    if not is_unsettled(folder):
        return False
    with suppress(StateError), exclusive_lock(folder):
        if folder.done.exists():
            return False
        cause = describe_crash(folder)
        record_ending(folder, "crashed", cause)
        LOGGER.error("%s: crashed: %s", folder.path, cause)
        return True
    return False


@contextmanager
def exclusive_lock(folder: JobFolder, what: str = "job") -> Iterator[None]:
    """Hold a job's lock, which only one process can. Raise StateError if another holds it; a dead
    holder's lock is free."""
    lock = FileLock(folder.lock)
    try:
        lock.acquire(timeout=_LOOKED_AT_S, poll_interval=_LOOKED_AT_S / 10)
    except Timeout:
        holder = (last_heartbeat(folder) or {}).get("pid", "unknown")
        raise StateError(
            f"{what} {folder.key}: a worker is running it (process {holder}); pause or cancel it"
            " first"
        ) from None
    try:
        yield
    finally:
        lock.release()


def is_held(folder: JobFolder) -> bool:
    """Return whether a process holds a job's lock, as far as this user may find out."""
    return _is_locked(folder.lock)


def _is_locked(file: Path) -> bool:
    if not file.exists():  # which a look would make
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # of a folder that this user cannot write to
        return False


def stop(folder: JobFolder) -> None:
    """Ask a job's process to end. Raise StateError if none is on it."""
    if not status_of(folder).is_live:
        raise StateError(f"job {folder.key}: not running, expected a running one")
    folder.set_command("cancel")


_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def process_start(pid: int) -> str | None:
    """Return when a process of this machine was started, in clock ticks since the machine was: it
    distinguishes the process from a later one with the same id, and does not change when the clock
    is set. None if there is no such process or it is a zombie; "" if the system does not tell:
    Linux without /proc, or with one that hides the processes of others.
    """
    try:
        machine_started_at = psutil.boot_time()
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        return str(round((process.create_time() - machine_started_at) * _TICKS_PER_S))
    except psutil.ZombieProcess:
        return None
    except (psutil.Error, OSError):
        return "" if _exists(pid) else None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def identify_process(pid: int) -> JsonObject:
    """Return the identity of a process of this machine, in the form of a heartbeat."""
    return {"pid": pid, "born": process_start(pid), "host": socket.gethostname()}


def is_here(identity: Mapping[str, Any]) -> bool:
    """Return whether a process is or was one of this machine."""
    return bool(identity["host"] == socket.gethostname())


def lives_here(identity: Mapping[str, Any]) -> bool:
    """Return whether a process of this machine lives, and is the one that was identified.

    Where the system does not tell when a process was started, now or when it was identified, a
    stranger with its id is taken for it: `core.runs.jobs.state` does so for 20 s at most, since the
    stranger writes no heartbeats and does not hold the job's lock.
    """
    born, found = identity["born"], process_start(int(identity["pid"]))
    return None not in (born, found) and (found == born or "" in (found, born))
