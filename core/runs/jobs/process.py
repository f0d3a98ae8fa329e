"""Which process is on a job: its id, when it was started, and its machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any, Final

import psutil

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


def identify_process(pid: int) -> dict[str, Any]:
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
