"""Replies of model servers on disk, by the key of their request."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, fields
from pathlib import Path

from core.base.net.sqlite_cache import SqliteCache
from core.llm.completion import AnswerFault, fault_of_ending, read_answer
from core.llm.messages import Reply, Usage

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
    """Replies by the key of their request, on disk, so that a repeated benchmark costs nothing; the
    file may be deleted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, [_SCHEMA], "replies are not kept")

    def get(self, key: str) -> Reply | None:
        """Return the reply stored under this key, marked as cached; None if there is none, or if it
        cannot be read."""
        row = self.run(
            lambda db: db.execute(
                "SELECT request, raw, usage FROM reply WHERE key = ?", (key,)
            ).fetchone()
        )
        return None if row is None else self.read_entry("a reply", lambda: _reply(*row))

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply, instead of an older one."""
        row = (key, _compress(reply.request), _compress(reply.raw), json.dumps(asdict(reply.usage)))
        self.run(
            lambda db: db.execute(
                "INSERT OR REPLACE INTO reply (key, request, raw, usage) VALUES (?, ?, ?, ?)", row
            )
        )


def _compress(text: str) -> bytes:
    # log-probabilities shrink to a tenth; higher levels take longer than the call
    return zlib.compress(text.encode(), 1)


def _reply(request: bytes, raw: bytes, usage: str) -> Reply:
    """Return the reply of a stored row. Raise ValueError if the raw answer has no content, or
    perhaps only a part of it."""
    request_text, raw_text = (zlib.decompress(part).decode() for part in (request, raw))
    answer = read_answer(raw_text)
    fault = answer if isinstance(answer, AnswerFault) else fault_of_ending(answer)
    if fault is not None:
        raise ValueError(fault.message)
    if isinstance(answer, AnswerFault) or answer.content is None:
        raise ValueError("no content")
    names = {each.name for each in fields(Usage)}  # earlier versions stored more
    first_usage = Usage(
        **{name: value for name, value in json.loads(usage).items() if name in names}
    )
    return Reply(
        answer.content,
        answer.reasoning,
        answer.finish_reason,
        first_usage,
        answer.logprobs if json.loads(request_text).get("logprobs") else None,
        request_text,
        raw_text,
        cached=True,
        model=answer.model,
    )
