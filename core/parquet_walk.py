"""Parquet is walked before it is read: how much its pages unpack to, page by page, since Arrow believes what each page says."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from core.errors import InputError
from core.file_limits import refuse_bomb

_MOST_PAGES = 1_000_000
_MOST_LEVELS = 16  # of structures in a page's header
_I32, _BINARY, _LIST, _SET, _STRUCT = 5, 8, 9, 10, 12  # of Thrift's compact protocol
_FIXED_BYTES = {1: 0, 2: 0, 3: 1, 7: 8}  # truth values stand in the field's type; a byte; a double
_UNPACKED, _PACKED = 2, 3  # fields of a page's header


def walk_parquet(path: Path, where: str, columns: Collection[str] | None = None) -> parquet.FileMetaData:
    """Return a file's metadata, once the pages of some columns (all by default) were looked at.

    Raise UnsafeFile if they unpack to much more than the file is, InputError for damaged headers and pages outside of the file,
    and what Arrow raises for a file that is no Parquet.
    """
    metadata = parquet.read_metadata(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        total, pages = 0, 0
        try:
            for chunk in _chunks(metadata, columns):
                for unpacked in _pages(content, chunk):
                    total, pages = total + unpacked, pages + 1
                    refuse_bomb(where, len(content), total)
                    if pages > _MOST_PAGES:
                        raise InputError(f"{where}: more than {_MOST_PAGES:,} pages")
        except (IndexError, ValueError) as error:
            raise InputError(f"{where}: cannot be read as parquet (a damaged page: {error})") from error
    return metadata


def text_bytes(column: pa.ChunkedArray) -> int:
    """Return the total bytes of the texts in a column, with repeats, whether it is encoded as dictionaries or not."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary.cast(pa.large_string())).take(chunk.indices)
        else:
            lengths = pc.binary_length(chunk.cast(pa.large_string()))
        total += pc.sum(lengths).as_py() or 0
    return total


def _chunks(metadata: parquet.FileMetaData, columns: Collection[str] | None) -> Iterator[range]:
    """Yield where the pages of each chunk lie in the file."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for at in range(group.num_columns):
            chunk = group.column(at)
            if chunk.num_values and (columns is None or chunk.path_in_schema in columns):  # of none, Arrow reads no page
                first = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
                start = min(first or chunk.data_page_offset, chunk.data_page_offset)
                yield range(start, start + chunk.total_compressed_size)


def _pages(content: mmap.mmap, chunk: range) -> Iterator[int]:
    """Yield how many bytes each page of a chunk says to unpack to."""
    at = chunk.start
    if not 0 <= chunk.start <= chunk.stop <= len(content):
        raise ValueError(f"bytes {chunk.start:,} to {chunk.stop:,} of {len(content):,}")
    while at < chunk.stop:
        header = _Header(content, at)
        sizes = header.read()
        if min(sizes.get(_UNPACKED, -1), sizes.get(_PACKED, -1)) < 0:
            raise ValueError("no size")
        yield sizes[_UNPACKED]
        at = header.at + sizes[_PACKED]


class _Header:
    """The header of a page, in Thrift's compact protocol, of which only the whole numbers are wanted."""

    def __init__(self, content: mmap.mmap, at: int) -> None:
        self._content = content
        self.at = at

    def read(self) -> dict[int, int]:
        """Return number of field → value, of the fields that are whole numbers."""
        found: dict[int, int] = {}
        for number, kind in self._fields():
            if kind == _I32:
                value = self._varint()
                found[number] = (value >> 1) ^ -(value & 1)
            else:
                self._skip(kind, 0)
        return found

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Yield the number and kind of each field of a structure; the caller reads or skips its value."""
        number = 0
        while (head := self._byte()) != 0:
            if head >> 4:
                number += head >> 4
            else:
                value = self._varint()
                number = (value >> 1) ^ -(value & 1)
            yield number, head & 15

    def _skip(self, kind: int, level: int) -> None:
        if level > _MOST_LEVELS:
            raise ValueError("nested too deeply")
        if kind in _FIXED_BYTES:
            self.at += _FIXED_BYTES[kind]
        elif 4 <= kind <= 6:
            self._varint()
        elif kind == _BINARY:
            length = self._varint()
            self.at += length
        elif kind in (_LIST, _SET):
            head = self._byte()
            for _ in range(self._varint() if head >> 4 == 15 else head >> 4):
                self._skip_element(head & 15, level + 1)
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, level + 1)
        else:
            raise ValueError(f"a field of kind {kind}")

    def _skip_element(self, kind: int, level: int) -> None:
        """Skip an element of a list, in which a truth value takes a byte."""
        if kind in (1, 2):
            self._byte()
        else:
            self._skip(kind, level)

    def _varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def _byte(self) -> int:
        if self.at >= len(self._content):
            raise ValueError("it breaks off")
        self.at += 1
        return self._content[self.at - 1]
