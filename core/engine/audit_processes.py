"""Processes that check the briefs of a long journal, each on a processor of its own, while this process reads on and writes.

A process gets pickled rows on its standard input and answers on its standard output, and ends when its input does: it cannot
outlive the process that started it. Python's pools would import the main script again, which in the app is a page.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Self

from core.audit.brief_checks import RowBriefs, check_briefs
from core.config import REPOSITORY

MOST_PROCESSES = 3  # more would wait for the process that reads and writes
Checked = list[list[tuple[str, ...]]]  # of `check_briefs`


class AuditProcesses:
    """A pool of processes for `check_briefs`; as a context manager it ends them."""

    def __init__(self) -> None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.size = min(max(1, processors - 1), MOST_PROCESSES)
        self._processes = [_start() for _ in range(self.size)]
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(self.size, thread_name_prefix="audit")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        for process in self._processes:
            process.kill()  # what it still checks nobody waits for
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            # Closes its pipes and waits; a request to one that was killed before may be unsent.
            with suppress(BrokenPipeError), process:
                pass

    def check(self, rows: Sequence[RowBriefs]) -> Future[Checked]:
        """What `check_briefs` returns, as soon as a process has found it out."""
        return self._threads.submit(self._check, rows)

    def _check(self, rows: Sequence[RowBriefs]) -> Checked:
        process = self._idle.get()
        try:
            return _exchange(process, rows)
        except (OSError, EOFError, pickle.UnpicklingError):  # it was killed
            return check_briefs(rows)
        finally:
            self._idle.put(process)


def _start() -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "core.engine.audit_processes")
    return subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _exchange(process: subprocess.Popen[bytes], rows: Sequence[RowBriefs]) -> Checked:
    """Sends rows to a process and returns its answer. Raises OSError, EOFError or UnpicklingError if it is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(rows, process.stdin)
    process.stdin.flush()
    checked: Checked = pickle.load(process.stdout)
    return checked


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answers requests for `check_briefs` until there are no more."""
    with suppress(EOFError, BrokenPipeError):
        while True:
            pickle.dump(check_briefs(pickle.load(requests)), answers)
            answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
