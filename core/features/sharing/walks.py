"""Walk-throughs: ordered stops that people save while reading, by dataset and name; a stop is
added, worded, moved or taken out. The list `REPORT` is what the report shows."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from core.base.errors import InputError, NotFound
from core.base.texts import check_name, list_known
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets
from core.store.queries import records

REPORT: Final = "Report"  # the list that "Add to report" adds to
USUAL: Final = "Walk-through"  # that of "Add to walk-through", until another is chosen
LONGEST: Final = 400  # characters of what is said at a stop
LARGEST_FIGURE: Final = 4_000_000  # characters of a figure as JSON
_ADDRESS = re.compile(r"\./[\w-]*\?[^\s<>\"']*")


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


def list_all(cursor: Cursor) -> list[tuple[str, str, int]]:
    """Return dataset (id), name and number of stops of every walk-through, by name."""
    return cursor.execute(
        "SELECT dataset, walk, count(*) FROM walk_stop GROUP BY ALL ORDER BY walk, dataset"
    ).fetchall()


def of_walk(cursor: Cursor, dataset: str, walk: str) -> list[Stop]:
    """Return the stops of a walk-through, in order; none if there is no such walk-through."""
    return _select(cursor, "dataset = ? AND walk = ?", [dataset, walk])


def _select(cursor: Cursor, condition: str, values: Sequence[str]) -> list[Stop]:
    query = f"SELECT * FROM walk_stop WHERE {condition} ORDER BY position, id"
    return [
        Stop(**row | {"figure": None if row["figure"] is None else json.loads(row["figure"])})
        for row in records(cursor, query, values)
    ]


def find_walk(db: Cursor, walk: str, dataset: str | None = None) -> tuple[str, list[Stop]]:
    """Return the dataset (id) and the stops of the walk-through of a name.

    dataset: a name or an id, needed where two have the name. Raise NotFound, which lists the names,
    and InputError if several datasets have the name.
    """
    known = list_all(db)
    wanted = None if dataset is None else datasets.find(db, dataset).id
    homes = [home for home, name, _ in known if name == walk and wanted in (None, home)]
    if not homes:
        raise NotFound(
            f"walk-through {walk!r}: not in this workspace,"
            f" {list_known(walk, [name for _, name, _ in known])}"
        )
    if len(homes) > 1:
        raise InputError(
            f"walk-through {walk!r}: {len(homes)} datasets have one of that name; name the dataset"
        )
    return homes[0], of_walk(db, homes[0], walk)


def add_stop(workspace: Workspace, stop: Stop) -> str:
    """Add a stop at the end of a walk-through, which begins with its first; return the stop's id.

    Raise InputError for an address that is no view of the app, a figure that is too large, a name
    or a sentence that cannot stand; NotFound for an unknown dataset; ReadOnly.
    """
    check_name("walk-through", stop.walk)
    _check_sentence(stop.sentence)
    if not _ADDRESS.fullmatch(stop.address):
        raise InputError(
            f"stop: got the address {stop.address[:80]!r}, expected that of a view, such as"
            " ./rows?run=ID"
        )
    figure = None if stop.figure is None else json.dumps(stop.figure, sort_keys=True)
    if figure is not None and len(figure) > LARGEST_FIGURE:
        raise InputError(
            f"stop {stop.title}: a figure of {len(figure):,} characters, expected"
            f" {LARGEST_FIGURE:,} at most"
        )
    key = uuid.uuid4().hex[:12]
    with workspace.change("add stop", stop.walk) as (db, detail):
        datasets.find(db, stop.dataset)
        of_view = [stop.run, stop.pair_id, stop.title, stop.sentence, stop.address, figure]
        place = [stop.dataset, stop.walk]
        db.execute(
            """INSERT INTO walk_stop (id, dataset, walk, position, run, pair_id, title, sentence,
                 address, figure, author, added_at)
               SELECT ?, ?, ?, 1 + coalesce(max(position), 0), ?, ?, ?, ?, ?, ?, ?,
                 now()::TIMESTAMP FROM walk_stop WHERE dataset = ? AND walk = ?""",
            [key, *place, *of_view, workspace.settings.author, *place],
        )
        changes.bump(db, "walks")
        detail |= {"stop": key, "title": stop.title, "run": stop.run, "pair_id": stop.pair_id}
    return key


def set_sentence(workspace: Workspace, key: str, sentence: str) -> None:
    """Replace the sentence of a stop. Raise NotFound, InputError, ReadOnly."""
    sentence = " ".join(sentence.split())
    _check_sentence(sentence)
    with _change(workspace, "word stop", key) as (db, _, detail):
        db.execute("UPDATE walk_stop SET sentence = ? WHERE id = ?", [sentence, key])
        detail["sentence"] = sentence


def move_stop(workspace: Workspace, key: str, places: int) -> None:
    """Move a stop by some places, at most to an end: -1 is one earlier. Raise NotFound,
    ReadOnly."""
    with _change(workspace, "move stop", key) as (db, stop, detail):
        keys = [each.id for each in of_walk(db, stop.dataset, stop.walk)]
        to = min(max(keys.index(key) + places, 0), len(keys) - 1)
        keys.remove(key)
        for position, each in enumerate([*keys[:to], key, *keys[to:]], start=1):
            db.execute("UPDATE walk_stop SET position = ? WHERE id = ?", [position, each])
        detail["to"] = to + 1


def delete_stop(workspace: Workspace, key: str) -> None:
    """Take a stop out. Raise NotFound, ReadOnly."""
    with _change(workspace, "delete stop", key) as (db, stop, detail):
        db.execute("DELETE FROM walk_stop WHERE id = ?", [key])
        detail |= {"title": stop.title, "sentence": stop.sentence}


def delete_walk(workspace: Workspace, dataset: str, walk: str) -> int:
    """Delete a walk-through; return how many stops it had. Raise NotFound, ReadOnly."""
    with workspace.change("delete walk-through", walk) as (db, detail):
        n = len(of_walk(db, dataset, walk))
        if not n:
            raise NotFound(f"walk-through {walk!r}: not in this dataset")
        db.execute("DELETE FROM walk_stop WHERE dataset = ? AND walk = ?", [dataset, walk])
        changes.bump(db, "walks")
        detail |= {"dataset": dataset, "stops": n}
    return n


@contextmanager
def _change(
    workspace: Workspace, action: str, key: str
) -> Iterator[tuple[Cursor, Stop, dict[str, Any]]]:
    """Give the store, a stop and the detail of a change of it. Raise NotFound, ReadOnly."""
    with workspace.change(action, key) as (db, detail):
        stops = _select(db, "id = ?", [key])
        if not stops:
            raise NotFound(f"stop {key!r}: not in this workspace")
        detail["walk"] = stops[0].walk
        yield db, stops[0], detail
        changes.bump(db, "walks")


def _check_sentence(sentence: str) -> None:
    if len(sentence) > LONGEST:
        raise InputError(
            f"stop: got a sentence of {len(sentence):,} characters, expected {LONGEST:,} at most"
        )
