"""Processes that read, audit and lay out a long journal piece by piece, while this process writes the results.

A process gets pickled pieces on its standard input and answers on its standard output, and ends when its input does: it cannot
outlive the process that started it. Python's pools would import the main script again, which in the app is a page.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Self

from core.config import REPOSITORY
from core.engine.row_batches import Piece, RowBatch, read_piece
from core.environment import bare_environment
from core.log import LOGGER

MOST_PROCESSES = 4  # more processes would wait for the writing one


class BatchProcesses:
    """A pool of processes for `read_piece`, one a processor; as a context manager it ends them."""

    def __init__(self) -> None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.size = min(processors, MOST_PROCESSES)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ended = False
        with suppress(OSError):  # no process or memory to be had: fewer do, or none
            while len(self._processes) < self.size:
                self._processes.append(_start())
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(self.size, thread_name_prefix="batches")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._ended = True
        for process in self._processes:
            process.kill()  # nobody waits for its remaining input
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            # Closes its pipes and waits; a request to one that was killed before may be unsent.
            with suppress(BrokenPipeError), process:
                pass

    def read_all(self, pieces: Iterable[Piece]) -> Iterator[RowBatch]:
        """Yield the lines of pieces in order, while the next few are read."""
        waiting: deque[Future[RowBatch]] = deque()
        for piece in pieces:
            waiting.append(self._threads.submit(self._read, piece))
            if len(waiting) > 2 * self.size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _read(self, piece: Piece) -> RowBatch:
        if not self._processes:
            return read_piece(piece)
        process = self._idle.get()
        try:
            return _exchange(process, piece)
        except (OSError, EOFError, pickle.UnpicklingError):
            if self._ended:
                raise
            self._give_up(process)
            return read_piece(piece)
        finally:
            self._idle.put(process)

    def _give_up(self, process: subprocess.Popen[bytes]) -> None:
        """End a process that does not answer, so that late output is not taken for its next answer; logs it once."""
        if process.returncode is None:
            process.kill()
            code = process.wait()
            LOGGER.warning("a process that reads a journal ended (%s), perhaps for lack of memory: this one does its part", code)


def _start() -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "core.engine.batch_processes")
    return subprocess.Popen(
        command, cwd=REPOSITORY, env=bare_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def _exchange(process: subprocess.Popen[bytes], piece: Piece) -> RowBatch:
    """Send a piece to a process and return its answer. Raise OSError, EOFError or UnpicklingError if it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(piece, process.stdin)
    process.stdin.flush()
    found: RowBatch = pickle.load(process.stdout)
    return found


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each piece with its lines, until there are no more pieces."""
    # Rows refer to no other rows: to look for circles among a hundred thousand objects, again and again, takes half of the time.
    gc.disable()
    with suppress(EOFError, BrokenPipeError):
        while True:
            pickle.dump(read_piece(pickle.load(requests)), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of a library is not an answer
        serve(sys.stdin.buffer, answers)
