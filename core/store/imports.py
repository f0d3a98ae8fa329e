"""Records of imported files, and of their unreadable rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from core.base.errors import NotFound
from core.base.texts import list_known
from core.base.types import Rejected
from core.store import runs
from core.store.connection import Cursor
from core.store.queries import insert, insert_values, one

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Import:
    """One imported file. dataset is an id, None for spaces and packs; run is None for files without
    a run; rows and rejected are counts.
    """

    id: str
    sha256: str
    file: str
    kind: str
    dataset: str | None
    run: str | None
    rows: int
    rejected: int
    author: str
    imported_at: datetime | None = None


_COLUMNS = "id, sha256, file, kind, dataset, run, rows, rejected, author, imported_at"


def add(cursor: Cursor, record: Import, rejected: Sequence[Rejected]) -> None:
    """Record an import and its rejected rows."""
    insert_values(cursor, "import", asdict(record), dated="imported_at")
    _add_rejected(cursor, record.id, rejected)


def of_kind(cursor: Cursor, dataset: str, kind: str) -> list[str]:
    """Return the ids of the imports of this kind whose rows are a dataset's (id)."""
    rows = cursor.execute(
        "SELECT id FROM import WHERE dataset = ? AND kind = ? AND run IS NULL ORDER BY id",
        [dataset, kind],
    )
    return [key for (key,) in rows.fetchall()]


def replace_conflicts(
    cursor: Cursor, source: str, conflicts: Sequence[Rejected], rows: int
) -> None:
    """Set the number of rows of an import, and its rows that contradict other files ("conflicting
    label")."""
    cursor.execute(
        "DELETE FROM rejected_row WHERE import = ? AND reason = 'conflicting label'", [source]
    )
    _add_rejected(cursor, source, conflicts)
    cursor.execute(
        "UPDATE import SET rows = ?, rejected = (SELECT count(*) FROM rejected_row r WHERE r.import"
        " = ?) WHERE id = ?",
        [rows, source, source],
    )


def _add_rejected(cursor: Cursor, source: str, rejected: Sequence[Rejected]) -> None:
    if rejected:
        columns = {
            "import": [source] * len(rejected),
            "line": [r.line for r in rejected],
            "reason": [r.reason for r in rejected],
            "detail": [r.detail for r in rejected],
        }
        insert(cursor, "rejected_row", columns)


def by_content(cursor: Cursor, sha256: str) -> Import | None:
    """Return the import of a file with this content, if there is one."""
    row = one(cursor, f"SELECT {_COLUMNS} FROM import WHERE sha256 = ?", [sha256])
    return Import(*row) if row else None


def of_run(cursor: Cursor, run: str) -> Import | None:
    """Return the import that made a run, if one did."""
    row = one(cursor, f"SELECT {_COLUMNS} FROM import WHERE run = ?", [run])
    return Import(*row) if row else None


def behind(cursor: Cursor, dataset: str, run_ids: Sequence[str]) -> list[Import]:
    """Return the source files of a dataset (id), of these runs (ids), and of knowledge and spaces,
    by kind and name."""
    rows = cursor.execute(
        f"""SELECT {_COLUMNS} FROM import WHERE dataset IS NULL OR list_contains(?, run) OR (dataset
          = ? AND run IS NULL)
            ORDER BY dataset IS NULL, kind, file, sha256""",
        [list(run_ids), dataset],
    ).fetchall()
    return [Import(*row) for row in rows]


def find(cursor: Cursor, name: str) -> Import:
    """Return the import of an id or a file name. Raise NotFound, which lists the existing ones."""
    row = one(
        cursor,
        f"SELECT {_COLUMNS} FROM import WHERE id = ? OR file = ? ORDER BY id = ? DESC, imported_at"
        " DESC",
        [name] * 3,
    )
    if row is None:
        imports = [
            f"{file} ({key})"
            for file, key in cursor.execute(
                "SELECT file, id FROM import ORDER BY imported_at"
            ).fetchall()
        ]
        raise NotFound(f"import {name!r}: not in this workspace, {list_known(name, imports)}")
    return Import(*row)


def list_imports(cursor: Cursor) -> pd.DataFrame:
    """Return every import, newest first: id, file, kind, dataset (name), run (name), rows,
    rejected, imported_at, author."""
    return cursor.execute(
        """SELECT i.id, i.file, i.kind, d.name AS dataset, r.name AS run, i.rows, i.rejected,
          i.imported_at, i.author
           FROM import i LEFT JOIN dataset d ON d.id = i.dataset LEFT JOIN run r ON r.id = i.run
           ORDER BY i.imported_at DESC, i.file"""
    ).df()


def rejected_rows(cursor: Cursor) -> pd.DataFrame:
    """Return every row that could not be read: file, line, reason, detail."""
    return cursor.execute(
        """SELECT i.file, x.line, x.reason, x.detail FROM rejected_row x JOIN import i ON i.id =
          x.import
           ORDER BY i.file, x.line"""
    ).df()


def rejected_rows_of(cursor: Cursor, source: Import) -> tuple[Rejected, ...]:
    """Return the rejected rows of one import."""
    rows = cursor.execute(
        "SELECT line, reason, detail FROM rejected_row WHERE import = ? ORDER BY line", [source.id]
    ).fetchall()
    return tuple(Rejected(source.file, *row) for row in rows)


def delete_with_run(cursor: Cursor, run: str) -> None:
    """Delete a run and the import of its file, which can then be imported again."""
    source = of_run(cursor, run)
    runs.delete(cursor, run)
    if source is not None:
        delete(cursor, source.id)


def delete(cursor: Cursor, source: str) -> None:
    """Delete an import and its rejected rows."""
    cursor.execute("DELETE FROM rejected_row WHERE import = ?", [source])
    cursor.execute("DELETE FROM import WHERE id = ?", [source])
