"""The answers of public sources, on disk, and when each may be asked again. The file may be deleted
at any time."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from filelock import FileLock, Timeout

T = TypeVar("T")
BUSY_S = 2.0
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_log = logging.getLogger(__name__)


class SqliteCache:
    """A cache file for any number of processes and threads.

    schema: statements that create missing tables. consequence: what follows if the file cannot be
    used, for messages. No problem with the file is fatal: a damaged file is moved aside, an
    unusable one is not used. Each problem is reported once, in `problems` and in the log. A call
    blocks for about a tenth of a millisecond, which is less than a thread would cost a coroutine,
    and for up to two seconds while another process locks the file.
    """

    def __init__(self, path: Path, schema: Sequence[str], consequence: str) -> None:
        self.path = path
        self.problems: tuple[str, ...] = ()
        self._schema, self._consequence = tuple(schema), consequence
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            self._close()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what `work` returns, if necessary on a new file; None if the file cannot be used.

        Each statement is a transaction of its own unless `work` begins one, which it need not roll
        back.
        """
        with self._lock:
            try:
                try:
                    return self._run(work)
                except sqlite3.Error as error:
                    self._recover(error)
                    return self._run(work)
            except (sqlite3.Error, OSError, Timeout) as error:
                self._close()
                self.report(f"{self.path}: cannot be used ({error}), {self._consequence}")
                return None

    def read_entry(self, what: str, read: Callable[[], T]) -> T | None:
        """Return what `read` returns for a stored row; None, and a report that names `what`, if the
        row is damaged."""
        try:
            return read()
        except (ValueError, TypeError, zlib.error) as error:
            self.report(f"{self.path}: {what} that cannot be read ({error}), asked for again")
            return None

    def report(self, problem: str) -> None:
        """Note and log a problem with the file, once."""
        if problem not in self.problems:
            self.problems = (*self.problems, problem)
            _log.warning("%s", problem)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._open()
        try:
            return work(connection)
        finally:
            if connection.in_transaction:
                connection.rollback()

    def _open(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now: it may have been deleted or
        replaced since the last call."""
        if self._connection is not None and self._inode == _inode(self.path):
            return self._connection
        self._close()
        if self.path.exists():
            return self._connect()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._creation_lock():
            if not self.path.exists():
                self._delete_journals()  # of a deleted file: SQLite would apply them to the new one
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        self._connection = connection
        self._inode = _inode(self.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        for statement in self._schema:
            connection.execute(statement)
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._inode = None

    def _recover(self, error: sqlite3.Error) -> None:
        """Move a damaged file aside, so that another attempt can succeed. Raise `error` if the file
        is not damaged."""
        opened = self._inode
        self._close()
        if opened != _inode(self.path):  # deleted or replaced while it was open
            return
        # SQLite's primary result code; 0 for an error of the Python side
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in _DAMAGED:
            raise error
        with self._creation_lock():
            if opened != _inode(self.path):  # another process was faster
                return
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            self.path.replace(aside)
            self._delete_journals()
        self.report(f"{self.path}: damaged ({error}), moved to {aside.name}, and begun anew")

    def _creation_lock(self) -> FileLock:
        """Lets one process at a time create or replace the file."""
        return FileLock(f"{self.path}.lock", timeout=BUSY_S)

    def _delete_journals(self) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


def _inode(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


MAX_WAIT_S = 600.0  # a time further ahead was written before the clock was set back
_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS answer (
        key TEXT PRIMARY KEY,  -- method, URL and parameters
        status INTEGER NOT NULL,  -- 200 or 404
        body BLOB NOT NULL,  -- compressed
        version TEXT NOT NULL,
        retrieved_at TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS turn (source TEXT PRIMARY KEY, free_at REAL NOT NULL)",
)


class CachedResponse(NamedTuple):
    """An answer of a source. body: None if the source has nothing (404). version: of the source, ""
    if it has none."""

    body: str | None
    version: str
    retrieved_at: datetime


class ResponseCache(SqliteCache):
    """Answers by the key of their request, and the turns to ask every source, shared by
    processes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA, "answers of public sources are not kept")

    def get(self, key: str) -> CachedResponse | None:
        """Return the answer stored under this key; None if there is none, or if it cannot be
        read."""
        query = "SELECT status, body, version, retrieved_at FROM answer WHERE key = ?"
        row = self.run(lambda db: db.execute(query, (key,)).fetchone())
        return None if row is None else self.read_entry("an answer", lambda: _response(*row))

    def put(self, key: str, response: CachedResponse) -> bool:
        """Store an answer, instead of an older one. Return whether the file could store it."""
        status = 404 if response.body is None else 200
        body = zlib.compress((response.body or "").encode())
        row = (key, status, body, response.version, response.retrieved_at.isoformat())
        return (
            self.run(
                lambda db: bool(
                    db.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)", row)
                )
            )
            is True
        )

    def take_turn(self, source: str, now: float, until: float) -> float | None:
        """Take the turn to ask a source, if it is free, so that nobody has it before `until`.

        Return `now`, or when it will be free, in seconds since 1970; None if the file cannot be
        used.
        """

        def take(db: sqlite3.Connection) -> float:
            db.execute("BEGIN IMMEDIATE")
            row = db.execute("SELECT free_at FROM turn WHERE source = ?", (source,)).fetchone()
            free_at = float(row[0]) if row else 0.0
            if now < free_at <= now + MAX_WAIT_S:
                return free_at
            db.execute("INSERT OR REPLACE INTO turn VALUES (?, ?)", (source, until))
            db.execute("COMMIT")
            return now

        return self.run(take)

    def set_turn(self, source: str, free_at: float) -> None:
        """Let the turn to ask a source be taken again from `free_at` on."""
        self.run(
            lambda db: db.execute("INSERT OR REPLACE INTO turn VALUES (?, ?)", (source, free_at))
        )


def _response(status: int, body: bytes, version: str, retrieved_at: str) -> CachedResponse:
    text = zlib.decompress(body).decode() if status == 200 else None
    return CachedResponse(text, version, datetime.fromisoformat(retrieved_at))
