"""Workbooks of Excel (.xlsx, .xlsm): the table in one, as the text that a CSV file has, so that
both are read alike."""

from __future__ import annotations

import csv
import datetime
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal
from xml.etree.ElementTree import ParseError

from core.base.archives import DAMAGE, open_archive
from core.base.errors import InputError, UnknownFormat, UnsafeFile, require_package
from core.base.file_limits import MAX_UNPACKED_BYTES, refuse_bomb
from core.base.texts import list_some

if TYPE_CHECKING:
    import pandas as pd


MOST_ROWS: Final = 1 << 20  # of a sheet of Excel
_MOST_COLUMNS: Final = 10_000
_MOST_LEADING: Final = 100  # rows of titles and remarks above a header
_DAMAGED: Final = (
    *DAMAGE,
    ParseError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    OSError,
)
Row = tuple[Any, ...]


def is_workbook(file: io.BufferedIOBase) -> bool:
    """Return whether a file is a workbook that `text_of_workbook` reads, from what its zip
    lists."""
    try:
        names = set(_members(file))
    except DAMAGE:
        return False
    # one without its list of sheets is damaged, which is said when it is read
    return "xl/workbook.xml" in names or any(
        name.startswith("xl/worksheets/") and name.endswith(".xml") for name in names
    )


def _members(file: io.BufferedIOBase) -> list[str]:
    file.seek(0)
    if file.read(2) != b"PK":
        return []
    return open_archive(file, "").namelist()


def text_of_workbook(file: io.BufferedIOBase, name: str) -> bytes:
    """Return the table of a workbook as CSV: line n is row n of its sheet, and formulas are the
    values that were saved with them.

    Titles above the header are left out, as empty lines. name: of the file, for errors. Raise
    InputError for a damaged workbook and for several sheets with tables, UnknownFormat for one
    without any, UnsafeFile for more than a workbook may hold, and MissingPackage.
    """
    openpyxl = require_package("openpyxl", f"{name}, a workbook of Excel,", "requirements.txt")
    packed = file.seek(0, io.SEEK_END)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts of a workbook that hold no values
            members = open_archive(file, name).infolist()
            refuse_bomb(
                name, packed, sum(member.file_size for member in members), MAX_UNPACKED_BYTES
            )
            file.seek(0)
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            return _write_csv(_choose_sheet(book.worksheets, name), name, packed)
    except _DAMAGED as error:
        raise InputError(
            f"{name}: a damaged workbook of Excel ({type(error).__name__}: {str(error)[:100]})"
        ) from error


def _choose_sheet(sheets: list[Any], name: str) -> Any:
    """Return the one sheet with a table: a row of at least two cells and one below."""
    tables = []
    for sheet in sheets:
        sheet.reset_dimensions()  # what a file says of them may be wrong
        if len([row for row, _ in zip(_table_rows(sheet, name), range(2), strict=False)]) == 2:
            tables.append(sheet)
    if not tables:
        raise UnknownFormat(
            f"{name}: a workbook without a table, expected a sheet with the names of columns and"
            " rows below them"
        )
    if len(tables) > 1:
        titles = [str(sheet.title)[:40] for sheet in tables]
        raise InputError(
            f"{name}: {len(tables):,} sheets with tables ({list_some(titles)}), expected one. Save"
            " the one that is meant as CSV UTF-8, or delete the others"
        )
    return tables[0]


def _table_rows(sheet: Any, name: str) -> Iterator[tuple[int, Row]]:
    """Yield the numbers and the cells of the header and of the rows below it that are not empty.

    What stands right of the header comes next to the row's last cell, however far away it is.
    """
    width = 0
    # The cells that are there: openpyxl would fill each row up to its last cell.
    sheet._get_row = _present_cells
    for number, cells in enumerate(sheet.iter_rows(min_row=1, values_only=True), 1):
        if number > MOST_ROWS:
            raise UnsafeFile(
                f"{name}: more than {MOST_ROWS:,} rows in a sheet, which Excel cannot have"
            )
        row = dict(cells)
        if not width and len(row) > 1:
            width = max(row)
        if not width and number > _MOST_LEADING:
            return
        if width > _MOST_COLUMNS:
            raise InputError(f"{name}: more than {_MOST_COLUMNS:,} columns, expected at most that")
        if width and row:
            beyond = [row[column] for column in sorted(row) if column > width]
            yield number, (*(row.get(column) for column in range(1, width + 1)), *beyond)


def _present_cells(cells: list[dict[str, Any]], *_: object) -> list[tuple[int, Any]]:
    """Return the column, from 1, and the value of each cell that holds something."""
    return [(cell["column"], cell["value"]) for cell in cells if cell["value"] is not None]


def _write_csv(sheet: Any, name: str, packed: int) -> bytes:
    """Return the rows of a sheet as CSV. packed: bytes of the workbook, which bound the text that
    is written: thousands of cells may share one long text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    line = 1
    written = 0
    for number, cells in _table_rows(sheet, name):
        texts = [_text(cell) for cell in cells]
        written += number + 1 - line + len(texts) + sum(map(len, texts))
        refuse_bomb(name, packed, written, MAX_UNPACKED_BYTES)
        out.write("\n" * (number - line))
        writer.writerow(texts)
        line = number + 1
    return out.getvalue().encode("utf-8", "replace")


def _text(cell: Any) -> str:
    """Return a cell as text: whole numbers without a point, dates as Excel's damage to symbols is
    known by."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime | datetime.date):
        return str(cell.isoformat())
    return str(cell).replace("\n", " ").replace("\r", " ") if isinstance(cell, str) else str(cell)


Format = Literal["csv", "parquet", "jsonl"]
_FORMULAS = frozenset("=+-@\t\r\n＝＋－＠")  # how formulas begin; spreadsheets read wide signs, too


def encode(frame: pd.DataFrame, form: Format, *, header: bool = True) -> bytes:
    """Return a frame as a file's bytes.

    In CSV, below a `header`, lists are joined with a space, and text that a spreadsheet would run
    as a formula begins with an apostrophe, which `without_apostrophe` takes away; numbers stay,
    also as text.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    if form == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if form == "jsonl":
        return frame.to_json(orient="records", lines=True, force_ascii=False).encode()
    lists = {c: frame[c].map(" ".join) for c in ("flags", "findings") if c in frame}
    safe = frame.assign(**lists).rename(columns=_defuse)
    for i, kind in enumerate(safe.dtypes):
        if not is_numeric_dtype(kind):
            cells = map(_defuse, safe.iloc[:, i].astype(object).tolist())
            safe.isetitem(i, pd.Series([*cells], dtype=object).array)
    return safe.to_csv(index=False, header=header).encode()


def without_apostrophe(text: str) -> str:
    """Return the text that `encode` wrote to a cell."""
    return text[1:] if text.startswith("'") and _would_run(text) else text


def _defuse(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # a lone CR would end the row
    text = value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value
    return f"'{text}" if _would_run(text) else text


def _would_run(text: str) -> bool:
    """Return whether a text is a formula and no number, perhaps behind apostrophes."""
    bare = text.lstrip("'") if text[:1] == "'" else text
    if bare[:1] not in _FORMULAS:
        return False
    try:
        float(bare)
    except ValueError:
        return True
    return False
