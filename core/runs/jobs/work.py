"""What the process of a job does beside the work: it holds the lock, writes heartbeats, and records
how the work ended."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, Self

from core.base.errors import DeskError
from core.base.system_errors import explain
from core.runs.jobs.folder import JobFolder, mark_start
from core.runs.jobs.state import HEARTBEAT_EVERY_S, Ending, beat, exclusive_lock, record_ending

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
