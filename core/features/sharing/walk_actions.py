"""Walk-throughs: a stop is added while one reads, worded, moved or taken out. The list `REPORT` is
what the report shows."""

from __future__ import annotations

import json
import re
from typing import Final

from core.base.errors import InputError, NotFound
from core.base.texts import check_name, list_known
from core.features.sharing import walk_tables
from core.features.sharing.walk_tables import Stop
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets

REPORT: Final = "Report"  # the list that "Add to report" adds to
USUAL: Final = "Walk-through"  # that of "Add to walk-through", until another is chosen
LONGEST: Final = 400  # characters of what is said at a stop
LARGEST_FIGURE: Final = 4_000_000  # characters of a figure as JSON
_ADDRESS = re.compile(r"\./[\w-]*\?[^\s<>\"']*")


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
    size = 0 if stop.figure is None else len(json.dumps(stop.figure))
    if size > LARGEST_FIGURE:
        raise InputError(
            f"stop {stop.title}: a figure of {size:,} characters, expected {LARGEST_FIGURE:,} at"
            " most"
        )
    with workspace.change("add stop", stop.walk) as (db, detail):
        datasets.find(db, stop.dataset)
        key = walk_tables.add(db, stop, workspace.settings.author)
        changes.bump(db, "walks")
        detail |= {"stop": key, "title": stop.title, "run": stop.run, "pair_id": stop.pair_id}
    return key


def set_sentence(workspace: Workspace, key: str, sentence: str) -> None:
    """Replace the sentence of a stop. Raise NotFound, InputError, ReadOnly."""
    sentence = " ".join(sentence.split())
    _check_sentence(sentence)
    with workspace.change("word stop", key) as (db, detail):
        detail |= {"walk": _find(db, key).walk, "sentence": sentence}
        walk_tables.set_sentence(db, key, sentence)
        changes.bump(db, "walks")


def move_stop(workspace: Workspace, key: str, places: int) -> None:
    """Move a stop by some places, at most to an end: -1 is one earlier. Raise NotFound,
    ReadOnly."""
    with workspace.change("move stop", key) as (db, detail):
        found = _find(db, key)
        keys = [each.id for each in walk_tables.of_walk(db, found.dataset, found.walk)]
        to = min(max(keys.index(key) + places, 0), len(keys) - 1)
        keys.remove(key)
        walk_tables.order(db, [*keys[:to], key, *keys[to:]])
        changes.bump(db, "walks")
        detail |= {"walk": found.walk, "to": to + 1}


def delete_stop(workspace: Workspace, key: str) -> None:
    """Take a stop out. Raise NotFound, ReadOnly."""
    with workspace.change("delete stop", key) as (db, detail):
        found = _find(db, key)
        walk_tables.delete(db, key)
        changes.bump(db, "walks")
        detail |= {"walk": found.walk, "title": found.title, "sentence": found.sentence}


def delete_walk(workspace: Workspace, dataset: str, walk: str) -> int:
    """Delete a walk-through; return how many stops it had. Raise NotFound, ReadOnly."""
    with workspace.change("delete walk-through", walk) as (db, detail):
        n = walk_tables.delete_walk(db, dataset, walk)
        if not n:
            raise NotFound(f"walk-through {walk!r}: not in this dataset")
        changes.bump(db, "walks")
        detail |= {"dataset": dataset, "stops": n}
    return n


def find_walk(db: Cursor, walk: str, dataset: str | None = None) -> tuple[str, list[Stop]]:
    """Return the dataset (id) and the stops of the walk-through of a name.

    dataset: a name or an id, needed where two have the name. Raise NotFound, which lists the names,
    and InputError if several datasets have the name.
    """
    known = walk_tables.list_all(db)
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
    return homes[0], walk_tables.of_walk(db, homes[0], walk)


def _find(db: Cursor, key: str) -> Stop:
    found = walk_tables.find(db, key)
    if found is None:
        raise NotFound(f"stop {key!r}: not in this workspace")
    return found


def _check_sentence(sentence: str) -> None:
    if len(sentence) > LONGEST:
        raise InputError(
            f"stop: got a sentence of {len(sentence):,} characters, expected {LONGEST:,} at most"
        )
