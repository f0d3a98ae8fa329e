"""The answers of public sources, on disk, and when each source may be asked next. The file may be deleted at any time."""

from __future__ import annotations

import sqlite3
import zlib
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from core.net.sqlite_cache import SqliteCache

MAX_WAIT_S = 600.0  # a slot further ahead was written before the clock was set back
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
    "CREATE TABLE IF NOT EXISTS slot (source TEXT PRIMARY KEY, next REAL NOT NULL) WITHOUT ROWID",
)


class CachedResponse(NamedTuple):
    """An answer of a source. body: None if the source has nothing (404). version: of the source, "" if it has none."""

    body: str | None
    version: str
    retrieved_at: datetime


class ResponseCache(SqliteCache):
    """Answers by the key of their request, and the next free slot of every source, shared by processes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA, "answers of public sources are not kept")

    def get(self, key: str) -> CachedResponse | None:
        """The answer stored under this key; None if there is none, or if it cannot be read."""
        query = "SELECT status, body, version, retrieved_at FROM answer WHERE key = ?"
        row = self.run(lambda db: db.execute(query, (key,)).fetchone())
        return None if row is None else self.read_entry("an answer", lambda: _response(*row))

    def put(self, key: str, response: CachedResponse) -> bool:
        """Store an answer, in place of an older one. Returns whether the file could store it."""
        status = 404 if response.body is None else 200
        body = zlib.compress((response.body or "").encode())
        row = (key, status, body, response.version, response.retrieved_at.isoformat())
        return self.run(lambda db: bool(db.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)", row))) is True

    def take_slot(self, source: str, now: float, until: float) -> float:
        """Take the source's next slot if its time has come, and let no other begin before `until`.

        Returns the time of the slot in seconds since 1970: `now` if it was taken, and also if the file cannot be used; a
        later time if it was not taken.
        """

        def take(db: sqlite3.Connection) -> float:
            db.execute("BEGIN IMMEDIATE")
            at = _next_slot(db, source, now)
            if at <= now:
                db.execute("INSERT OR REPLACE INTO slot VALUES (?, ?)", (source, until))
            db.execute("COMMIT")
            return at

        at = self.run(take)
        return now if at is None else at

    def next_slot(self, source: str, now: float) -> float:
        """The time of the source's next slot, `now` or later, without taking it."""
        at = self.run(lambda db: _next_slot(db, source, now))
        return now if at is None else at

    def block(self, source: str, now: float, until: float) -> None:
        """Let no slot of the source begin before `until`."""

        def block(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT OR REPLACE INTO slot VALUES (?, ?)", (source, max(until, _next_slot(db, source, now))))
            db.execute("COMMIT")

        self.run(block)


def _response(status: int, body: bytes, version: str, retrieved_at: str) -> CachedResponse:
    text = zlib.decompress(body).decode() if status == 200 else None
    return CachedResponse(text, version, datetime.fromisoformat(retrieved_at))


def _next_slot(db: sqlite3.Connection, source: str, now: float) -> float:
    row = db.execute("SELECT next FROM slot WHERE source = ?", (source,)).fetchone()
    return row[0] if row is not None and now < row[0] <= now + MAX_WAIT_S else now
