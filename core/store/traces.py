"""What was said on the way to each prediction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from core.store.connection import Cursor
from core.store.queries import insert, lists, records
from core.types import RowResult


def add(cursor: Cursor, run: str, rows: Sequence[RowResult], findings: Sequence[Sequence[str]]) -> None:
    """Append the events of finished rows; `findings` holds one list an event, in the same order."""
    events = [event for row in rows for event in row.events]
    if not events:
        return
    stage, role, kind, content, tokens, latency_ms, meta = zip(*events, strict=True)
    columns: dict[str, Any] = {
        "run": pa.repeat(run, len(events)),
        "pair_id": [row.prediction.pair_id for row in rows for _ in row.events],
        "seq": pa.array([seq for row in rows for seq in range(len(row.events))], pa.int16()),
        "stage": stage,
        "role": role,
        "kind": kind,
        "content": content,
        "tokens": pa.array(tokens, pa.int32()),
        "latency_ms": pa.array(latency_ms, pa.float64()),
        "findings": lists(findings),
        "meta": _as_json(meta),
    }
    insert(cursor, "trace_event", columns)


def _as_json(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each mapping as JSON; few are distinct, so each of those is written out once."""
    known: dict[str, str] = {"{}": "{}"}
    texts = []
    for mapping in mappings:
        key = repr(mapping) if mapping else "{}"
        if key not in known:
            known[key] = json.dumps(mapping)
        texts.append(known[key])
    return texts


def of_row(cursor: Cursor, run: str, pair_id: str) -> list[dict[str, Any]]:
    """The events of one row in order: stage, role, kind, content, tokens, latency_ms, findings, meta (a mapping)."""
    events = records(
        cursor,
        """SELECT stage, role, kind, content, tokens, latency_ms, findings, meta FROM trace_event
           WHERE run = ? AND pair_id = ? ORDER BY seq""",
        [run, pair_id],
    )
    for event in events:
        event["meta"] = json.loads(event["meta"])
    return events


def frame(cursor: Cursor, run: str) -> pd.DataFrame:
    """All events of a run: pair_id, seq, stage, role, kind, content, tokens, latency_ms, findings, meta (JSON text)."""
    return cursor.execute("SELECT * EXCLUDE (run) FROM trace_event WHERE run = ? ORDER BY pair_id, seq", [run]).df()


def briefs(cursor: Cursor, run: str) -> pd.DataFrame:
    """Per role that wrote briefs: role, n, median_length, and one count for each thing that the audit found."""
    return cursor.execute(
        """SELECT role, count(*) AS n, median(length(content)) AS median_length,
             count(*) FILTER (list_contains(findings, 'short')) AS short,
             count(*) FILTER (list_contains(findings, 'option')) AS option,
             count(*) FILTER (list_contains(findings, 'against')) AS against,
             count(*) FILTER (list_contains(findings, 'cites')) AS cites
           FROM trace_event WHERE run = ? AND kind = 'brief' GROUP BY role
           ORDER BY coalesce(list_position(['EFFECT', 'NULL', 'UP', 'DOWN'], role), 9), role""",
        [run],
    ).df()


def brief_lengths(cursor: Cursor, run: str) -> pd.DataFrame:
    """One row a brief: role, length in characters."""
    return cursor.execute("SELECT role, length(content) AS length FROM trace_event WHERE run = ? AND kind = 'brief'", [run]).df()
