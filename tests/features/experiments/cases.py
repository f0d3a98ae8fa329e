"""Entries of a ledger as the store would number them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.store.hypotheses import Entry


def numbered(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with ids and places, each linked to the first of its name."""
    first: dict[str, str] = {}
    at = datetime(2026, 1, 1)
    return [
        replace(entry, id=f"e{i}", first=first.setdefault(entry.name, f"e{i}"), position=i, written_at=at)
        for i, entry in enumerate(entries, 1)
    ]
