"""What was asked of a language model behind each row, and what it answered. Equal exchanges are kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from core.store.connection import Cursor
from core.store.queries import insert, one, records
from core.types import Call

_KINDS: Mapping[str, pa.DataType] = {
    "cached": pa.bool_(),
    "attempts": pa.int32(),
    "latency_ms": pa.float64(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
    "reasoning_tokens": pa.int64(),
}


def add(cursor: Cursor, run: str, rows: Mapping[str, Sequence[Call]]) -> None:
    """Append the calls of finished rows, by pair id, in the order in which they were made."""
    made = [(pair_id, seq, call) for pair_id, calls in rows.items() for seq, call in enumerate(calls)]
    if not made:
        return
    ids = [identity(call.key, call.request, call.reply) for _, _, call in made]
    distinct = {key: call for key, (_, _, call) in zip(ids, made, strict=True)}
    texts = {name: [getattr(call, name) for call in distinct.values()] for name in ("key", "request", "reply")}
    insert(cursor, "call", {"id": list(distinct), **texts}, ignore_existing=True)
    columns: dict[str, Any] = {
        "run": [run] * len(made),
        "pair_id": [pair_id for pair_id, _, _ in made],
        "seq": pa.array([seq for _, seq, _ in made], pa.int16()),
        "call": ids,
    }
    for name in ("stage", "role", "error"):
        columns[name] = [getattr(call, name) for _, _, call in made]
    for name, kind in _KINDS.items():
        columns[name] = pa.array([getattr(call, name) for _, _, call in made], kind)
    insert(cursor, "row_call", columns)


def identity(key: str, request: str, reply: str) -> str:
    """Equal for equal exchanges; the request's key alone would not do, since asking again may bring another answer."""
    digest = hashlib.sha256()
    for part in (key, request, reply):
        digest.update(f"{len(part)} {part}".encode())
    return digest.hexdigest()[:20]


def of_row(cursor: Cursor, run: str, pair_id: str) -> list[Call]:
    """The calls of one row, in order."""
    found = records(
        cursor,
        """SELECT c.key, r.stage, r.role, c.request, c.reply, r.cached, r.attempts, r.latency_ms, r.prompt_tokens,
             r.completion_tokens, r.reasoning_tokens, r.error
           FROM row_call r JOIN call c ON c.id = r.call WHERE r.run = ? AND r.pair_id = ? ORDER BY r.seq""",
        [run, pair_id],
    )
    return [Call(**values) for values in found]


def averages(cursor: Cursor, method: str, model: str) -> tuple[float, float, float] | None:
    """Prompt tokens, completion tokens and seconds of a call of this method with this model, those of the cache left out.

    None where none was answered.
    """
    row = one(
        cursor,
        """SELECT avg(c.prompt_tokens), avg(c.completion_tokens), avg(c.latency_ms) / 1000
           FROM row_call c JOIN run r ON r.id = c.run WHERE r.method = ? AND r.model = ? AND NOT c.cached AND c.error = ''""",
        [method, model],
    )
    return None if row is None or row[0] is None else (float(row[0]), float(row[1]), float(row[2]))
