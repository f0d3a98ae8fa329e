"""Parquet is walked before it is read: how much its pages unpack to, page by page, since Arrow
believes what each page says.

The list of pages is read here as well: Arrow ends the process at some that are damaged.
"""

from __future__ import annotations

import io
import mmap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from core.base.errors import InputError, UnsafeFile
from core.base.file_limits import refuse_bomb

CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
_MAGIC = b"PAR1"
_MOST_PAGES = 1_000_000
_MOST_LEVELS = 16  # of structures in each other
Content = bytes | mmap.mmap
Fields = dict[int, Any]  # a structure of Thrift: number of a field → its value


class Chunk(NamedTuple):
    """Where the pages of a column's chunk lie in the file. column: with a dot between levels.
    codec: one of CODECS."""

    column: str
    codec: str
    pages: range


def walk_parquet(
    path: Path, where: str, columns: Collection[str] | None = None
) -> parquet.FileMetaData:
    """Return a file's metadata, once the pages of some columns (all by default) were looked at.

    Raise UnsafeFile if they unpack to much more than the file is, InputError for damaged headers
    and pages outside of the file, and what Arrow raises for a file that is no Parquet.
    """
    metadata = parquet.read_metadata(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        total, pages = 0, 0
        for chunk in read_chunks(content, where):
            if columns is not None and chunk.column not in columns:
                continue
            for unpacked in _pages(content, chunk.pages, where):
                total, pages = total + unpacked, pages + 1
                refuse_bomb(where, len(content), total)
                if pages > _MOST_PAGES:
                    raise InputError(f"{where}: more than {_MOST_PAGES:,} pages")
    return metadata


def read_chunks(file: IO[bytes] | mmap.mmap, where: str) -> list[Chunk]:
    """Return every chunk that holds values. Raise InputError for a damaged list, UnsafeFile for
    chunks in other files."""
    length = file.seek(0, io.SEEK_END) or file.tell()
    try:
        file.seek(max(0, length - 8))
        tail = file.read(8)
        size = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or not 0 < size <= length - 12:
            raise ValueError("no list of its columns")
        file.seek(length - 8 - size)
        footer = _Thrift(file.read(size), 0).fields()
        found = [
            _chunk_of(chunk, where) for group in footer[4] for chunk in group[1] if chunk[3][5]
        ]
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"{where}: cannot be read as parquet (a damaged list of columns: {error})"
        ) from error
    outside = [chunk for chunk in found if not 0 <= chunk.pages.start <= chunk.pages.stop <= length]
    if outside:
        raise InputError(
            f"{where}: column {outside[0].column!r} lies outside of the file, in which {length:,}"
            " bytes are"
        )
    return found


def _chunk_of(chunk: Fields, where: str) -> Chunk:
    """Return a chunk from its fields: 1 another file, 3 what it is (3 column, 4 codec, 7 size, 9
    first page, 11 dictionary)."""
    if chunk.get(1):
        raise UnsafeFile(
            f"{where}: a column that lies in another file, expected all values in the file itself"
        )
    about = chunk[3]
    start = min(about[9], about.get(11) or about[9])
    column = ".".join(part.decode("utf-8", "replace") for part in about[3])
    codec = CODECS[about[4]] if 0 <= about[4] < len(CODECS) else str(about[4])
    return Chunk(column, codec, range(start, start + about[7]))


def text_bytes(column: pa.ChunkedArray) -> int:
    """Return the total bytes of the texts in a column, with repeats, whether it is encoded as
    dictionaries or not."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary.cast(pa.large_string())).take(chunk.indices)
        else:
            lengths = pc.binary_length(chunk.cast(pa.large_string()))
        total += pc.sum(lengths).as_py() or 0
    return total


def _pages(content: Content, chunk: range, where: str) -> Iterator[int]:
    """Yield how many bytes each page of a chunk says to unpack to. Raise InputError for a damaged
    header."""
    at = chunk.start
    try:
        while at < chunk.stop:
            header = _Thrift(content, at)
            fields = header.fields()
            unpacked, packed = fields[2], fields[3]
            if min(unpacked, packed) < 0:
                raise ValueError("a size below 0")
            yield unpacked
            at = header.at + packed
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{where}: cannot be read as parquet (a damaged page: {error})") from error


class _Thrift:
    """Values in Thrift's compact protocol, from a place in a file on."""

    def __init__(self, content: Content, at: int) -> None:
        self._content = content
        self.at = at

    def fields(self, level: int = 0) -> Fields:
        """Return a structure. Raise ValueError for damaged ones."""
        if level > _MOST_LEVELS:
            raise ValueError("nested too deeply")
        found: Fields = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._whole()
            # 1: true, 2: false
            found[number] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15, level)
        return found

    def _value(self, kind: int, level: int) -> Any:
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            return self._list(level)
        if kind == 12:
            return self.fields(level + 1)
        raise ValueError(f"a value of kind {kind}")

    def _list(self, level: int) -> Sequence[Any]:
        head = self._byte()
        n = self._varint() if head >> 4 == 15 else head >> 4
        if n > len(self._content) - self.at:
            raise ValueError("it breaks off")
        kind = 3 if head & 15 in (1, 2) else head & 15  # a truth value in a list takes a byte
        return [self._value(kind, level + 1) for _ in range(n)]

    def _whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value, shift = 0, 0
        while shift <= 63:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number of more than 64 bits")

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, n: int) -> bytes:
        if n > len(self._content) - self.at:
            raise ValueError("it breaks off")
        self.at += n
        return self._content[self.at - n : self.at]
