"""A SQLite file that may be damaged, deleted or held by others at any time: what is in it can be had again."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

T = TypeVar("T")
BUSY_S = 2.0
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_log = logging.getLogger(__name__)


class SqliteCache:
    """A file for any number of processes and threads.

    schema: statements that make what is missing. without: what it means when the file cannot be used, for people.
    Nothing that befalls the file is fatal: a damaged one is moved aside, one that cannot be used is done without; either
    is said once, in `problems` and in the log. A call blocks for about a tenth of a millisecond, which is less than handing
    it to a thread would cost a coroutine; for up to two seconds where another process holds the file.
    """

    def __init__(self, path: Path, schema: Sequence[str], without: str) -> None:
        self.path = path
        self.problems: tuple[str, ...] = ()
        self._schema, self._without = tuple(schema), without
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def close(self) -> None:
        """Let go of the file; the next call opens it again."""
        with self._lock:
            self._close()

    def on_file(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `work` returns, if need be on a new file; None where there is no way.

        Each statement is a transaction of its own unless `work` begins one, which it need not roll back.
        """
        with self._lock:
            try:
                try:
                    return self._done(work)
                except sqlite3.Error as error:
                    self._recover(error)
                    return self._done(work)
            except (sqlite3.Error, OSError, Timeout) as error:
                self._close()
                self.report(f"{self.path}: cannot be used ({error}), {self._without}")
                return None

    def report(self, problem: str) -> None:
        """Say once what is odd about the file."""
        if problem not in self.problems:
            self.problems = (*self.problems, problem)
            _log.warning("%s", problem)

    def _done(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._open()
        try:
            return work(connection)
        finally:
            if connection.in_transaction:
                connection.rollback()

    def _open(self) -> sqlite3.Connection:
        """The connection to the file that lies at the path now: it may have been deleted or replaced since."""
        if self._connection is not None and self._file == _identity(self.path):
            return self._connection
        self._close()
        if self.path.exists():
            return self._connect()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._others_waiting():
            if not self.path.exists():
                self._drop_journals()  # of a deleted file: they would be taken for the new one's
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        self._connection = connection
        self._file = _identity(self.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        for statement in self._schema:
            connection.execute(statement)
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._file = None

    def _recover(self, error: sqlite3.Error) -> None:
        """Clears the way for another try; raises `error` where there is nothing to clear."""
        mine = self._file
        self._close()
        if mine != _identity(self.path):  # deleted or replaced while it was used
            return
        if _code(error) not in _DAMAGE:
            raise error
        with self._others_waiting():
            if mine != _identity(self.path):  # another process was faster
                return
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            self.path.replace(aside)
            self._drop_journals()
        self.report(f"{self.path}: damaged ({error}), moved to {aside.name}, and begun anew")

    def _others_waiting(self) -> FileLock:
        return FileLock(f"{self.path}.lock", timeout=BUSY_S)

    def _drop_journals(self) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file lies there; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; 0 for errors of the Python side."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
