"""Rows of a run as records of `core.types`, and the tools and requests behind them: what a package is made from."""

from __future__ import annotations

import json
from collections.abc import Mapping

from core.row_schema import TABLES, record_from_json
from core.store.connection import Cursor
from core.store.queries import records, select_list
from core.types import Prediction, RowResult, TraceEvent


def rows(cursor: Cursor, run: str) -> dict[str, RowResult]:
    """Every predicted row of a run by its id, in file order, with its events; evidence and calls are left out."""
    events: dict[str, list[TraceEvent]] = {}
    event_rows = records(
        cursor,
        f"""SELECT e.pair_id, {select_list(TABLES["trace_event"].columns_of(TraceEvent), "e")} FROM trace_event e
            WHERE e.run = ? ORDER BY e.pair_id, e.seq""",
        [run],
    )
    for values in event_rows:
        events.setdefault(values.pop("pair_id"), []).append(TraceEvent(**{**values, "meta": json.loads(values["meta"])}))
    prediction_rows = records(
        cursor,
        f"""SELECT {select_list(TABLES["prediction"].columns_of(Prediction), "q")}
            FROM prediction q JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id
            WHERE q.run = ? AND q.error IS NULL ORDER BY p.position""",
        [run],
    )
    predictions = [record_from_json(Prediction, values) for values in prediction_rows]
    return {row.pair_id: RowResult(row, tuple(events.get(row.pair_id, ()))) for row in predictions}


def tools(cursor: Cursor, run: str) -> list[str]:
    """The names of the evidence tools that a run's rows used."""
    found = cursor.execute(
        "SELECT DISTINCT e.tool FROM row_evidence s JOIN evidence e ON e.id = s.evidence WHERE s.run = ? ORDER BY 1", [run]
    )
    return [name for (name,) in found.fetchall()]


def distinct_tools(cursor: Cursor, run: str) -> Mapping[str, int]:
    """Pair id → number of tools that the row used, for rows with evidence."""
    found = cursor.execute(
        """SELECT s.pair_id, count(DISTINCT e.tool) FROM row_evidence s JOIN evidence e ON e.id = s.evidence
           WHERE s.run = ? GROUP BY s.pair_id""",
        [run],
    )
    return dict(found.fetchall())


def request_settings(cursor: Cursor, run: str) -> list[tuple[str | None, float | None, float | None]]:
    """Distinct (model, temperature, top_p) of the requests behind a run's rows; None if a request left one to the server."""
    return cursor.execute(
        """SELECT DISTINCT json_extract_string(c.request, '$.model'),
             TRY_CAST(json_extract(c.request, '$.temperature') AS DOUBLE), TRY_CAST(json_extract(c.request, '$.top_p') AS DOUBLE)
           FROM row_call r JOIN call c ON c.id = r.call WHERE r.run = ? ORDER BY ALL""",
        [run],
    ).fetchall()
