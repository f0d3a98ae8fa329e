"""Replies kept on disk, so that a repeated benchmark is free. The file may be deleted at any time."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from core.llm.answers import read_answer
from core.llm.records import Reply, Usage

T = TypeVar("T")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL,  -- JSON, compressed, as is raw
    raw BLOB NOT NULL,
    usage TEXT NOT NULL,
    kept_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID
"""
_BUSY_S = 2.0
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_log = logging.getLogger(__name__)


class ReplyCache:
    """A file of replies by request key, for any number of processes and threads.

    Nothing that befalls the file is fatal: a damaged one is moved aside, one that cannot be used is done without; either
    is said once, in `problems` and in the log. A call blocks for about a tenth of a millisecond, which is less than handing
    it to a thread would cost a coroutine; for up to two seconds where another process holds the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def get(self, key: str) -> Reply | None:
        """The reply that was kept under this key, marked as cached; None where there is none."""
        row = self._on_file(lambda db: db.execute("SELECT request, raw, usage FROM reply WHERE key = ?", (key,)).fetchone())
        if row is None:
            return None
        try:
            return _reply(*row)
        except (ValueError, TypeError, zlib.error) as error:
            self._report(f"{self.path}: a reply that cannot be read ({error}), asked for again")
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; one that lies there already is replaced."""
        row = (key, _packed(reply.request), _packed(reply.raw), json.dumps(asdict(reply.usage)))
        self._on_file(lambda db: db.execute("INSERT OR REPLACE INTO reply (key, request, raw, usage) VALUES (?, ?, ?, ?)", row))

    def close(self) -> None:
        """Let go of the file; the next call opens it again."""
        with self._lock:
            self._close()

    def _on_file(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `work` returns, if need be on a new file; None where there is no way."""
        with self._lock:
            try:
                try:
                    return work(self._open())
                except sqlite3.Error as error:
                    self._recover(error)
                    return work(self._open())
            except (sqlite3.Error, OSError, Timeout) as error:
                self._close()
                self._report(f"{self.path}: cannot be used ({error}), replies are not kept")
                return None

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
        connection = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        self._connection = connection
        self._file = _identity(self.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_SCHEMA)
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
        self._report(f"{self.path}: damaged ({error}), moved to {aside.name}, and begun anew")

    def _others_waiting(self) -> FileLock:
        return FileLock(f"{self.path}.lock", timeout=_BUSY_S)

    def _drop_journals(self) -> None:
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _report(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems = (*self.problems, problem)
            _log.warning("%s", problem)


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


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(), 1)  # log-probabilities shrink to a tenth; higher levels take longer than the call


def _reply(request: bytes, raw: bytes, usage: str) -> Reply:
    sent, answered = (zlib.decompress(part).decode() for part in (request, raw))
    answer = read_answer(answered)
    if isinstance(answer, str) or answer.content is None:
        raise ValueError(answer if isinstance(answer, str) else "no content")
    first = Usage(**json.loads(usage))
    return Reply(
        answer.content,
        answer.reasoning,
        answer.finish_reason,
        replace(first, cached_calls=first.calls),
        answer.logprobs if json.loads(sent).get("logprobs") else None,
        sent,
        answered,
        cached=True,
    )
