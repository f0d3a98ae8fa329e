"""What evidence tools answered, and which answers each row really saw. Equal answers are kept once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from core.store.connection import Cursor
from core.store.queries import insert, one, records
from core.types import Evidence, RowResult


def add(cursor: Cursor, run: str, rows: Sequence[RowResult]) -> None:
    """Store the evidence of finished rows and what each row saw."""
    ids: dict[int, str] = {}  # by object: rows share the answers they saw
    distinct: dict[str, Evidence] = {}
    seen: list[tuple[str, int, str]] = []
    for row in rows:
        for seq, item in enumerate(row.evidence):
            if id(item) not in ids:
                ids[id(item)] = key = identity(item)
                distinct[key] = item
            seen.append((row.prediction.pair_id, seq, ids[id(item)]))
    if not seen:
        return
    items = list(distinct.values())
    columns: dict[str, Any] = {"id": list(distinct)}
    for name in ("tool", "key", "view", "source", "status"):
        columns[name] = [getattr(item, name) for item in items]
    columns["retrieved_at"] = pa.array([item.retrieved_at for item in items], pa.timestamp("us"))
    columns["body"] = [json.dumps(dict(item.body)) for item in items]
    insert(cursor, "evidence", columns, ignore_existing=True)
    pair_ids, seqs, keys = zip(*seen, strict=True)
    seen_columns = {"pair_id": pair_ids, "seq": pa.array(seqs, pa.int16()), "evidence": keys, "run": [run] * len(seen)}
    insert(cursor, "row_evidence", seen_columns)


def identity(item: Evidence) -> str:
    """Equal for equal answers under the same label view, so that blinded and unblinded ones never mix."""
    parts = [item.tool, item.key, item.view, item.source, item.status, str(item.retrieved_at), dict(item.body)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


def of_row(cursor: Cursor, run: str, pair_id: str) -> list[dict[str, Any]]:
    """What one row saw, in order: tool, key, view, retrieved_at, source, status, body (a mapping)."""
    items = records(
        cursor,
        """SELECT e.tool, e.key, e.view, e.retrieved_at, e.source, e.status, e.body
           FROM row_evidence s JOIN evidence e ON e.id = s.evidence WHERE s.run = ? AND s.pair_id = ? ORDER BY s.seq""",
        [run, pair_id],
    )
    for item in items:
        item["body"] = json.loads(item["body"])
    return items


def kept(cursor: Cursor, run: str) -> bool:
    """Whether any row of a run kept its dossier."""
    return one(cursor, "SELECT 1 FROM row_evidence WHERE run = ? LIMIT 1", [run]) is not None
