"""What public sources answered, on disk, and when each of them may be asked next. The file may be deleted at any time."""

from __future__ import annotations

import sqlite3
import zlib
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from core.net.sqlite_cache import SqliteCache

LONGEST_WAIT_S = 600.0  # a longer one was written before the clock was set back
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
    """An answer: body is None where the source has nothing (404). version: of the source, "" where it tells none."""

    body: str | None
    version: str
    retrieved_at: datetime


class ResponseCache(SqliteCache):
    """Answers by the request that brings each alone; and a slot for every source that processes share."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA, "answers of public sources are not kept")

    def get(self, key: str) -> CachedResponse | None:
        """What was kept under this key; None where there is nothing."""
        ask = "SELECT status, body, version, retrieved_at FROM answer WHERE key = ?"
        row = self.on_file(lambda db: db.execute(ask, (key,)).fetchone())
        if row is None:
            return None
        try:
            status, body, version, retrieved_at = row
            text = zlib.decompress(body).decode() if status == 200 else None
            return CachedResponse(text, version, datetime.fromisoformat(retrieved_at))
        except (ValueError, TypeError, zlib.error) as error:
            self.report(f"{self.path}: an answer that cannot be read ({error}), asked for again")
            return None

    def put(self, key: str, kept: CachedResponse) -> bool:
        """Keep an answer; one that lies there already is replaced. Whether it is kept."""
        status = 404 if kept.body is None else 200
        row = (key, status, zlib.compress((kept.body or "").encode()), kept.version, kept.retrieved_at.isoformat())
        return self.on_file(lambda db: bool(db.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?)", row))) is True

    def claim(self, source: str, now: float, until: float) -> float:
        """Take the source's next slot if it has come, and let none follow before `until`; else when it comes.

        Seconds since 1970; now, where it was taken, and also where the file cannot be used.
        """

        def work(db: sqlite3.Connection) -> float:
            db.execute("BEGIN IMMEDIATE")
            at = _next(db, source, now)
            if at <= now:
                db.execute("INSERT OR REPLACE INTO slot VALUES (?, ?)", (source, until))
            db.execute("COMMIT")
            return at

        at = self.on_file(work)
        return now if at is None else at

    def coming(self, source: str, now: float) -> float:
        """When the source's next slot comes, without taking it."""
        at = self.on_file(lambda db: _next(db, source, now))
        return now if at is None else at

    def hold(self, source: str, now: float, until: float) -> None:
        """Let nobody ask the source before `until`."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT OR REPLACE INTO slot VALUES (?, ?)", (source, max(until, _next(db, source, now))))
            db.execute("COMMIT")

        self.on_file(work)


def _next(db: sqlite3.Connection, source: str, now: float) -> float:
    row = db.execute("SELECT next FROM slot WHERE source = ?", (source,)).fetchone()
    return row[0] if row is not None and now < row[0] <= now + LONGEST_WAIT_S else now
