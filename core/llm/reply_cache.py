"""Replies kept on disk, so that a repeated benchmark is free. The file may be deleted at any time."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, replace
from pathlib import Path

from core.llm.answers import read_answer
from core.llm.messages import Reply, Usage
from core.net.sqlite_cache import SqliteCache

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL,  -- JSON, compressed, as is raw
    raw BLOB NOT NULL,
    usage TEXT NOT NULL,
    kept_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID
"""


class ReplyCache(SqliteCache):
    """A file of replies by request key."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, [_SCHEMA], "replies are not kept")

    def get(self, key: str) -> Reply | None:
        """The reply that was kept under this key, marked as cached; None where there is none."""
        row = self.on_file(lambda db: db.execute("SELECT request, raw, usage FROM reply WHERE key = ?", (key,)).fetchone())
        if row is None:
            return None
        try:
            return _reply(*row)
        except (ValueError, TypeError, zlib.error) as error:
            self.report(f"{self.path}: a reply that cannot be read ({error}), asked for again")
            return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; one that lies there already is replaced."""
        row = (key, _packed(reply.request), _packed(reply.raw), json.dumps(asdict(reply.usage)))
        self.on_file(lambda db: db.execute("INSERT OR REPLACE INTO reply (key, request, raw, usage) VALUES (?, ?, ?, ?)", row))


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
