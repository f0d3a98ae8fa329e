"""What a run has paid for: the tokens of every answer of its model server, also of answers whose row was never finished.

A run that asks a model keeps a log: one line for each answer, with the answers and the tokens of the run so far, as JSON
("[12, 3456]"). A line is written as soon as an answer is read, before anything is made of it, so that a killed worker leaves
out only answers that were still on their way. Answers of the response cache cost nothing and are not in it.
"""

from __future__ import annotations

import errno
import json
import os
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from core.llm.messages import Usage

_LONGEST_LINE = 64  # bytes


def read_spent_tokens(file: Path) -> int | None:
    """Returns the tokens that a run has paid for, as its spending log says; None without one."""
    try:
        (_, tokens), _ = _read_last_line(file)
    except FileNotFoundError:
        return None
    return tokens


class SpendingLog:
    """A run's spending log, for appending; the first answer creates the file. tokens: that the run has paid for so far.

    before: tokens of the rows in the run's journal, for a run that was begun without this log. A torn last line is cut off.
    """

    def __init__(self, file: Path, before: int = 0) -> None:
        self._path = file
        self._file: FileIO | None = None
        self._answers, self.tokens, self._bytes = 0, before, 0
        if file.exists():
            (self._answers, tokens), self._bytes = _read_last_line(file)
            self.tokens = max(tokens, before)
            os.truncate(file, self._bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, usage: Usage) -> None:
        """Counts the tokens of an answer and writes the sums down. Raises OSError if the line cannot be written whole."""
        self._answers += 1
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        if self._file is None:
            self._file = self._path.open("ab", buffering=0)
        line = f"[{self._answers}, {self.tokens}]\n".encode()
        if self._file.write(line) < len(line):
            self._file.truncate(self._bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._bytes += len(line)


def _read_last_line(file: Path) -> tuple[tuple[int, int], int]:
    """Returns (answers, tokens) of the last whole line of a log, (0, 0) without one, and where that line ends, in bytes.

    What a power cut left behind that line is passed over.
    """
    with file.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        start = log.seek(max(0, end - 64 * _LONGEST_LINE))
        tail = log.read()
    while (stop := tail.rfind(b"\n")) >= 0:
        begin = tail.rfind(b"\n", 0, stop) + 1
        try:
            answers, tokens = json.loads(tail[begin:stop])
            return (int(answers), int(tokens)), start + stop + 1
        except (ValueError, TypeError):
            tail = tail[:begin]
            if not begin:
                break
    return (0, 0), 0
