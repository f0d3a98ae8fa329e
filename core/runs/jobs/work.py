"""What the process of a job does beside the work: it holds the lock, writes heartbeats, and records
how the work ended."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self
from weakref import WeakSet

from filelock import FileLock, Timeout

from core.base.config import REPOSITORY, Settings
from core.base.errors import DeskError, StateError
from core.base.system_errors import explain
from core.runs.jobs.folder import JobFolder, lines_since_start, mark_start
from core.runs.jobs.state import (
    HEARTBEAT_EVERY_S,
    Ending,
    beat,
    exclusive_lock,
    is_held,
    last_heartbeat,
    live_heartbeat,
    record_ending,
)

STOPPED: Final = "a person ended it"
INTERRUPTED: Final = "received a signal to end"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Reporter:
    """The progress of a job, in heartbeats that a thread writes, since the work may block for
    minutes.

    stop: called once, in that thread, when the control file requests the end. first: the first
    heartbeat's values.
    """

    def __init__(
        self, folder: JobFolder, stop: Callable[[], object] = lambda: None, **first: Any
    ) -> None:
        self._folder, self._stop = folder, stop
        self._values: dict[str, Any] = {"state": "running", "begun_at": time.time(), **first}
        self._ended, self._writing = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._beat_until_the_end, daemon=True)

    def __enter__(self) -> Self:
        beat(self._folder, self._values)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def update(self, **values: object) -> None:
        """Record how far the work is."""
        self._values = {**self._values, **values}
        self._beat()

    def report(self, share: float, what: str) -> None:
        """Record the share of the work done, in [0, 1], and the current step."""
        self.update(share=share, what=what)

    def _beat(self) -> None:
        """Write a heartbeat. Errors of the disk are ignored here: the work itself reports them."""
        with self._writing, suppress(OSError):
            beat(self._folder, self._values)

    def _beat_until_the_end(self) -> None:
        is_stopping = False
        while not self._ended.wait(HEARTBEAT_EVERY_S):
            self._beat()
            if not is_stopping and self._folder.command() == "cancel":
                is_stopping = True
                self._stop()


@contextmanager
def work_on(folder: JobFolder, what: str = "job") -> Iterator[Reporter]:
    """Lock a job for the block, write its heartbeats, and record how the block ended.

    Raise StateError if another process works on it, and KeyboardInterrupt in the block when the
    process is asked to end.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(folder, what):
        folder.set_command("run")
        mark_start(folder)
        folder.keep_reserve()
        folder.done.unlink(missing_ok=True)
        with _raise_on_signals() as stop:
            # from before the first heartbeat, at which others take it for running and may send a
            # signal
            try:
                with Reporter(folder, stop) as reporter:
                    yield reporter
            except KeyboardInterrupt:
                _end(folder, *describe_early_end(folder))
                raise
            except BaseException as error:
                _end(folder, "failed", describe_cause(error, folder.path))
                raise
            _end(folder, "done")


def describe_early_end(folder: JobFolder) -> tuple[Ending, str]:
    """Return the ending and the cause of work that was asked to end: by a person, or by a
    signal."""
    return ("stopped", STOPPED) if folder.command() == "cancel" else ("interrupted", INTERRUPTED)


def describe_cause(error: BaseException, place: Path | str = "") -> str:
    """Return in one line why the work ended. place: the file written, if an error of the disk does
    not name it."""
    if isinstance(error, OSError | MemoryError):
        error = explain(error, getattr(error, "filename", None) or place)
    return str(error) if isinstance(error, DeskError) else f"{type(error).__name__}: {error}"


def _end(folder: JobFolder, state: str, cause: str = "") -> None:
    # a disk that takes nothing at all: the job then counts as crashed, and its log says the rest
    with suppress(OSError):
        record_ending(folder, state, cause)


@contextmanager
def _raise_on_signals() -> Iterator[Callable[[], object]]:
    """Raise KeyboardInterrupt for SIGTERM as for Ctrl-C while the block lasts; yield what sends one
    to this process.

    Only a main thread receives signals: in another, nothing ends the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        yield lambda: os.kill(os.getpid(), signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


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
