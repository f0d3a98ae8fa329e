"""The audit log: who changed what, when. Rows are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.store.connection import Cursor

if TYPE_CHECKING:
    import pandas as pd


def append(cursor: Cursor, author: str, action: str, subject: str, detail: Mapping[str, Any]) -> None:
    """Record one change, in the transaction that makes it."""
    cursor.execute(
        "INSERT INTO trail VALUES (now()::TIMESTAMP, ?, ?, ?, ?)",
        [author, action, subject, json.dumps(detail, default=str)],
    )


def latest(cursor: Cursor, limit: int = 50) -> pd.DataFrame:
    """The last changes, newest first: changed_at, author, action, subject, detail."""
    return cursor.execute("SELECT * FROM trail ORDER BY changed_at DESC LIMIT ?", [limit]).df()
