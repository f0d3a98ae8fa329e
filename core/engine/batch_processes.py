"""Processes that read, audit and lay out a long journal piece by piece, while this process writes what they have.

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
from core.errors import InputError

MOST_PROCESSES = 4  # more would wait for the process that writes


class BatchProcesses:
    """A pool of processes for `read_piece`, one a processor; as a context manager it ends them."""

    def __init__(self) -> None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.size = min(processors, MOST_PROCESSES)
        self._processes = [_start() for _ in range(self.size)]
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(self.size, thread_name_prefix="batches")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        for process in self._processes:
            process.kill()  # what it still reads nobody waits for
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            # Closes its pipes and waits; a request to one that was killed before may be unsent.
            with suppress(BrokenPipeError), process:
                pass

    def read_all(self, pieces: Iterable[Piece]) -> Iterator[RowBatch]:
        """Yields the lines of pieces in order, while the next few are read. Raises what `read_piece` does."""
        waiting: deque[Future[RowBatch]] = deque()
        for piece in pieces:
            waiting.append(self._threads.submit(self._read, piece))
            if len(waiting) > 2 * self.size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _read(self, piece: Piece) -> RowBatch:
        process = self._idle.get()
        try:
            found = _exchange(process, piece)
        except (OSError, EOFError, pickle.UnpicklingError):  # it was killed
            return read_piece(piece)
        finally:
            self._idle.put(process)
        if isinstance(found, InputError):
            raise found
        return found


def _start() -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "core.engine.batch_processes")
    return subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _exchange(process: subprocess.Popen[bytes], piece: Piece) -> RowBatch | InputError:
    """Sends a piece to a process and returns its answer. Raises OSError, EOFError or UnpicklingError if it is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(piece, process.stdin)
    process.stdin.flush()
    found: RowBatch | InputError = pickle.load(process.stdout)
    return found


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answers each piece with its lines, or with the error of one that is no entry, until there are no more pieces."""
    # Rows refer to no other rows: to look for circles among a hundred thousand objects, again and again, takes half of the time.
    gc.disable()
    with suppress(EOFError, BrokenPipeError):
        while True:
            piece = pickle.load(requests)
            try:
                found: RowBatch | InputError = read_piece(piece)
            except InputError as error:
                found = error
            pickle.dump(found, answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
