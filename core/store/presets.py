"""Named settings of a page: the values of its widgets, by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.store.connection import Cursor
from core.store.queries import one


def save(cursor: Cursor, page: str, name: str, settings: Mapping[str, Any], author: str) -> None:
    """Save settings under a name, in place of an existing preset of that name."""
    cursor.execute(
        "INSERT OR REPLACE INTO preset VALUES (?, ?, ?, ?, now()::TIMESTAMP)",
        [page, name, json.dumps(dict(settings), sort_keys=True), author],
    )


def of_page(cursor: Cursor, page: str) -> dict[str, dict[str, Any]]:
    """Name → settings of a page, by name."""
    rows = cursor.execute("SELECT name, settings FROM preset WHERE page = ? ORDER BY name", [page]).fetchall()
    return {name: json.loads(settings) for name, settings in rows}


def delete(cursor: Cursor, page: str, name: str) -> bool:
    """Delete a preset, and return whether there was one."""
    return one(cursor, "DELETE FROM preset WHERE page = ? AND name = ? RETURNING name", [page, name]) is not None
