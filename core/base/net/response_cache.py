"""The answers of public sources, on disk, and the permits to ask each. The file may be deleted at
any time."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from core.base.net.sqlite_cache import SqliteCache

MAX_WAIT_S = 600.0  # a time further ahead was written before the clock was set back
_POLL_S = 0.05  # until a permit in use is looked at again
_ALL = -1
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
    """
    CREATE TABLE IF NOT EXISTS permit (
        source TEXT NOT NULL,
        number INTEGER NOT NULL,  -- -1: all permits of the source
        free_at REAL NOT NULL,  -- seconds since 1970
        in_use INTEGER NOT NULL,  -- may be free before that, with the answer to a request
        PRIMARY KEY (source, number)
    ) WITHOUT ROWID
    """,
)


class CachedResponse(NamedTuple):
    """An answer of a source. body: None if the source has nothing (404). version: of the source, ""
    if it has none."""

    body: str | None
    version: str
    retrieved_at: datetime


class ResponseCache(SqliteCache):
    """Answers by the key of their request, and the permits to ask every source, shared by
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

    def take_permit(
        self, source: str, numbers: Sequence[int], now: float, until: float
    ) -> tuple[int | None, float]:
        """Take one of the source's permits with these numbers, until `until` or until it is given
        back.

        Return its number and `now`; None and when to look again, in seconds since 1970, if none of
        them is free. If the file cannot be used, the first number counts as taken.
        """

        def take(db: sqlite3.Connection) -> tuple[int | None, float]:
            db.execute("BEGIN IMMEDIATE")
            rows = db.execute(
                "SELECT number, free_at, in_use FROM permit WHERE source = ?", (source,)
            )
            held = {
                number: (free_at, in_use)
                for number, free_at, in_use in rows
                if now < free_at <= now + MAX_WAIT_S
            }
            free = [number for number in numbers if number not in held]
            if _ALL in held or not free:
                db.execute("COMMIT")
                waits = [held[_ALL]] if _ALL in held else [held[number] for number in numbers]
                return None, min(
                    min(free_at, now + _POLL_S) if in_use else free_at for free_at, in_use in waits
                )
            number = free[0]
            db.execute("INSERT OR REPLACE INTO permit VALUES (?, ?, ?, 1)", (source, number, until))
            db.execute("COMMIT")
            return number, now

        return self.run(take) or (numbers[0], now)

    def give_back(self, source: str, number: int, free_at: float) -> None:
        """Let a permit be taken again from `free_at` on."""
        self.run(
            lambda db: db.execute(
                "INSERT OR REPLACE INTO permit VALUES (?, ?, ?, 0)", (source, number, free_at)
            )
        )

    def block(self, source: str, now: float, until: float) -> None:
        """Let no permit of the source be taken before `until`."""
        later = (
            "CASE WHEN free_at <= ? THEN max(free_at, excluded.free_at) ELSE excluded.free_at END"
        )
        query = (
            f"INSERT INTO permit VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET free_at = {later}"
        )
        self.run(lambda db: db.execute(query, (source, _ALL, until, now + MAX_WAIT_S)))


def _response(status: int, body: bytes, version: str, retrieved_at: str) -> CachedResponse:
    text = zlib.decompress(body).decode() if status == 200 else None
    return CachedResponse(text, version, datetime.fromisoformat(retrieved_at))
