"""Arrow tables in an unnamed file, for data that are too large for memory until they are
complete."""

from __future__ import annotations

import tempfile

import pyarrow as pa

from core.base.file_io import UnnamedFile
from core.base.system_errors import explain


class TableSpool:
    """The tables, each by its position in the file, which is deleted with the last reference to
    this record."""

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
