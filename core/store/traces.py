"""The events of each row's trace, and rows as records of `core.base.types`, with their events.

The events of a run a few megabytes at a time, in an order that would otherwise take a sort of all
their texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeVar

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from core.base.row_schema import TABLES, record_from_json
from core.base.types import Prediction, RowResult, TraceEvent
from core.store.connection import Cursor
from core.store.queries import (
    Insertion,
    arrow_array,
    insertion,
    record_columns,
    records,
    select_list,
)

BATCH_BYTES = 8 << 20  # of texts
EventOrder = Literal["p.position, e.seq", "e.pair_id, e.seq"]
OF_PAIRS = (
    "trace_event e JOIN run r ON r.id = e.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id ="
    " e.pair_id"
)


class EventBatch(NamedTuple):
    """Some events, those of whole rows. condition: chooses them from the table of events e; its
    parameters are `values`."""

    condition: str
    values: tuple[int, int]


_NUMBERS = count()


_TABLE = TABLES["trace_event"]
R = TypeVar("R")
# The start of a tool's answer about a failed call, for files without a mark for it; case is
# ignored.
FAILED = r"^\s*(?:error\b|execution error\b|traceback \(|exception\b|http error\b|timed? ?out\b)"


def insertion_of(
    run: str, rows: Sequence[RowResult], findings: Sequence[Sequence[str]]
) -> Insertion:
    """Return the events of finished rows. findings: one list per event, in the same order."""
    events = [event for row in rows for event in row.events]
    columns: dict[str, Any] = {
        "run": pa.repeat(run, len(events)),
        "pair_id": pa.array([row.pair_id for row in rows for _ in row.events], pa.string()),
        "seq": arrow_array(_TABLE["seq"], [seq for row in rows for seq in range(len(row.events))]),
        "findings": arrow_array(_TABLE["findings"], findings),
    }
    return insertion("trace_event", columns | record_columns(_TABLE.columns_of(TraceEvent), events))


def of_row(cursor: Cursor, run: str, pair_id: str) -> list[dict[str, Any]]:
    """Return the events of one row in order: the fields of `TraceEvent`, meta a mapping, and
    findings."""
    # Where its events stand is looked for first: of a million rows, reading their texts along the
    # way takes twice as long.
    query = "SELECT min(rowid), max(rowid) FROM trace_event WHERE run = ? AND pair_id = ?"
    [(first, last)] = cursor.execute(query, [run, pair_id]).fetchall()
    events = records(
        cursor,
        f"""SELECT {select_list(_TABLE.columns_of(TraceEvent), "e")}, e.findings FROM trace_event e
            WHERE e.rowid BETWEEN ? AND ? AND e.run = ? AND e.pair_id = ? ORDER BY e.seq""",
        [first, last, run, pair_id],
    )
    for event in events:
        event["meta"] = json.loads(event["meta"])
    return events


def frame(cursor: Cursor, run: str) -> pd.DataFrame:
    """Return all events of a run: the columns of trace_event in `core.base.row_schema`, meta as
    JSON text."""
    return cursor.execute(
        "SELECT * EXCLUDE (run) FROM trace_event WHERE run = ? ORDER BY pair_id, seq", [run]
    ).df()


def frames(cursor: Cursor, run: str) -> Iterator[pd.DataFrame]:
    """Yield the rows of `frame`, some thousand at a time, with its types; a run without events
    yields once, nothing."""
    found = False
    [(lacks_some,)] = cursor.execute(
        "SELECT count(*) > count(tokens) FROM trace_event WHERE run = ?", [run]
    ).fetchall()
    for batch in split_events(cursor, "e.run = ?", [run], "e.pair_id, e.seq"):
        found = True
        query = (
            f"SELECT * EXCLUDE (run) FROM trace_event e WHERE {batch.condition} ORDER BY"
            " pair_id, seq"
        )
        rows = cursor.execute(query, batch.values).df()
        # as DuckDB has it where one of all is missing
        yield rows.astype({"tokens": "Int32"}) if lacks_some else rows
    if not found:
        yield frame(cursor, run)


def briefs(cursor: Cursor, run: str) -> pd.DataFrame:
    """Per role that wrote briefs: role, n, and a column for each finding in any: in how many briefs
    it is."""
    roles = cursor.execute(
        """SELECT role, count(*) AS n FROM trace_event WHERE run = ? AND kind = 'brief' GROUP BY
          role
           ORDER BY coalesce(list_position(['EFFECT', 'NULL', 'UP', 'DOWN'], role), 9), role""",
        [run],
    ).df()
    counts = cursor.execute(
        """SELECT role, finding, count(*) AS n
           FROM (SELECT role, unnest(findings) AS finding FROM trace_event WHERE run = ? AND kind =
             'brief') GROUP BY ALL""",
        [run],
    ).df()
    by_role = (
        counts.pivot(index="role", columns="finding", values="n")
        .reindex(roles["role"])
        .fillna(0)
        .astype(int)
    )
    return roles.join(by_role, on="role")


def rows_by_arguing(cursor: Cursor, run: str) -> dict[int, int]:
    """Return number of advocates of a row whose brief is not short → number of rows; rows without
    briefs are left out."""
    rows = cursor.execute(
        """SELECT n, count(*) FROM (
             SELECT count(DISTINCT role) FILTER (NOT list_contains(findings, 'short')) AS n
             FROM trace_event WHERE run = ? AND kind = 'brief' GROUP BY pair_id) GROUP BY n ORDER BY
               n""",
        [run],
    )
    return dict(rows.fetchall())


def rows(cursor: Cursor, run: str) -> dict[str, RowResult]:
    """Return every predicted row of a run by its id, in file order, with its events; evidence and
    calls are left out."""
    return {row.pair_id: row for row in each_row(cursor, run)}


def each_row(cursor: Cursor, run: str) -> Iterator[RowResult]:
    """Yield the rows of `rows`, of which some thousand are in memory at a time."""
    prediction_rows = records(
        cursor,
        f"""SELECT {select_list(TABLES["prediction"].columns_of(Prediction), "q")}
            FROM prediction q JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND
              p.pair_id = q.pair_id
            WHERE q.run = ? AND q.error IS NULL ORDER BY p.position""",
        [run],
    )
    predictions = [record_from_json(Prediction, values) for values in prediction_rows]
    for row, events in with_events(cursor, run, predictions, [row.pair_id for row in predictions]):
        yield RowResult(
            row,
            tuple(
                TraceEvent(**{name: event[name] for name in TraceEvent._fields}) for event in events
            ),
        )


def with_events(
    cursor: Cursor, run: str, rows: Sequence[R], pair_ids: Sequence[str]
) -> Iterator[tuple[R, list[dict[str, Any]]]]:
    """Yield each of some rows of a run with its events, as of `of_row`; the rows, whose ids these
    are, are in file order."""
    places = {pair_id: place for place, pair_id in enumerate(pair_ids)}
    done = 0
    for pair_id, events in _events_of_rows(cursor, run):
        place = places.get(pair_id)
        if place is None:
            continue
        yield from ((row, []) for row in rows[done:place])
        yield rows[place], events
        done = place + 1
    yield from ((row, []) for row in rows[done:])


def _events_of_rows(cursor: Cursor, run: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the id and the events of each row that has any, in file order."""
    columns = select_list(_TABLE.columns_of(TraceEvent), "e")
    for batch in split_events(cursor, "e.run = ?", [run], "p.position, e.seq"):
        query = (
            f"SELECT e.pair_id, {columns}, e.findings FROM {OF_PAIRS} WHERE {batch.condition} ORDER"
            " BY p.position, e.seq"
        )
        events = records(cursor, query, batch.values)
        for event in events:
            event["meta"] = json.loads(event["meta"])
        for pair_id, of_row in groupby(events, itemgetter("pair_id")):
            yield pair_id, list(of_row)


def calls_tools(cursor: Cursor, run: str) -> bool:
    """Return whether any row of a run has a call of a tool in its trace."""
    query = "SELECT EXISTS (SELECT 1 FROM trace_event WHERE run = ? AND kind = 'tool_call')"
    return bool(cursor.execute(query, [run]).fetchall()[0][0])


# Kinds of events that are texts; arguing ones come first.
TEXT_KINDS = ("brief", "rebuttal", "answer", "thought", "text", "verdict")


def text_counts(cursor: Cursor, run: str) -> dict[str, dict[str, int]]:
    """Return how many texts of each of TEXT_KINDS a run has: kind → role → number; kinds that it
    lacks are left out."""
    result = cursor.execute(
        """SELECT kind, role, count(*) FROM trace_event WHERE run = ? AND list_contains(?, kind)
           GROUP BY kind, role ORDER BY list_position(?, kind), list_position(['EFFECT', 'NULL',
             'UP', 'DOWN'], role), role""",
        [run, list(TEXT_KINDS), list(TEXT_KINDS)],
    ).fetchall()
    counts: dict[str, dict[str, int]] = {}
    for kind, role, n in result:
        counts.setdefault(kind, {})[role] = n
    return counts


def stages(cursor: Cursor, run: str) -> list[str]:
    """Return the stages that the events of a run name, in the order in which a row has them."""
    result = cursor.execute(
        "SELECT stage FROM trace_event WHERE run = ? AND stage <> '' GROUP BY stage ORDER BY"
        " min(seq), stage",
        [run],
    ).fetchall()
    return [stage for (stage,) in result]


def split_events(
    cursor: Cursor, where: str, values: Sequence[Any], order: EventOrder
) -> Iterator[EventBatch]:
    """Yield the events e selected by a condition, in an order, in batches of about BATCH_BYTES of
    texts.

    In file order the condition may name what `OF_PAIRS` joins. A batch is registered with the
    cursor until the next one is requested.
    """
    source = OF_PAIRS if order == "p.position, e.seq" else "trace_event e"
    columns = "e.rowid AS event, hash(e.pair_id) AS row, strlen(e.content) AS size"
    result = cursor.execute(
        f"SELECT {columns} FROM {source} WHERE {where} ORDER BY {order}", list(values)
    ).fetchnumpy()
    events, sizes = np.asarray(result["event"], dtype=np.int64), np.cumsum(result["size"])
    ends = (
        np.flatnonzero(np.append(result["row"][1:] != result["row"][:-1], True)) + 1
        if len(events)
        else np.array([], dtype=np.intp)
    )
    start, base = 0, 0
    for end in map(int, ends):
        if sizes[end - 1] - base >= BATCH_BYTES or end == len(events):
            with _register(cursor, events[start:end]) as name:
                # the range passes most over
                condition = f"e.rowid BETWEEN ? AND ? AND e.rowid IN (SELECT event FROM {name})"
                yield EventBatch(
                    condition, (int(events[start:end].min()), int(events[start:end].max()))
                )
            start, base = end, int(sizes[end - 1])


@contextmanager
def _register(cursor: Cursor, events: Any) -> Iterator[str]:
    """Register events with a cursor under a unique name."""
    name = f"chosen_events_{next(_NUMBERS)}"
    cursor.register(name, pa.table({"event": events}))
    try:
        yield name
    finally:
        # whoever read them has stopped halfway, and the cursor is closed
        with suppress(duckdb.ConnectionException):
            cursor.unregister(name)
