"""The events of a run a few megabytes at a time, in an order that would otherwise take a sort of all their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Literal, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from core.store.connection import Cursor

BATCH_BYTES = 8 << 20  # of texts
EventOrder = Literal["p.position, e.seq", "e.pair_id, e.seq"]
OF_PAIRS = "trace_event e JOIN run r ON r.id = e.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = e.pair_id"


class EventBatch(NamedTuple):
    """Some events, those of whole rows. condition: chooses them from the table of events e; its parameters are `values`."""

    condition: str
    values: tuple[int, int]


def split_events(cursor: Cursor, where: str, values: Sequence[Any], order: EventOrder) -> Iterator[EventBatch]:
    """Yield the events e that a condition chooses, in an order, as many at a time as hold BATCH_BYTES of texts.

    In file order the condition may name what `OF_PAIRS` joins. A batch is known to the cursor until the next one is asked for.
    """
    source = OF_PAIRS if order == "p.position, e.seq" else "trace_event e"
    columns = "e.rowid AS event, hash(e.pair_id) AS row, strlen(e.content) AS size"
    found = cursor.execute(f"SELECT {columns} FROM {source} WHERE {where} ORDER BY {order}", list(values)).fetchnumpy()
    events, sizes = np.asarray(found["event"], dtype=np.int64), np.cumsum(found["size"])
    ends = (
        np.flatnonzero(np.append(found["row"][1:] != found["row"][:-1], True)) + 1 if len(events) else np.array([], dtype=np.intp)
    )
    start, base = 0, 0
    for end in map(int, ends):
        if sizes[end - 1] - base >= BATCH_BYTES or end == len(events):
            with _registered(cursor, events[start:end]) as name:
                condition = f"e.rowid BETWEEN ? AND ? AND e.rowid IN (SELECT event FROM {name})"  # the range passes most over
                yield EventBatch(condition, (int(events[start:end].min()), int(events[start:end].max())))
            start, base = end, int(sizes[end - 1])


_NUMBERS = count()


@contextmanager
def _registered(cursor: Cursor, events: Any) -> Iterator[str]:
    """Make events known to a cursor under a name of their own."""
    name = f"chosen_events_{next(_NUMBERS)}"
    cursor.register(name, pa.table({"event": events}))
    try:
        yield name
    finally:
        with suppress(duckdb.ConnectionException):  # whoever read them has stopped halfway, and the cursor is closed
            cursor.unregister(name)
