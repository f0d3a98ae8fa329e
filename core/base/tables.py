"""The table in a file: CSV and its kin, Excel, Parquet, JSON, packed or in a zip; row by row, with
lines.

What its columns mean is said by `core.features.importing.roles`.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.base.archives import Content, bare_name, is_zip, open_content, open_csv, unpack_file
from core.base.errors import InputError, UnknownFormat
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES, limit_memory, refuse_bomb
from core.base.texts import HALF_CHARACTER, is_encodable, parse_json, quote
from core.base.types import JsonObject, Rejected
from core.base.workbook import is_workbook, text_of_workbook

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# The most that the csv module takes on every platform; its default is less than a long trace.
MAX_CELL_CHARACTERS: Final = 2**31 - 1
MAX_COLUMNS: Final = 100_000
MAX_NAME_CHARACTERS: Final = 1 << 15  # of a column; a cell of a workbook has at most as many
PARQUET: Final = b"PAR1"
DELIMITERS: Final = (",", "\t", ";", "|")
FRAME_ROWS: Final = 100_000
_PART_CHARACTERS: Final = 1 << 23
_CHUNK_BYTES: Final = 1 << 18
_ROW_BYTES: Final = 50  # that a row takes at least, beside one for each of its cells
_MOST_JSON_BYTES: Final = 1 << 28
_SHOWN_VALUES: Final = 8
_SAMPLE_ROWS, _SAMPLE_CHARACTERS = 2_000, 1 << 22  # that tell how numbers are written
_OF_RUNS: Final = {"prediction_up", "p_up", "p_de", "answer", "response", "content", "seeds"}
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NUMBER: Final = re.compile(r"[+-]?(?=[.,]?\d)\d*(?:(?P<mark>[.,])\d+)?(?:[eE][+-]?\d+)?")
_ONE_GROUP: Final = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # 1,234: a thousand or a fraction


Record = tuple[int, list[str]]  # line, from 1, and cells


class NumberStyle(NamedTuple):
    """How a column writes numbers. decimal: "." or ","; "" where 1,234 may be a thousand or a
    fraction."""

    decimal: str = "."

    def read(self, text: str) -> float | None:
        """Return a cell's number, which may be NaN or infinite; None for a text that is no
        number."""
        bare = text.strip()
        if "_" in bare:  # a number in Python alone
            return None
        if self != _PLAIN and (match := _NUMBER.fullmatch(bare)):
            if match["mark"] not in (None, self.decimal):
                return None
            bare = bare.replace(",", ".")
        try:
            return float(bare)
        except ValueError:
            return None


_PLAIN: Final = NumberStyle()


def number_style(texts: Iterable[str], usual: NumberStyle | None = None) -> NumberStyle:
    """Return how the cells of a column write numbers. usual: the style of other columns.

    1,234 tells nothing by itself; where no cell of column and table does, it is no number. Nor is
    one with something between thousands.
    """
    decimals, unclear = set[str](), set[str]()
    for text in texts:
        bare = text.strip()
        match = _NUMBER.fullmatch(bare)
        if match is None or match["mark"] is None:
            continue
        if _ONE_GROUP.fullmatch(bare):
            unclear.add(match["mark"])
        else:
            decimals.add(match["mark"])
    if len(decimals) > 1:
        return _PLAIN  # two styles in one column: cells of another are no numbers
    if decimals:
        return NumberStyle(decimals.pop())
    return usual or NumberStyle("" if "," in unclear else ".")


class Table:
    """A table, read once from start to end in bounded memory.

    header: the names without outer blanks, "" for a column without one. rejected: grows while rows
    are read. notes: what was understood of the file's form, for people. Raise InputError for a name
    that stands twice or too many columns, UnknownFormat without a header or with a name that is no
    name of a column. form: of a text, None for other formats. blocks: of a text, what reads many of
    the rows at once that `rows` would yield next.
    """

    def __init__(
        self,
        name: str,
        header: Sequence[str],
        rows: Iterable[Record],
        rejected: list[Rejected] | None = None,
        notes: Sequence[str] = (),
        form: TextForm | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        self.name, self.form, self._blocks = name, form, blocks
        self.header = _check_header([*map(str.strip, header)], name)
        self.rejected: list[Rejected] = [] if rejected is None else rejected
        self.notes = [*notes]
        self._rows = iter(rows)
        self._read_ahead: list[Record] = []
        self._where: list[str] = []
        self._is_changed = False  # from here on, rows are those of `records`

    def column(self, name: str) -> int | None:
        """Return the position of a column, None if the file has no such column."""
        return self.header.index(name) if name in self.header else None

    def require(self, *names: str) -> tuple[int, ...] | None:
        """Return the positions of columns that must be there; else None, and line 1 is rejected."""
        if not {*names} <= {*self.header}:
            missing = [name for name in names if name not in self.header]
            detail = f"no column {', '.join(missing)}; found {quote(', '.join(self.header), 200)}"
            self.rejected.append(Rejected(self.name, 1, "missing column", detail))
            return None
        return tuple(map(self.header.index, names))

    def rename(self, names: Mapping[str, str]) -> None:
        """Give columns other names, and those that have these names now a remark. names: old →
        new."""
        header = list(self.header)
        for at, name in enumerate(self.header):
            if name in names:
                header[at] = names[name]
            elif name in names.values():
                header[at] = f"{name} (not chosen)"
        self.header = _check_header(header, self.name)

    def keep(self, where: Mapping[str, str]) -> None:
        """Leave out the rows of which a column has another value.

        Raise InputError for a column that is not there, and, when all is read, for a value that no
        row has.
        """
        for name, value in where.items():
            column = self.column(name)
            if column is None:
                raise InputError(
                    f"{self.name}: --where {name}={value}: not in the file; its columns are"
                    f" {', '.join(self.header)}"
                )
            self._where.append(name)
            self._change(self._with_value(self._rest(), column, value))

    def fill_down(self, name: str) -> None:
        """Give empty cells of a column the name above, if names stand once above their rows, as in
        merged cells."""
        column = self.header.index(name)
        cells = [row[column].strip() for row in self.sample()]
        names = [cell for cell in cells if cell]
        if cells and cells[0] and 2 * len(names) <= len(cells) and len({*names}) == len(names):
            self.notes.append(f"empty cells of column {name} are read as the name above them")
            self._change(_fill_down(self._rest(), column))

    def _rest(self) -> Iterator[Record]:
        return itertools.chain(self._read_ahead, self._rows)

    def _change(self, rows: Iterator[Record]) -> None:
        """Replace the rows that are not yet read by others that are made of them."""
        self._rows, self._read_ahead, self._is_changed = rows, [], True

    def _with_value(self, rows: Iterator[Record], column: int, value: str) -> Iterator[Record]:
        n_rows, others = 0, dict[str, None]()
        for line, cells in rows:
            cell = cells[column].strip()
            if cell == value:
                n_rows += 1
                yield line, cells
            elif len(others) < _SHOWN_VALUES:
                others[cell] = None
        if not n_rows:
            name = self.header[column]
            raise InputError(
                f"{self.name}: --where {name}={value}: no row has it; {name} has"
                f" {', '.join(others) or 'none'}"
            )

    def records(self) -> Iterator[Record]:
        """Yield line (from 1) and cells of every whole row; the others go to `rejected`."""
        yield from self._read_ahead
        self._read_ahead = []
        yield from self._rows

    def sample(self) -> list[list[str]]:
        """Return the first rows, which `records` yields again."""
        if not self._read_ahead:
            size = 0
            for record in itertools.islice(self._rows, _SAMPLE_ROWS):
                self._read_ahead.append(record)
                size += sum(map(len, record[1]))
                if size > _SAMPLE_CHARACTERS:
                    break
        return [*map(itemgetter(1), self._read_ahead)]

    @cached_property
    def styles(self) -> tuple[NumberStyle, ...]:
        """How each column writes numbers, by the first rows."""
        columns = [[cells[i] for cells in self.sample()] for i in range(len(self.header))]
        styles = [number_style(column) for column in columns]
        clear = [
            style
            for style, column in zip(styles, columns, strict=True)
            if style.decimal and _has_mark(column)
        ]
        usual = clear[0] if clear and len({style.decimal for style in clear}) == 1 else None
        return tuple(number_style(column, usual) for column in columns)

    def number(self, column: int, text: str) -> float | None:
        """Return the number in a cell of a column, which may be NaN or infinite; None for any other
        text."""
        return self.styles[column].read(text)

    def looks_numeric(self, column: int) -> bool | None:
        """Return whether at least half of the first cells of a column that hold something hold
        numbers; None if none does."""
        cells = [*filter(None, map(str.strip, map(itemgetter(column), self.sample())))]
        return 2 * sum(map(_is_number, cells)) >= len(cells) if cells else None

    def refuse_unclear(self, columns: Iterable[str]) -> None:
        """Raise InputError for a column of numbers with a comma that may be a decimal one or stand
        between thousands."""
        for name in columns:
            at = self.header.index(name)
            if not self.styles[at].decimal and self.looks_numeric(at):
                cell = next(
                    row[at] for row in self.sample() if _ONE_GROUP.fullmatch(row[at].strip())
                )
                raise InputError(
                    f"{self.name}: column {name}: {quote(cell)} may be a thousand or a fraction;"
                    " write its numbers with a decimal point, and with nothing between thousands"
                )

    def note_unused(self, columns: Iterable[str]) -> None:
        """Note the columns that nothing is read from; one without a name is called so."""
        if names := [name or "one without a name" for name in columns if name not in self._where]:
            self.notes.append(f"columns that are not used: {quote(', '.join(names), 120)}")

    def frames(self, columns: Sequence[str], rows: int = FRAME_ROWS) -> Iterator[pd.DataFrame]:
        """Yield some columns in parts, as texts, or as numbers where the file has typed ones;
        index: lines."""
        for part in self.parts(rows):
            yield part[[*columns]]

    def parts(self, rows: int = FRAME_ROWS) -> Iterator[pd.DataFrame]:
        """Yield all columns in parts that fit into memory, as texts; index: lines."""
        lines, columns, size = list[int](), [list[str]() for _ in self.header], 0
        for some_lines, some_columns in self._rows_by_columns():
            lines += some_lines
            for column, cells in zip(columns, some_columns, strict=True):
                column += cells
            size += sum(map(len, itertools.chain.from_iterable(some_columns)), len(lines))
            if len(lines) >= rows or size > _PART_CHARACTERS:
                yield self._frame_of(lines, columns)
                lines, columns, size = [], [[] for _ in self.header], 0
        if lines:
            yield self._frame_of(lines, columns)

    def _frame_of(self, lines: list[int], columns: list[list[str]]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(dict(zip(self.header, columns, strict=True)), lines, dtype=object)

    def _rows_by_columns(self) -> Iterator[tuple[Sequence[int], Sequence[Sequence[str]]]]:
        """Yield some rows' lines and the cells of each column; a block of plain text at once."""
        records, blocks = self.records(), None if self._is_changed else self._blocks
        while some := [*self._up_to_block(records, blocks)]:
            lines, cells = zip(*some, strict=True)
            yield lines, [*zip(*cells, strict=True)]
            while blocks is not None and (columns := blocks.read(len(self.header))):
                end = blocks.lines.n + 1
                yield range(end - len(columns[0]), end), columns

    def _up_to_block(self, records: Iterator[Record], blocks: Blocks | None) -> Iterator[Record]:
        """Yield rows until a block of lines begins, or so many as fit into memory."""
        size = 0
        for record in itertools.islice(records, _SAMPLE_ROWS):
            yield record
            size += sum(map(len, record[1]))
            # rows that were read ahead come before a block
            at_block = blocks is not None and not self._read_ahead and blocks.lines.is_read
            if at_block or size > _PART_CHARACTERS:
                return

    def numbers(self, name: str, values: pd.Series) -> NDArray[np.float64]:
        """Return the numbers of a part's column, NaN for empty cells and other texts."""
        if values.dtype != object:
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        style, texts = self.styles[self.header.index(name)], values.tolist()
        if style == _PLAIN and "_" not in "".join(texts):
            with suppress(ValueError):  # of any cell that is none: all are read as below
                return np.array([*map(float, texts)], dtype=np.float64)
        read = style.read
        return np.array([np.nan if (number := read(str(v))) is None else number for v in texts])

    def empty_cell(self, line: int, cells: list[str], columns: Sequence[int]) -> Rejected | None:
        """Return the rejection of a row with an empty cell in one of `columns`; None for any other
        row."""
        for column in columns:
            if not cells[column] or cells[column].isspace():
                return Rejected(
                    self.name, line, "empty cell", f"nothing in column {self.header[column]}"
                )
        return None


def _is_number(text: str) -> bool:
    """Return whether a text without outer blanks is a number in one of the styles."""
    return _PLAIN.read(text) is not None or _NUMBER.fullmatch(text) is not None


def _fill_down(rows: Iterator[Record], column: int) -> Iterator[Record]:
    above = ""
    for line, cells in rows:
        if any(cells):
            above = cells[column].strip() or above
            yield line, [*cells[:column], above, *cells[column + 1 :]]


def _has_mark(texts: Iterable[str]) -> bool:
    """Return whether some cell is a number with a mark in it."""
    return any(("." in text or "," in text) and _NUMBER.fullmatch(text.strip()) for text in texts)


def table_of(content: Content, name: str) -> Table:
    """Return the table in a file. name: for messages.

    Raise UnknownFormat for what is no table, InputError for a damaged one, UnsafeFile for a bomb.
    """
    if is_zip(content):
        if is_workbook(open_content(content)):
            return text_table(io.BytesIO(text_of_workbook(open_content(content), name)), name)
        stream, member = open_csv(content, name)
        return text_table(stream, f"{name}/{member}")
    file = open_content(content)
    if file.read(len(PARQUET)) == PARQUET:
        # lives as long as the table
        copy = tempfile.NamedTemporaryFile(suffix=".parquet")  # noqa: SIM115
        copy.write(open_content(content).read())
        copy.flush()
        return _ParquetTable(Path(copy.name), name, copy)
    unpacked = unpack_file(file, name)
    name = name if unpacked is None else bare_name(name)
    plain = _Chunks(
        open_content(content) if unpacked is None else unpacked, buffer_size=_CHUNK_BYTES
    )
    if first_character(plain.peek(64)) in (b"{", b"["):
        # One read of the most would take that much memory, whatever the file holds.
        parts = iter(lambda: plain.read(_CHUNK_BYTES), b"")
        data = b"".join(itertools.islice(parts, _MOST_JSON_BYTES // _CHUNK_BYTES + 1))
        rows = json_rows(data, name)
        if rows is None:
            raise UnknownFormat(f"{name}: JSON, expected a list of rows, or a row on each line")
        return object_table(rows, name)
    return text_table(plain, name)


@contextmanager
def open_table(path: Path, most_bytes: int = MAX_UNPACKED_BYTES) -> Iterator[Table]:
    """Give the table in a file while the block reads it. Raise as `table_of` and `open_file`."""
    with open_file(path, most_bytes) as file, limit_memory(path.name):
        if file.read(len(PARQUET)) == PARQUET:
            yield _ParquetTable(path, path.name)
        else:
            yield table_of(file, path.name)


def first_character(head: bytes) -> bytes:
    """Return the first character of a file of text that is no blank."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip(b" \r\n\t")[:1]


class _Chunks(io.BufferedReader):
    """Reads larger chunks than the 8 KiB that a text stream asks for, since unpacking in small
    pieces takes longer."""

    def read1(self, size: int = -1, /) -> bytes:
        return super().read1(max(size, _CHUNK_BYTES))


@dataclass
class _Lines:
    """The lines of a text stream, which is read in blocks of whole lines. n: of the lines that were
    read; ran_out: whether one after the last was asked for. block: the one whose lines are read."""

    stream: io.TextIOWrapper
    n: int = 0
    ran_out: bool = False
    block: str = ""
    _rest: io.StringIO = field(default_factory=io.StringIO)  # its lines that are not read

    def __iter__(self) -> Iterator[str]:
        while not self.is_read or self.next_block():
            for line in self._rest:
                self.n += 1
                yield line
        self.ran_out = True

    @property
    def is_read(self) -> bool:
        """Whether all lines of the block were read."""
        return self._rest.tell() == len(self.block)

    def next_block(self) -> bool:
        """Read a block, and return whether there is one."""
        self.block = self.stream.read(_CHUNK_BYTES)
        self.block += self.stream.readline()
        self._rest = io.StringIO(self.block, newline="")
        return self.block != ""

    def skip_block(self, n_lines: int) -> None:
        """Count all lines of the block as read."""
        self._rest.seek(0, io.SEEK_END)
        self.n += n_lines


@dataclass(frozen=True, slots=True)
class Blocks:
    """Reads blocks of lines of which each is a whole row without a quote: most of a large table.
    Split as one text, they take a fifth of the time that single rows take."""

    lines: _Lines
    delimiter: str
    name: str

    def read(self, width: int) -> list[list[str]] | None:
        """Return the cells of the next block by columns; None at the end, within a block, and for
        a block of other lines, whose rows are read one by one."""
        with _as_table(self.name):
            if not self.lines.is_read or not self.lines.next_block():
                return None
        text = self.lines.block.replace("\r\n", "\n").removesuffix("\n")
        if '"' in text or "\r" in text or _undecoded_byte([text]):
            return None
        rows = text.split("\n")
        n_marks = {*map(str.count, rows, itertools.repeat(self.delimiter))}
        if n_marks != {width - 1} or (width == 1 and "" in rows):
            return None
        self.lines.skip_block(len(rows))
        cells = text.replace("\n", self.delimiter).split(self.delimiter)
        return [cells[column::width] for column in range(width)]


class TextForm(NamedTuple):
    """How a table is written as text. above: the number of lines above its first row."""

    encoding: str
    delimiter: str
    above: int


Headers = Callable[[Sequence[str]], Sequence[str] | None]


def text_table(
    stream: io.RawIOBase | io.BufferedIOBase, name: str, header_of: Headers | None = None
) -> Table:
    """Return the table in text: separated by commas, tabs, semicolons or bars.

    header_of: is given the cells of the first row, and returns a header if that row is none.

    Line ends may be LF, CRLF or CR, also inside quotes; a byte order mark is skipped; no text is
    read as a missing value. Remarks above the header (#) and Excel's "sep=;" are left out; a header
    one name shorter than the rows, as R writes it, begins with their names.
    """
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    buffered = stream if isinstance(stream, _Chunks) else _Chunks(stream, buffer_size=_CHUNK_BYTES)
    head = buffered.peek(_CHUNK_BYTES)[:_CHUNK_BYTES]
    wide = head.startswith(_UTF16) and not head.startswith(codecs.BOM_UTF32_LE)
    if not wide:
        refuse_wide_encodings(head[:4], name)
    # Bytes that are not UTF-8 become lone surrogates, so that they cost their own row and not the
    # file.
    encoding, errors = ("utf-16", "strict") if wide else ("utf-8-sig", "surrogateescape")
    first_lines = head.decode(encoding, "replace" if not wide else "ignore").splitlines()
    notes = ["UTF-16"] if wide else []
    lines = _Lines(io.TextIOWrapper(buffered, encoding=encoding, errors=errors, newline=""))
    above, delimiter = _above_header(first_lines, notes)
    source = iter(lines)
    for _ in range(above):
        next(source, None)
    rows = _numbered_rows(csv.reader(source, delimiter=delimiter), lines, name)
    start = next(rows, (0, []))
    header = [*start[1]]
    if not header:
        raise UnknownFormat(f"{name}: empty, expected a table with a header")
    if _undecoded_byte(header):
        raise UnknownFormat(
            f"{name}: the first line is not UTF-8 text, expected the header of a table, or a zip"
        )
    header[0] = header[0].removeprefix("#") if len(header) > 1 else header[0]
    if made := None if header_of is None else header_of(header):
        header, first = [*made], start
    else:
        above = lines.n
        first = next(rows, (0, []))
        if len(first[1]) == len(header) + 1 and first[1][-1]:
            header = ["", *header]
            notes.append(
                "the header has a name less than the rows, as R writes it: the first column is"
                " their names"
            )
    rejected: list[Rejected] = []
    whole = _whole_rows(
        itertools.chain([first] if first[1] else [], rows), len(header), lines, name, rejected
    )
    form = TextForm(encoding, delimiter, above)
    return Table(name, header, whole, rejected, notes, form, Blocks(lines, delimiter, name))


def _numbered_rows(reader: Iterable[list[str]], lines: _Lines, name: str) -> Iterator[Record]:
    """Yield the rows of a text that have cells, with the line on which each starts."""
    line = lines.n + 1
    with _as_table(name):
        for cells in reader:
            if cells:  # an empty line is no row
                yield line, cells
            line = lines.n + 1


@contextmanager
def _as_table(name: str) -> Iterator[None]:
    """Raise UnknownFormat for a text that cannot be read as a table."""
    try:
        yield
    except (csv.Error, UnicodeError) as error:
        raise UnknownFormat(f"{name}: cannot be read as a table ({error})") from error


def _whole_rows(
    rows: Iterable[Record], width: int, lines: _Lines, name: str, rejected: list[Rejected]
) -> Iterator[Record]:
    """Yield the rows of a width in UTF-8; the others go to `rejected`."""
    for line, cells in rows:
        if byte := _undecoded_byte(cells):
            rejected.append(
                Rejected(name, line, "wrong encoding", f"byte 0x{byte:02X} is not UTF-8")
            )
        elif lines.ran_out or len(cells) != width:
            swallowed = (
                f"a quote that opens here is never closed and takes all up to line {lines.n}; "
                if lines.ran_out
                else ""
            )
            detail = f"{swallowed}{len(cells)} columns, expected {width}"
            rejected.append(Rejected(name, line, "wrong number of columns", detail))
        else:
            yield line, cells


def _above_header(lines: Sequence[str], notes: list[str]) -> tuple[int, str]:
    """Return how many lines stand above the header, and what stands between its cells."""
    skipped, remarks = 0, list[str]()
    while skipped < len(lines) - 1 and (not (line := lines[skipped].strip()) or line[0] == "#"):
        remarks += [lines[skipped]] * bool(line)
        skipped += 1
    delimiter = delimiter_of(lines[skipped] if lines else "")
    if remarks:
        width = lines[skipped].count(delimiter)
        if width and remarks[-1].count(delimiter) == width:  # "#pert,gene": the header itself
            return lines.index(remarks[-1]), delimiter
        notes.append(f"{len(remarks):,} lines of remarks (#) above the header left out")
        return skipped, delimiter
    if lines and lines[0].lower().startswith("sep=") and len(lines[0]) == len("sep=") + 1:
        notes.append(f"Excel's line {lines[0]!r} left out")
        return 1, lines[0][-1]
    return 0, delimiter


def delimiter_of(line: str) -> str:
    """Return what stands between the cells of a table whose first line this is: what makes most
    cells, a comma where nothing is there. Of two that make as many it is not the comma, which is a
    decimal one then (A;0,5)."""
    most = 1, ","
    for delimiter in DELIMITERS:
        try:
            n_cells = len(next(csv.reader([line], delimiter=delimiter), []))
        except csv.Error:
            continue
        if 1 < n_cells >= most[0]:
            most = n_cells, delimiter
    return most[1]


def refuse_wide_encodings(head: bytes, name: str) -> None:
    """Raise UnknownFormat for a file that begins as binary or as UTF-32 does; head: its first four
    bytes."""
    if b"\0" in head:
        raise UnknownFormat(
            f"{name}: UTF-16, UTF-32 or binary, expected text; save it as CSV UTF-8"
        )


def _undecoded_byte(cells: list[str]) -> int | None:
    text = "".join(cells)
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return ord(text[error.start]) - 0xDC00
    return None


def _check_header(header: Sequence[str], name: str) -> tuple[str, ...]:
    if len(header) > MAX_COLUMNS:
        raise InputError(f"{name}: {len(header):,} columns, expected at most {MAX_COLUMNS:,}")
    longest = max(map(len, header), default=0)
    if longest > MAX_NAME_CHARACTERS:
        raise UnknownFormat(
            f"{name}: a column with a name of {longest:,} characters, expected at most"
            f" {MAX_NAME_CHARACTERS:,}"
        )
    if len({*header}) < len(header):
        twice = sorted(column for column, n in Counter(header).items() if n > 1)
        raise InputError(
            f"{name}: column {', '.join(map(quote, twice))} more than once in the header"
        )
    return tuple(header)


class _ParquetTable(Table):
    """The rows of a Parquet file, read in parts; see `table_of`. copy: a temporary file that goes
    with the table."""

    def __init__(self, path: Path, name: str, copy: object = None) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._copy, self._size = copy, path.stat().st_size
        try:
            self.schema: pa.Schema = parquet.read_schema(path)
            self._texts = [field.name for field in self.schema if is_text(field.type)]
            self._file = parquet.ParquetFile(path, read_dictionary=self._texts)
        except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
            raise _no_parquet(name, error) from error
        odd = [field for field in self.schema if not _is_plain(field.type)]
        if odd:
            kind = InputError if {"pert", "gene"} <= {*self.schema.names} else UnknownFormat
            raise kind(
                f"{name}: column {odd[0].name} of type {odd[0].type}, expected texts and numbers"
            )
        super().__init__(name, self.schema.names, self._read_rows())

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        metadata = self._file.metadata
        n_rows = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
        refuse_bomb(
            f"{self.name}: {n_rows:,} rows of {len(columns):,} columns",
            self._size,
            n_rows * (_ROW_BYTES + len(columns)),
        )
        try:
            with limit_memory(self.name):
                for batch in self._file.iter_batches(rows, columns=[*columns]):
                    batch.validate(full=True)  # finds texts that are not UTF-8
                    yield batch
        except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
            raise _no_parquet(self.name, error) from error

    def _read_rows(self) -> Iterator[Record]:
        import pyarrow as pa

        line = 1
        for batch in self._batches(self.header, 10_000):
            columns = [column.cast(pa.string()).to_pylist() for column in batch.columns]
            for cells in zip(*columns, strict=True):
                line += 1
                yield line, ["" if cell is None else cell for cell in cells]

    def frames(self, columns: Sequence[str], rows: int = FRAME_ROWS) -> Iterator[pd.DataFrame]:
        if self._is_changed:
            yield from super().frames(columns, rows)
            return
        line = 2
        for batch in self._batches(columns, rows):
            # The metadata of pandas would turn columns into an index again.
            frame = batch.to_pandas(ignore_metadata=True)
            texts = {
                name: frame[name].astype(object).where(frame[name].notna(), "")
                for name in columns
                if name in self._texts
            }
            frame = frame.assign(**texts)
            frame.index = np.arange(line, line + len(frame))
            line += len(frame)
            yield frame


def _no_parquet(name: str, error: Exception) -> InputError:
    return InputError(f"{name}: cannot be read as parquet ({str(error).splitlines()[0]})")


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is text, with a dictionary or without."""
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(inner)
        or pa.types.is_large_string(inner)
        or pa.types.is_string_view(inner)
    )


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return is_text(kind) or any(is_kind(kind) for is_kind in tests)


def json_rows(data: bytes, name: str) -> list[Any] | None:
    """Return the rows of JSON: of a list of objects, of an object a line, of {"rows": …}, of
    columns as pandas writes them, and of {id: {…}}, perhaps by seed; None for other JSON and for
    what is none. A line that is no JSON is None.

    Raise InputError for a file that is too large.
    """
    if len(data) > _MOST_JSON_BYTES:
        raise InputError(
            f"{name}: JSON of more than {_MOST_JSON_BYTES:,} bytes, expected less; save it as CSV"
        )
    text = data.decode("utf-8-sig", "replace")
    try:
        value = parse_json(text)
    except ValueError:
        return _json_lines(text)
    is_wrapped = isinstance(value, dict) and len(value) == 1
    if is_wrapped:
        (inner,) = value.values()
        value = inner if isinstance(inner, list | dict) else value
    if isinstance(value, list):
        return value
    if (
        not isinstance(value, dict)
        or not value
        or not all(isinstance(each, dict) and each for each in value.values())
    ):
        return None
    rows = [*value.values()]
    if (
        len(rows) > 1
        and all(row.keys() == rows[0].keys() for row in rows)
        and {"pert", "gene", "id"} & value.keys()
    ):
        return [{column: cells[index] for column, cells in value.items()} for index in rows[0]]
    # {gene: {…}} is a knowledge pack.
    is_run = is_wrapped or any(_OF_RUNS & row.keys() for row in rows[:1])
    return (
        [{"id": key, **part} for key, row in value.items() for part in _by_seed(row)]
        if is_run
        else None
    )


def _by_seed(row: JsonObject) -> Iterator[JsonObject]:
    """Yield a row for each of a row's seeds: {"seeds": {"42": {…}}}; the row itself without
    them."""
    seeds = row.get("seeds")
    if not isinstance(seeds, dict) or not all(isinstance(part, dict) for part in seeds.values()):
        yield row
        return
    shared = {key: value for key, value in row.items() if key != "seeds"}
    yield from ({**shared, "seed": seed, **part} for seed, part in seeds.items())


def _json_lines(text: str) -> list[Any] | None:
    rows: list[Any] = []
    for line in filter(str.strip, text.splitlines()):
        try:
            rows.append(parse_json(line))
        except ValueError:
            if not rows:
                return None
            rows.append(None)
    return rows if len(rows) > 1 or (rows and isinstance(rows[0], dict)) else None


def object_table(objects: Sequence[Any], name: str) -> Table:
    """Return the table of JSON objects; line: their number, from 1. Numbers are written so that
    they read the same."""
    header = list(dict.fromkeys(key for row in objects if isinstance(row, dict) for key in row))
    if not header:
        raise UnknownFormat(f"{name}: JSON without objects, expected a row in each")
    if not is_encodable("".join(header)):
        raise InputError(f"{name}: the name of a column: {HALF_CHARACTER}")
    rejected: list[Rejected] = []

    def rows() -> Iterator[Record]:
        for line, row in enumerate(objects, 1):
            if isinstance(row, dict):
                cells = [_json_cell(row.get(key)) for key in header]
                if is_encodable("".join(cells)):
                    yield line, cells
                else:
                    rejected.append(Rejected(name, line, "wrong encoding", HALF_CHARACTER))
            else:
                rejected.append(
                    Rejected(name, line, "empty cell", f"{quote(str(row))}, expected an object")
                )

    return Table(name, header, rows(), rejected)


def _json_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return (
        json.dumps(value, ensure_ascii=False)
        if isinstance(value, list | dict | bool)
        else repr(value)
    )
