"""What people write down: notes on rows and runs, and presets, the named settings of a page (values
of widgets by key)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from core.store.connection import Cursor
from core.store.queries import one

if TYPE_CHECKING:
    import pandas as pd


class Subject(NamedTuple):
    """What a note is about: a row of a run, a figure of it (its title, and the address of the view
    that has it), or the run."""

    run: str
    pair_id: str | None = None
    figure: str | None = None
    address: str | None = None


def add(cursor: Cursor, subject: Subject, author: str, text: str) -> str:
    """Add a note and return its id."""
    note = uuid.uuid4().hex[:12]
    cursor.execute(
        """INSERT INTO note (id, run, pair_id, figure, address, author, written_at, text)
           VALUES (?, ?, ?, ?, ?, ?, now()::TIMESTAMP, ?)""",
        [note, *subject, author, text],
    )
    return note


def of_dataset(cursor: Cursor, dataset: str) -> pd.DataFrame:
    """Return all notes on the runs of a dataset, newest first.

    Columns: id, run (name), run_id, pair_id (None unless on a row), figure and address (None unless
    on a figure), author, written_at, text.
    """
    return cursor.execute(
        """SELECT n.id, r.name AS run, r.id AS run_id, n.pair_id, n.figure, n.address, n.author,
          n.written_at, n.text
           FROM note n JOIN run r ON r.id = n.run WHERE r.dataset = ? ORDER BY n.written_at DESC,
             n.id""",
        [dataset],
    ).df()


def author_of(cursor: Cursor, note: str) -> str | None:
    """Return who wrote a note; None if there is no such note."""
    row = one(cursor, "SELECT author FROM note WHERE id = ?", [note])
    return None if row is None else str(row[0])


def of_row(cursor: Cursor, run: str, pair_id: str) -> pd.DataFrame:
    """Return notes on one row, oldest first: id, author, written_at, text."""
    return cursor.execute(
        "SELECT id, author, written_at, text FROM note WHERE run = ? AND pair_id = ? ORDER BY"
        " written_at",
        [run, pair_id],
    ).df()


def of_run(cursor: Cursor, run: str) -> pd.DataFrame:
    """Return all notes on a run and its rows, oldest first: id, pair_id (None for the run), author,
    written_at, text."""
    return cursor.execute(
        "SELECT id, pair_id, author, written_at, text FROM note WHERE run = ? ORDER BY written_at",
        [run],
    ).df()


def delete(cursor: Cursor, note: str) -> bool:
    """Delete a note, and return whether there was one."""
    return one(cursor, "DELETE FROM note WHERE id = ? RETURNING id", [note]) is not None


def save_preset(
    cursor: Cursor, page: str, name: str, settings: Mapping[str, Any], author: str
) -> None:
    """Save settings under a name, instead of an existing preset of that name."""
    cursor.execute(
        "INSERT OR REPLACE INTO preset VALUES (?, ?, ?, ?, now()::TIMESTAMP)",
        [page, name, json.dumps(dict(settings), sort_keys=True), author],
    )


def presets_of_page(cursor: Cursor, page: str) -> dict[str, dict[str, Any]]:
    """Name → settings of a page, by name."""
    rows = cursor.execute(
        "SELECT name, settings FROM preset WHERE page = ? ORDER BY name", [page]
    ).fetchall()
    return {name: json.loads(settings) for name, settings in rows}


def preset_written(cursor: Cursor, page: str, name: str) -> tuple[str, datetime] | None:
    """Return who saved the preset of a name last, and when; None without one."""
    row = one(
        cursor, "SELECT author, written_at FROM preset WHERE page = ? AND name = ?", [page, name]
    )
    return None if row is None else (str(row[0]), row[1])


def delete_preset(cursor: Cursor, page: str, name: str) -> bool:
    """Delete a preset, and return whether there was one."""
    return (
        one(cursor, "DELETE FROM preset WHERE page = ? AND name = ? RETURNING name", [page, name])
        is not None
    )
