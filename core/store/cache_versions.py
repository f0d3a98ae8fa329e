"""Counters that grow with every change, so that caches know what is out of date.

Scopes: "runs" (the list of runs), "datasets", "notes", "spaces" (and knowledge packs), "presets", and "run:ID" for the
rows of one run.
"""

from __future__ import annotations

from core.store.connection import Cursor


def bump(cursor: Cursor, *scopes: str) -> None:
    """Mark scopes as changed, in the transaction that changes them."""
    for scope in scopes:
        cursor.execute("INSERT INTO version VALUES (?, 1) ON CONFLICT (scope) DO UPDATE SET n = n + 1", [scope])


def read(cursor: Cursor) -> dict[str, int]:
    """All counters; a scope that never changed is absent."""
    return dict(cursor.execute("SELECT scope, n FROM version").fetchall())
