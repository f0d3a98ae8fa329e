"""The answers of evidence tools, and which of them each row saw. Equal answers are stored once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.base.hashes import sha256_of
from core.base.row_schema import TABLES
from core.base.types import Evidence, RowResult
from core.store.connection import Cursor
from core.store.queries import (
    Insertion,
    arrow_array,
    insertion,
    one,
    record_columns,
    records,
    select_list,
)

_TABLE = TABLES["evidence"]


def insertions_of(run: str, rows: Sequence[RowResult]) -> list[Insertion]:
    """Return the evidence of finished rows, and which of it each row saw."""
    ids: dict[int, str] = {}  # by object: rows share the answers they saw
    distinct: dict[str, Evidence] = {}
    seen: list[tuple[str, int, str]] = []
    for row in rows:
        for seq, item in enumerate(row.evidence):
            if id(item) not in ids:
                ids[id(item)] = key = identity(item)
                distinct[key] = item
            seen.append((row.pair_id, seq, ids[id(item)]))
    if not seen:
        return []
    columns = record_columns(_TABLE.columns_of(Evidence), list(distinct.values()))
    pair_ids, seqs, keys = zip(*seen, strict=True)
    seen_columns = {
        "pair_id": pair_ids,
        "seq": arrow_array(TABLES["row_evidence"]["seq"], seqs),
        "evidence": keys,
    }
    return [
        insertion("evidence", {"id": list(distinct), **columns}, ignore_existing=True),
        insertion("row_evidence", {"run": [run] * len(seen), **seen_columns}),
    ]


def identity(item: Evidence) -> str:
    """Return the id of an answer; it contains the label view, so that blinded and unblinded answers
    never mix."""
    parts = [
        item.tool,
        item.key,
        item.view,
        item.source,
        item.status,
        str(item.retrieved_at),
        dict(item.body),
    ]
    return sha256_of(json.dumps(parts, sort_keys=True))[:20]


def of_row(cursor: Cursor, run: str, pair_id: str) -> list[dict[str, Any]]:
    """Return the evidence that one row saw, in order: the fields of `Evidence`, body a mapping."""
    items = records(
        cursor,
        f"""SELECT {select_list(_TABLE.columns_of(Evidence), "e")}
            FROM row_evidence s JOIN evidence e ON e.id = s.evidence WHERE s.run = ? AND s.pair_id =
              ? ORDER BY s.seq""",
        [run, pair_id],
    )
    for item in items:
        item["body"] = json.loads(item["body"])
    return items


def of_run(cursor: Cursor, run: str) -> dict[str, list[Evidence]]:
    """Return pair id → the evidence that the row saw, in order, for rows with evidence; equal
    answers are one record."""
    distinct = records(
        cursor,
        f"""SELECT e.id, {select_list(_TABLE.columns_of(Evidence), "e")} FROM evidence e
            WHERE e.id IN (SELECT evidence FROM row_evidence WHERE run = ?)""",
        [run],
    )
    evidence = {
        item.pop("id"): Evidence(**{**item, "body": json.loads(item["body"])}) for item in distinct
    }
    by_row: dict[str, list[Evidence]] = {}
    seen = cursor.execute(
        "SELECT pair_id, evidence FROM row_evidence WHERE run = ? ORDER BY pair_id, seq", [run]
    )
    for pair_id, key in seen.fetchall():
        by_row.setdefault(pair_id, []).append(evidence[key])
    return by_row


def has_evidence(cursor: Cursor, run: str) -> bool:
    """Return whether any row of a run has evidence."""
    return one(cursor, "SELECT 1 FROM row_evidence WHERE run = ? LIMIT 1", [run]) is not None


def tools(cursor: Cursor, run: str, pair_ids: Sequence[str] | None = None) -> list[str]:
    """Return the names of the evidence tools that a run's rows used; pair_ids: only these rows."""
    result = cursor.execute(
        """SELECT DISTINCT e.tool FROM row_evidence s JOIN evidence e ON e.id = s.evidence
           WHERE s.run = ? AND (? OR s.pair_id IN (SELECT unnest(?))) ORDER BY 1""",
        [run, pair_ids is None, list(pair_ids or [])],
    )
    return [name for (name,) in result.fetchall()]


def distinct_tools(cursor: Cursor, run: str) -> Mapping[str, int]:
    """Return pair id → number of tools that the row used, for rows with evidence."""
    result = cursor.execute(
        """SELECT s.pair_id, count(DISTINCT e.tool) FROM row_evidence s JOIN evidence e ON e.id =
          s.evidence
           WHERE s.run = ? GROUP BY s.pair_id""",
        [run],
    )
    return dict(result.fetchall())
