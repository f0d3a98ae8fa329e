"""Start the process of a job, which outlives its starter; never a second one."""

from __future__ import annotations

import atexit
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakSet

from filelock import FileLock, Timeout

from core.base.config import REPOSITORY, Settings
from core.base.errors import StateError
from core.runs.jobs.folder import JobFolder, lines_since_start, mark_start
from core.runs.jobs.state import is_held, last_heartbeat, live_heartbeat

FIRST_HEARTBEAT_S = 60.0
_POLL_S = 0.05
_watches: WeakSet[threading.Thread] = WeakSet()  # which wait for processes
_is_ending = threading.Event()


def command_line(settings: Settings, *arguments: str) -> tuple[str, ...]:
    """Return the command line by which another process runs a command on a workspace; it holds no
    secret."""
    return (
        sys.executable,
        "-m",
        "core",
        "--progress",
        "--workspace",
        str(settings.workspace),
        *arguments,
    )


def start(
    folder: JobFolder,
    command: Sequence[str],
    environment: Mapping[str, str],
    within_s: float = FIRST_HEARTBEAT_S,
    what: str = "job",
    prepare: Callable[[], object] = lambda: None,
) -> int:
    """Start a job's process in a session of its own and wait for its first heartbeat; return its
    process id.

    If the job is already running or another process is starting it, no second process is started.
    The process's output is added to the job's log. prepare: is called before, unless a process is
    on the job. Raise StateError, with the last lines of the log, if it ends before its first
    heartbeat or writes none within `within_s`.
    """
    try:
        with FileLock(folder.start_lock, timeout=within_s):
            if _is_worked_on(folder, within_s):
                return int((last_heartbeat(folder) or {}).get("pid", 0))
            prepare()
            return _start(folder, command, environment, within_s, what)
    except Timeout:
        raise StateError(
            f"{what} {folder.key}: another process is starting it; see {folder.log}"
        ) from None


def _is_worked_on(folder: JobFolder, within_s: float) -> bool:
    """Return whether a job is running; wait for a process that has ended or was killed but still
    has the lock."""
    deadline = time.monotonic() + within_s
    while is_held(folder):
        if (
            live_heartbeat(folder) is not None and not folder.done.exists()
        ) or time.monotonic() > deadline:
            return True
        time.sleep(_POLL_S)
    return False


def _start(
    folder: JobFolder,
    command: Sequence[str],
    environment: Mapping[str, str],
    within_s: float,
    what: str,
) -> int:
    folder.set_command("run")
    # how it ended before says nothing of a process that dies before its first heartbeat
    folder.done.unlink(missing_ok=True)
    mark_start(folder)
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    watch = threading.Thread(target=_await_end, args=(folder, process), daemon=True)
    _watches.add(watch)
    watch.start()
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        # asked before the heartbeat, since a short job may be over by now
        ended = process.poll() is not None
        if (last_heartbeat(folder) or {}).get("pid") == process.pid:
            return process.pid
        if ended:
            last_lines = " / ".join(lines_since_start(folder.log, 3)) or "nothing"
            raise StateError(
                f"{what} {folder.key}: its worker ended with status {process.returncode} before its"
                f" first heartbeat; its log says: {last_lines}"
            )
        time.sleep(_POLL_S)
    process.terminate()
    raise StateError(
        f"{what} {folder.key}: its worker did not start within {within_s:g} s; see {folder.log}"
    )


def _end_watches() -> None:
    """End the threads that wait for processes: while one is alive, extension modules cannot end
    cleanly, and say so."""
    _is_ending.set()
    for watch in list(_watches):
        watch.join(1.0)


atexit.register(_end_watches)


def _await_end(folder: JobFolder, process: subprocess.Popen[bytes]) -> None:
    """Wait for a process, so that no zombie is left, and say in its log if a signal killed it,
    which it cannot say itself."""
    while (status := process.poll()) is None:
        if _is_ending.wait(_POLL_S):
            return
    if status < 0:
        # the folder may be gone, or the disk full
        with suppress(OSError), folder.log.open("ab") as log:
            log.write(
                f"{time.strftime('%Y-%m-%d %H:%M:%S')} process {process.pid} was killed by"
                f" {_name(-status)}\n".encode()
            )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
