"""Entries of a ledger as the store would number them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.features.experiments.ledger_table import Entry


def numbered(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with their places."""
    return [
        replace(entry, position=i, written_at=datetime(2026, 1, 1))
        for i, entry in enumerate(entries, 1)
    ]
