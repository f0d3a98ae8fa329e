"""The rows of each file of a cell line, unchanged: the rows of the line are computed from them
(`core.features.importing.dataset_choice`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import pyarrow as pa

from core.base.types import FileRows, Label, Pair
from core.store.connection import Cursor
from core.store.queries import insert


def add(cursor: Cursor, source: str, pairs: Sequence[Pair], lines: Sequence[int]) -> None:
    """Add the rows of an imported file."""
    columns = {
        "import": [source] * len(pairs),
        "line": pa.array(lines, pa.int32()),
        **{
            name: [getattr(pair, name) for pair in pairs]
            for name in ("pair_id", "pert", "gene", "label", "split")
        },
    }
    insert(cursor, "file_row", columns)


def of_dataset(cursor: Cursor, dataset: str) -> list[FileRows]:
    """Return the files of a dataset (id) that rows were added of, in the order of their import."""
    rows = cursor.execute(
        """SELECT i.id, i.file, f.line, f.pair_id, f.pert, f.gene, f.label, f.split
           FROM file_row f JOIN import i ON i.id = f.import WHERE i.dataset = ? ORDER BY
             i.imported_at, i.id, f.line""",
        [dataset],
    ).fetchall()
    files = []
    for (source, name), lines in groupby(rows, key=itemgetter(0, 1)):
        said = list(lines)
        pairs = [
            Pair(pair_id, pert, gene, Label(label), split)
            for *_, pair_id, pert, gene, label, split in said
        ]
        files.append(FileRows(source, name, pairs, [row[2] for row in said]))
    return files


def delete(cursor: Cursor, source: str) -> None:
    """Delete the rows of an imported file."""
    cursor.execute("DELETE FROM file_row WHERE import = ?", [source])
