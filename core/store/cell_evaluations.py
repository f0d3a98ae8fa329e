"""cell-eval's tables for the files that runs of predicted expression were made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.store.connection import Cursor
from core.store.queries import one


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """A table for a run. predicted_sha256, real_sha256: of the files that were compared; real_file: the name of the second.
    content: plain data, as `core.cells.cell_eval.CellEvaluation.as_json` writes it."""

    run: str
    predicted_sha256: str
    real_file: str
    real_sha256: str
    content: Mapping[str, Any]
    author: str
    measured_at: datetime | None = None


def put(cursor: Cursor, found: StoredEvaluation) -> None:
    """Keep a run's table instead of an earlier one, dated now."""
    cursor.execute("DELETE FROM cell_evaluation WHERE run = ?", [found.run])
    cursor.execute(
        "INSERT INTO cell_evaluation VALUES (?, ?, ?, ?, ?, ?, now()::TIMESTAMP)",
        [found.run, found.predicted_sha256, found.real_file, found.real_sha256, json.dumps(found.content), found.author],
    )


def find(cursor: Cursor, run: str) -> StoredEvaluation | None:
    """Return the table of a run (id); None if it has none."""
    row = one(
        cursor,
        """SELECT run, predicted_sha256, real_file, real_sha256, content, author, measured_at
           FROM cell_evaluation WHERE run = ?""",
        [run],
    )
    if row is None:
        return None
    key, predicted_sha256, real_file, real_sha256, content, author, measured_at = row
    return StoredEvaluation(key, predicted_sha256, real_file, real_sha256, json.loads(content), author, measured_at)
