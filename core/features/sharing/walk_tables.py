"""Walk-throughs: ordered stops that people saved while reading, by dataset and name."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from core.store.connection import Cursor
from core.store.queries import one


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One stop of a walk-through.

    dataset: its id. walk: the name of the walk-through. run: the id of the run that it is about,
    None for none; pair_id: of a row. title: of the view. sentence: a person's remark, "" for none.
    address: of the view, relative to any page's ("./rows?run=…"). figure: title, sentence, caption
    and chart (plotly's JSON) of the figure on screen, or None.
    """

    dataset: str
    walk: str
    title: str
    address: str
    sentence: str = ""
    run: str | None = None
    pair_id: str | None = None
    figure: dict[str, Any] | None = None
    id: str = ""
    position: int = 0
    author: str = ""
    added_at: datetime | None = None


_COLUMNS = (
    "id, dataset, walk, position, run, pair_id, title, sentence, address, figure, author, added_at"
)


def add(cursor: Cursor, stop: Stop, author: str) -> str:
    """Add a stop at the end of its walk-through; return its id."""
    key = uuid.uuid4().hex[:12]
    figure = None if stop.figure is None else json.dumps(stop.figure, sort_keys=True)
    values = (
        key,
        stop.dataset,
        stop.walk,
        stop.run,
        stop.pair_id,
        stop.title,
        stop.sentence,
        stop.address,
        figure,
    )
    cursor.execute(
        f"""INSERT INTO walk_stop ({_COLUMNS}) SELECT ?, ?, ?, 1 + coalesce(max(position), 0), ?, ?,
        ?, ?, ?, ?, ?,
              now()::TIMESTAMP FROM walk_stop WHERE dataset = ? AND walk = ?""",
        [*values, author, stop.dataset, stop.walk],
    )
    return key


def of_walk(cursor: Cursor, dataset: str, walk: str) -> list[Stop]:
    """Return the stops of a walk-through, in order; none if there is no such walk-through."""
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM walk_stop WHERE dataset = ? AND walk = ? ORDER BY position, id",
        [dataset, walk],
    ).fetchall()
    return [_read(row) for row in rows]


def find(cursor: Cursor, key: str) -> Stop | None:
    """Return the stop with this id, or None."""
    row = one(cursor, f"SELECT {_COLUMNS} FROM walk_stop WHERE id = ?", [key])
    return None if row is None else _read(row)


def _read(row: tuple[Any, ...]) -> Stop:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    found = Stop(**{**values, "figure": None})
    return (
        found if values["figure"] is None else replace(found, figure=json.loads(values["figure"]))
    )


def list_all(cursor: Cursor) -> list[tuple[str, str, int]]:
    """Return dataset (id), name and number of stops of every walk-through, by name."""
    return cursor.execute(
        "SELECT dataset, walk, count(*) FROM walk_stop GROUP BY ALL ORDER BY walk, dataset"
    ).fetchall()


def set_sentence(cursor: Cursor, key: str, sentence: str) -> None:
    """Replace the sentence of a stop."""
    cursor.execute("UPDATE walk_stop SET sentence = ? WHERE id = ?", [sentence, key])


def order(cursor: Cursor, keys: list[str]) -> None:
    """Give the stops of these ids the positions 1, 2 and so on."""
    for position, key in enumerate(keys, start=1):
        cursor.execute("UPDATE walk_stop SET position = ? WHERE id = ?", [position, key])


def delete(cursor: Cursor, key: str) -> None:
    """Delete a stop."""
    cursor.execute("DELETE FROM walk_stop WHERE id = ?", [key])


def delete_walk(cursor: Cursor, dataset: str, walk: str) -> int:
    """Delete a walk-through; return how many stops it had."""
    return len(
        cursor.execute(
            "DELETE FROM walk_stop WHERE dataset = ? AND walk = ? RETURNING id", [dataset, walk]
        ).fetchall()
    )
