"""CSV files, row by row, with the line on which each row starts."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from core.delimited import delimiter_of
from core.errors import InputError, UnknownFormat
from core.types import Rejected

# The most that the csv module takes on every platform; its default of 131,072 is less than a long trace.
MAX_CELL_CHARACTERS = 2**31 - 1
MAX_COLUMNS = 10_000
_CHUNK_BYTES = 1 << 18
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def quote(text: str, limit: int = 60) -> str:
    """Return `text` quoted for a message, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """What every table of rows has. lines: the line on which each row starts, from 1. sha256: of the whole file."""

    lines: tuple[int, ...]
    rejected: tuple[Rejected, ...]
    sha256: str


class _Chunks(io.BufferedReader):
    """Reads larger chunks than the 8 KiB that a text stream asks for, since unpacking in small pieces takes longer."""

    def read1(self, size: int = -1, /) -> bytes:
        return super().read1(max(size, _CHUNK_BYTES))


class _Lines:
    """The lines of a text stream; `ran_out`: whether the reader has asked for a line after the last one."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self.ran_out = False
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        yield from self._stream
        self.ran_out = True


class Table:
    """One table of text (CSV, TSV, or with semicolons), read once from start to end in bounded memory.

    Line ends may be LF, CRLF or CR, also inside quotes; a byte order mark is skipped; no text is read as a missing value.
    `header` holds the column names without outer blanks; `rejected` grows while `records` is consumed. Raises
    InputError for a file in a wide encoding or with a column named twice, UnknownFormat without a readable header.
    """

    def __init__(self, stream: io.RawIOBase | io.BufferedIOBase, name: str) -> None:
        self.name = name
        self.rejected: list[Rejected] = []
        csv.field_size_limit(MAX_CELL_CHARACTERS)
        buffered = _Chunks(stream, buffer_size=_CHUNK_BYTES)
        refuse_wide_encodings(buffered.peek(4)[:4], name)
        first = buffered.peek(_CHUNK_BYTES)[:_CHUNK_BYTES].splitlines()
        delimiter = delimiter_of(first[0].decode("utf-8-sig", "replace")) if first else ","
        # Bytes that are not UTF-8 become lone surrogates, so that they cost their own row and not the file.
        text = io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self._lines = _Lines(text)
        self._reader = csv.reader(self._lines, delimiter=delimiter)
        self.header = _read_header(next((cells for cells in self._reader if cells), []), name)

    def column(self, name: str) -> int | None:
        """Return the position of a column, None if the file has no such column."""
        return self.header.index(name) if name in self.header else None

    def require(self, *names: str) -> tuple[int, ...] | None:
        """Return the positions of columns that must be there; else None, and line 1 is rejected."""
        missing = [name for name in names if name not in self.header]
        if missing:
            detail = f"no column {', '.join(missing)}; found {quote(', '.join(self.header), 200)}"
            self.rejected.append(Rejected(self.name, 1, "missing column", detail))
            return None
        return tuple(self.header.index(name) for name in names)

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line (from 1) and cells of every whole row; rows of wrong width or encoding go to `rejected`."""
        line = self._reader.line_num + 1
        for cells in self._reader:
            if cells:  # an empty line is no row
                problem = self._problem(line, cells)
                if problem is None:
                    yield line, cells
                else:
                    self.rejected.append(problem)
            line = self._reader.line_num + 1

    def empty_cell(self, line: int, cells: list[str], columns: tuple[int, ...]) -> Rejected | None:
        """Return the rejection of a row with an empty cell in one of `columns`; None for any other row."""
        for column in columns:
            if not cells[column] or cells[column].isspace():
                return Rejected(self.name, line, "empty cell", f"nothing in column {self.header[column]}")
        return None

    def _problem(self, line: int, cells: list[str]) -> Rejected | None:
        if byte := _undecoded_byte(cells):
            return Rejected(self.name, line, "wrong encoding", f"byte 0x{byte:02X} is not UTF-8")
        width = f"{len(cells)} columns, expected {len(self.header)}"
        if self._lines.ran_out:
            swallowed = f"a quote that opens here is never closed and takes all up to line {self._reader.line_num}"
            return Rejected(self.name, line, "wrong number of columns", f"{swallowed}; {width}")
        if len(cells) != len(self.header):
            return Rejected(self.name, line, "wrong number of columns", width)
        return None


def refuse_wide_encodings(head: bytes, name: str) -> None:
    """Raise InputError for a file that begins as UTF-16 or UTF-32 does; head: its first four bytes."""
    if head.startswith(_UTF16_BOMS) or b"\0" in head:
        raise InputError(f"{name}: UTF-16, UTF-32 or binary, expected UTF-8 text; save it as CSV UTF-8")


def _undecoded_byte(cells: list[str]) -> int | None:
    text = "".join(cells)
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return ord(text[error.start]) - 0xDC00
    return None


def _read_header(cells: list[str], name: str) -> tuple[str, ...]:
    header = tuple(cell.strip() for cell in cells)
    if header and header[0].startswith("sep="):
        raise UnknownFormat(f"{name}: begins with Excel's line {header[0]!r}, expected the names of columns")
    if not header:
        raise UnknownFormat(f"{name}: empty, expected a CSV file with a header")
    if _undecoded_byte(cells):
        raise UnknownFormat(f"{name}: the first line is not UTF-8 text, expected the header of a CSV file or a zip")
    if len(header) > MAX_COLUMNS:
        raise InputError(f"{name}: {len(header):,} columns, expected at most {MAX_COLUMNS:,}")
    twice = sorted(column for column, n in Counter(header).items() if n > 1)
    if twice:
        raise InputError(f"{name}: column {', '.join(map(quote, twice))} more than once in the header")
    return header
