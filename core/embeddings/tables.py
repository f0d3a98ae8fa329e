"""Load gene spaces from tables: CSV, TSV and parquet."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from core.base.tables import NumberStyle, delimiter_of, number_style
from core.embeddings.space import Space, first_line, list_some
from core.embeddings.table_checks import make_imported_space
from core.errors import InputError, UnknownFormat
from core.file_limits import refuse_bomb
from core.parquet_walk import text_bytes, walk_parquet

MAX_COLUMNS = 100_000
_MOST_BYTES = 1 << 32  # of a space
_BYTES_A_NUMBER = 8
_LOOKED_AT = 100  # number of rows to search for decimal commas
_SYMBOL_NAMES = {"symbol", "symbols", "gene", "genes", "gene_symbol", "gene_name"}
_INDEX_NAMES = {"", "Unnamed: 0", "__index_level_0__"}  # pandas' names for an index in a file


def load_parquet(path: Path, name: str, kept: Collection[str] = ()) -> Space:
    """Return the space in a parquet file: a column of symbols, and columns of numbers or one column of lists of numbers.

    Only the columns of a space are read. Texts are read as dictionaries, so that a text repeated a million times is stored
    once.
    """
    try:
        found = walk_parquet(path, path.name)
        schema = found.schema.to_arrow_schema()
        texts = [field.name for field in schema if _is_text(field.type)]
        symbol = _symbol_column(schema.names, texts, path.name)
        lists = [field.name for field in schema if _is_list(field.type)]
        if len(lists) == 1 and not set(schema.names) - {symbol, *lists, *_INDEX_NAMES}:
            return _load_lists(path, name, symbol, lists[0])
        columns = _number_columns(schema, symbol, path.name)
        refuse_large(path, found.num_rows * len(columns) * _BYTES_A_NUMBER)
        left_out = [name for name in schema.names if name not in columns and name != symbol]
        table = parquet.ParquetFile(path, read_dictionary=[symbol]).read(columns=[symbol, *columns])
        refuse_large(path, text_bytes(table[symbol]))
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{path.name}: cannot be read as parquet ({first_line(error)})") from error
    return _space_from_table(table, symbol, left_out, (path.name, name, kept))


def _load_lists(path: Path, name: str, symbol: str, column: str) -> Space:
    """Return the space from a column of lists of numbers, all of one length."""
    table = parquet.ParquetFile(path, read_dictionary=[symbol]).read(columns=[symbol, column])
    refuse_large(path, table.nbytes)
    lists = table[column].combine_chunks()
    lengths = pc.unique(pc.list_value_length(lists)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        raise InputError(
            f"{path.name}: column {column!r} has lists of {list_some([str(n) for n in lengths])} numbers, expected one length"
        )
    if lists.flatten().null_count or table[symbol].null_count:
        raise InputError(f"{path.name}: a symbol or a number is missing, expected all of them")
    vectors = lists.flatten().to_numpy().reshape(len(table), lengths[0])
    return make_imported_space(name, table[symbol].to_pylist(), vectors, path.name)


def _is_list(kind: pa.DataType) -> bool:
    is_any = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(is_any and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)))


def load_csv(path: Path, name: str, header: str, *, named: bool, kept: Collection[str] = ()) -> Space:
    """Return the space in a text table with the first line `header`. A first line of a symbol and numbers is a row.

    named: as in `load_space`.
    """
    delimiter = delimiter_of(header)
    if header.count(delimiter) >= MAX_COLUMNS:
        raise InputError(f"{path.name}: {header.count(delimiter) + 1:,} columns, expected at most {MAX_COLUMNS:,}")
    try:
        columns = next(csv.reader(header.splitlines(), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{path.name}, line 1: {error}, expected the names of columns") from error
    has_header = not _is_row(columns)
    if not has_header:
        columns = ["symbol", *(f"d{i}" for i in range(len(columns) - 1))]
    symbol = _symbol_column(columns, columns[:1] if not named or columns[:1] == [""] else [], path.name)
    # Types are set, not guessed, and no text means a missing value: NA and None are gene symbols.
    types = {column: pa.string() if column == symbol else pa.float64() for column in columns}
    try:
        with path.open("rb") as file:  # given a path, Arrow would unpack it because of its name
            table = arrow_csv.read_csv(
                file,
                read_options=arrow_csv.ReadOptions(column_names=None if has_header else columns),
                parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    null_values=[],
                    strings_can_be_null=False,
                    decimal_point="," if delimiter != "," and _has_decimal_commas(path, delimiter) else ".",
                ),
            )
    except pa.ArrowException as error:
        where = _first_text(path, delimiter, columns, symbol) or first_line(error)
        raise InputError(f"{path.name}: cannot be read as symbols and numbers ({where})") from error
    if table.column_names != columns:
        raise InputError(f"{path.name}, line 1: column names over several lines, expected one line")
    left_out = [column for column in columns if column in _INDEX_NAMES and column != symbol]
    return _space_from_table(table, symbol, left_out, (path.name, name, kept))


def _has_decimal_commas(path: Path, delimiter: str) -> bool:
    """Return whether the first rows have numbers with a decimal comma."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        return number_style(cell for cells in itertools.islice(reader, _LOOKED_AT) for cell in cells).decimal == ","


def _first_text(path: Path, delimiter: str, columns: Sequence[str], symbol: str) -> str:
    """Describe the first cell that should be a number and is not; "" if rows are wrong in another way."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        try:
            next(reader, None)
            for cells in reader:
                for column, cell in zip(columns, cells, strict=False):
                    if column != symbol and not is_number(cell):
                        return f"line {reader.line_num}, column {column}: {cell[:40]!r}, expected a number"
        except csv.Error:
            pass
    return ""


def _is_row(cells: Sequence[str]) -> bool:
    """Return whether a first line is a row: a symbol and numbers that cannot be a header."""
    numbers = cells[1:]
    counted = all(cell.strip().isdecimal() for cell in numbers) and sorted(map(int, numbers)) in (
        [*range(len(numbers))],
        [*range(1, len(numbers) + 1)],
    )
    is_name = bool(cells[0].strip()) and not is_number(cells[0]) and cells[0].strip().lower() not in _SYMBOL_NAMES
    return bool(numbers) and is_name and all(map(is_number, numbers)) and not counted


def is_number(text: str) -> bool:
    """Return whether a text is a number, with a decimal point or comma."""
    return any(NumberStyle(decimal).read(text) is not None for decimal in ".,")


def _symbol_column(columns: list[str], texts: list[str], source: str) -> str:
    repeated = sorted(column for column, n in Counter(columns).items() if n > 1)
    if repeated:
        raise InputError(f"{source}: column {list_some(repeated)} more than once in the header")
    named = [column for column in columns if column.lower() in _SYMBOL_NAMES]
    for candidates in (named, texts):
        if len(candidates) == 1:
            return candidates[0]
    raise UnknownFormat(f"{source}: columns {list_some(columns)}, expected one called symbol and others of numbers")


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner))


def _number_columns(schema: pa.Schema, symbol: str, source: str) -> list[str]:
    """Return the columns other than symbols and row numbers. Raise InputError unless each contains numbers."""
    columns = [column for column in schema.names if column != symbol and column not in _INDEX_NAMES]
    other = [c for c in columns if not (pa.types.is_integer(t := schema.field(c).type) or pa.types.is_floating(t))]
    if other or not columns:
        raise InputError(f"{source}: {list_some(other) or 'no column'} beside {symbol!r}, expected columns of numbers")
    return columns


def _space_from_table(table: pa.Table, symbol: str, left_out: list[str], about: tuple[str, str, Collection[str]]) -> Space:
    """Return the space from a table. about: the file's name, the space's name, and the columns to keep in any case."""
    source, name, kept = about
    columns = _number_columns(table.schema, symbol, source)
    if not _is_text(table.schema.field(symbol).type) or table[symbol].null_count:
        raise InputError(f"{source}: column {symbol!r} has missing symbols or is not text")
    vectors = np.column_stack([table[column].to_numpy() for column in columns])
    notes = [f"a column of row numbers ({left_out[0]!r}) left out"] if left_out else []
    symbols = table[symbol].to_pylist()
    return make_imported_space(name, symbols, vectors, source, columns=columns, notes=notes, kept=kept)


def refuse_large(path: Path, unpacked: int) -> None:
    """Raise UnsafeFile for a file that unpacks to more than the largest space, or to many times its own size."""
    refuse_bomb(path.name, path.stat().st_size, unpacked, _MOST_BYTES)
