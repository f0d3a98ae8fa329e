"""Arrow tables in an unnamed file, for data that are too large for memory until they are complete."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import pyarrow as pa

from core.file_io import UnnamedFile
from core.system_errors import explain


class TableSpool:
    """The tables, each by its position in the file, which is deleted with the last reference to this record."""

    def __init__(self) -> None:
        self._file = UnnamedFile()

    def add(self, table: pa.Table) -> int:
        """Write a table and return its place. Raise SystemFailure if the disk does not take it."""
        try:
            place = self._file.seek(0, 2)
            with pa.ipc.new_stream(self._file, table.schema) as out:
                out.write_table(table)
        except OSError as error:
            raise explain(error, tempfile.gettempdir()) from error
        return place

    def read(self, place: int) -> pa.Table:
        """Return the table of a place."""
        self._file.seek(place)
        return pa.ipc.open_stream(self._file).read_all()


class SpooledTexts(Sequence[str]):
    """Texts in order, with some thousand in memory at a time."""

    def __init__(self, batches: Iterable[pa.ChunkedArray]) -> None:
        self._spool = TableSpool()
        self._places: list[int] = []
        ends = [0]
        for texts in batches:
            self._places.append(self._spool.add(pa.table({"text": texts})))
            ends.append(ends[-1] + len(texts))
        self._ends = ends

    def __len__(self) -> int:
        return self._ends[-1]

    def __iter__(self) -> Iterator[str]:
        for place in self._places:
            yield from self._spool.read(place)["text"].to_pylist()

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Return the text at a position, or the texts of a slice."""
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        i = range(len(self))[at]
        batch = int(np.searchsorted(self._ends, i, side="right")) - 1
        return str(self._spool.read(self._places[batch])["text"][i - self._ends[batch]].as_py())
