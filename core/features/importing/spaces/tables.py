"""Load gene spaces from tables of text and of Parquet. Arrow reads the numbers, which are too many
for Python."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.base.tables import NumberStyle, Table, is_text, number_style, text_table
from core.base.texts import list_some
from core.embeddings.space import Space, first_line, make_space
from core.features.importing.name_kinds import DIMENSION, refuse_counts, refuse_matrix
from core.features.importing.symbols import clean, is_missing, spreadsheet_damage

_LOOKED_AT = 100  # rows that tell how numbers are written, and which columns hold texts
_SYMBOL_NAMES = {"symbol", "symbols", "gene", "genes", "gene_symbol", "gene_name"}
_INDEX_NAMES = {"", "Unnamed: 0", "__index_level_0__"}  # pandas' names for an index in a file


def load_parquet(
    path: Path, name: str, *, named: bool = False, kept: Collection[str] = ()
) -> Space:
    """Return the space in a parquet file: a column of symbols, and columns of numbers or one column
    of lists of numbers.

    named: as in `load_text`. Only the columns of a space are read, and symbols as dictionaries, so
    that one that is repeated a million times is stored once.
    """
    try:
        metadata = parquet.read_metadata(path)
        refuse_many(metadata.num_rows, path.name)
        schema = metadata.schema.to_arrow_schema()
        texts = [field.name for field in schema if is_text(field.type)]
        symbol = _symbol_column(schema.names, texts, path.name)
        lists = [field.name for field in schema if _is_list(field.type)]
        if len(lists) == 1 and not set(schema.names) - {symbol, *lists, *_INDEX_NAMES}:
            return _load_lists(path, name, symbol, lists[0])
        others = [field for field in schema if field.name != symbol]
        left_out = [] if named else [field.name for field in others if is_text(field.type)]
        columns = [field.name for field in others if field.name not in left_out]
        of_numbers = [
            field for field in others if field.name in columns and field.name not in _INDEX_NAMES
        ]
        wrong = [
            each.name
            for each in of_numbers
            if not (pa.types.is_integer(each.type) or pa.types.is_floating(each.type))
        ]
        if wrong or not of_numbers:
            raise InputError(
                f"{path.name}: {list_some(wrong) or 'no column'} beside {symbol!r}, expected"
                " columns of numbers"
            )
        table = parquet.ParquetFile(path, read_dictionary=[symbol]).read(columns=[symbol, *columns])
        table.validate(full=True)  # finds texts that are not UTF-8
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: cannot be read as parquet ({first_line(error)})") from error
    return _space_from_table(table, symbol, (path.name, name, kept), _note_texts(left_out))


def _load_lists(path: Path, name: str, symbol: str, column: str) -> Space:
    """Return the space from a column of lists of numbers, all of one length."""
    table = parquet.ParquetFile(path, read_dictionary=[symbol]).read(columns=[symbol, column])
    lists = table[column].combine_chunks()
    lengths = pc.unique(pc.list_value_length(lists)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        raise InputError(
            f"{path.name}: column {column!r} has lists of {list_some([str(n) for n in lengths])}"
            " numbers, expected one length"
        )
    if lists.flatten().null_count or table[symbol].null_count:
        raise InputError(f"{path.name}: a symbol or a number is missing, expected all of them")
    vectors = lists.flatten().to_numpy().reshape(len(table), lengths[0])
    return make_imported_space(name, table[symbol].to_pylist(), vectors, path.name)


def _is_list(kind: pa.DataType) -> bool:
    is_any = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    return bool(
        is_any and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
    )


def load_text(
    open_text: Callable[[], io.BufferedIOBase],
    source: str,
    name: str,
    *,
    named: bool,
    kept: Collection[str] = (),
) -> Space:
    """Return the space in a text table (see `text_table`). A first line of a symbol and numbers is
    a row.

    source: the file's name. named: as in `load_space`; other columns of texts are left out only
    without it.
    """
    table = text_table(open_text(), source, _header_above_row)
    rows = table.sample()[:_LOOKED_AT]
    style = number_style(cell for cells in rows for cell in cells)
    if not style.decimal:
        raise InputError(
            f"{source}: numbers with ','; expected a decimal point, and nothing between thousands"
        )
    header = list(table.header)
    if len(header) == 1:
        raise UnknownFormat(f"{source}: starts with {header[0][:40]!r}")
    symbol = _symbol_column(header, header[:1] if not named or header[:1] == [""] else [], source)
    places = [i for i, column in enumerate(header) if column not in (*_INDEX_NAMES, symbol)]
    texts = []  # columns with texts and not one number
    for i in () if named else places:
        cells = [row[i] for row in rows]
        if any(cells) and all(style.read(cell) is None for cell in cells):
            texts.append(header[i])
    # Types are set, not guessed, and no text means a missing value: NA and None are gene symbols.
    types = {
        column: pa.string() if column == symbol or column in texts else pa.float64()
        for column in header
    }
    try:
        numbers = _read_numbers(open_text(), table, types, style)
    except pa.ArrowException as error:
        raise InputError(
            f"{source}: cannot be read as symbols and numbers ({first_line(error)})"
        ) from error
    return _space_from_table(
        numbers.drop_columns(texts), symbol, (source, name, kept), table.notes + _note_texts(texts)
    )


def _read_numbers(
    file: io.BufferedIOBase, table: Table, types: Mapping[str, pa.DataType], style: NumberStyle
) -> pa.Table:
    """Return the rows of a text table, which has been opened before to learn its form."""
    form = table.form
    assert form is not None  # a text has one
    if any("\n" in column or "\r" in column for column in table.header):
        raise InputError(
            f"{table.name}, line 1: names of columns over several lines, expected one line"
        )
    with file:
        return arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(
                use_threads=False,  # or errors name no row
                column_names=[*table.header],
                skip_rows=form.above,
                encoding=form.encoding.removesuffix("-sig"),
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=form.delimiter),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                null_values=[],
                strings_can_be_null=False,
                decimal_point=style.decimal,
            ),
        )


def _note_texts(columns: Sequence[str]) -> list[str]:
    return [f"columns of texts left out ({list_some(columns)})"] if columns else []


def _header_above_row(cells: Sequence[str]) -> list[str] | None:
    """Return names for the columns of a table without a header: its first row is a symbol and
    numbers that cannot be a header."""
    numbers = cells[1:]
    counted = all(cell.strip().isdecimal() for cell in numbers) and sorted(map(int, numbers)) in (
        [*range(len(numbers))],
        [*range(1, len(numbers) + 1)],
    )
    is_name = (
        bool(cells[0].strip())
        and not is_number(cells[0])
        and cells[0].strip().lower() not in _SYMBOL_NAMES
    )
    is_row = numbers and is_name and all(map(is_number, numbers)) and not counted
    return ["symbol", *(f"d{i}" for i in range(len(numbers)))] if is_row else None


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
    raise UnknownFormat(
        f"{source}: columns {list_some(columns)}, expected one called symbol and others of numbers"
    )


def _space_from_table(
    table: pa.Table, symbol: str, about: tuple[str, str, Collection[str]], notes: Sequence[str] = ()
) -> Space:
    """Return the space from a table. about: the file's name, the space's name, and the columns to
    keep in any case."""
    source, name, kept = about
    left_out = [
        column for column in table.column_names if column in _INDEX_NAMES and column != symbol
    ]
    columns = [column for column in table.column_names if column not in (*left_out, symbol)]
    if not columns:
        raise InputError(f"{source}: no column beside {symbol!r}, expected columns of numbers")
    if not is_text(table.schema.field(symbol).type) or table[symbol].null_count:
        raise InputError(f"{source}: column {symbol!r} has missing symbols or is not text")
    vectors = np.column_stack([table[column].to_numpy() for column in columns])
    numbered = [f"a column of row numbers ({left_out[0]!r}) left out"] if left_out else []
    symbols = table[symbol].to_pylist()
    return make_imported_space(
        name, symbols, vectors, source, columns=columns, notes=[*notes, *numbered], kept=kept
    )


# Columns of numbers about a gene, or of groups, that are not dimensions of a space.
_ABOUT: Final = re.compile(
    "clusters?|leiden|louvain|n(?:u)?(?:cells|counts|genes)(?:bycounts)?|(?:logp)?(?:total"
    "|mean)counts|means|dispersions(?:norm)?"
    "|variances(?:norm)?|pctdropoutbycounts|highlyvariable|entrez(?:gene)?(?:id)?|(?:gene|ncbi"
    "|hgnc)id|(?:gene)?length|size|start"
    "|end|strand|chr|chrom|chromosome|pos|position|gc|gccontent|percentagegccontent|[tfr]pkm|tpm"
    "|rank|index|unnamed"
    "|labels?|class(?:es)?|split|fold|batch|p(?:adj|vals?|values?)|fdr|q(?:vals?|values?)"
    "|l(?:og)?fc|logfoldchanges?|foldchange"
    "|basemean|n?effects?"
    "|communit(?:y|ies)|kmeans|modules?|degree|counts?|umis?|mean|std|variance|tss"
)
_SYMBOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]*\d*")
_LARGER: Final = 100.0  # a column with this many times the other columns' scale is not a dimension
_LEAST_COLUMNS: Final = 3
_MAX_GENES: Final = 1_000_000
_MAX_CHARACTERS: Final = 10_000  # of a symbol


def refuse_many(n_genes: int, source: str) -> None:
    """Raise UnsafeFile for more rows than there are genes; a row may take no room in a file."""
    if n_genes > _MAX_GENES:
        raise UnsafeFile(f"{source}: {n_genes:,} rows, expected at most {_MAX_GENES:,} genes")


def make_imported_space(
    name: str,
    symbols: Sequence[str],
    vectors: NDArray[Any],
    source: str,
    *,
    columns: Sequence[str] = (),
    notes: Sequence[str] = (),
    kept: Collection[str] = (),
) -> Space:
    """Return the space from a file's rows, as in `make_space`.

    Symbols damaged by a spreadsheet and columns that are not dimensions are left out and named in
    the notes. columns: the names of the vectors' columns, if the file has any. kept: columns
    requested by a person. Raise InputError if most rows have no symbol, for numbers as symbols, and
    for a transposed table.
    """
    longest = max(map(len, symbols), default=0)
    if longest > _MAX_CHARACTERS:
        raise UnsafeFile(
            f"{source}: a symbol of {longest:,} characters, expected at most {_MAX_CHARACTERS:,}"
        )
    cleaned, said = [clean(symbol) for symbol in symbols], list(notes)
    rows = sum(DIMENSION.fullmatch(symbol) is not None for symbol in cleaned)
    genes = sum(
        _SYMBOL.fullmatch(column) is not None and not DIMENSION.fullmatch(column)
        for column in columns
    )
    if len(cleaned) > 1 and rows == len(cleaned) and columns and 2 * genes > len(columns):
        raise InputError(
            f"{source}: rows are called {list_some(cleaned, 3)}, columns"
            f" {list_some(list(columns), 3)}: the table is transposed; expected a row for each gene"
        )
    refuse_matrix(cleaned, columns, source)
    if len(columns) >= _LEAST_COLUMNS and _are_counts(vectors):
        refuse_counts(columns, source)
    damaged = {
        i: words
        for i, symbol in enumerate(cleaned)
        if not is_missing(symbol) and (words := spreadsheet_damage(symbol))
    }
    if 2 * len(damaged) > len(cleaned):
        first, words = next(iter(damaged.items()))
        raise InputError(
            f"{source}: {len(damaged):,} of {len(cleaned):,} symbols are not gene symbols, the"
            f" first {cleaned[first]!r}: {words}; expected gene symbols"
        )
    if damaged:
        shown = list_some([f"{cleaned[i]} in row {i + 1}" for i in damaged])
        said.append(
            f"{len(damaged):,} rows left out with symbols made by a spreadsheet ({shown}):"
            f" {next(iter(damaged.values()))}"
        )
        sound = [i for i in range(len(cleaned)) if i not in damaged]
        cleaned, vectors = [cleaned[i] for i in sound], vectors[sound]
    odd = [i for i in _odd_columns(columns, vectors) if columns[i] not in kept]
    if odd:
        names = list_some([columns[i] for i in odd])
        said.append(
            f"{len(odd):,} columns left out that are not dimensions ({names}); --keep-column"
            " keeps one"
        )
        vectors = np.delete(vectors, odd, axis=1)
    return make_space(name, cleaned, vectors, source, notes=said)


def _are_counts(vectors: NDArray[Any]) -> bool:
    """Return whether all numbers are whole, none is negative, and some are above 1."""
    with np.errstate(invalid="ignore"):
        whole = bool((vectors == np.rint(vectors)).all())
    return whole and vectors.size > 0 and vectors.min() >= 0 and vectors.max() > 1


def _odd_columns(columns: Sequence[str], vectors: NDArray[Any]) -> list[int]:
    """Return the positions of columns that are not dimensions: those named in _ABOUT, and those
    with a much larger scale than the others. Of the latter, only columns of whole numbers, or with
    names unlike dimensions, count, because the first principal component may be large.
    """
    if len(columns) < _LEAST_COLUMNS or vectors.dtype.kind not in "fiu" or not len(vectors):
        return []
    values = vectors.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.nanmedian(np.abs(values), axis=0)
        whole = (values == np.rint(values)).all(axis=0)
    named = [_ABOUT.fullmatch(re.sub(r"[^a-z]", "", name.lower())) is not None for name in columns]
    usual = float(np.median(scale[~whole])) if (~whole).any() else np.inf
    other = [bool(whole[i]) or not DIMENSION.fullmatch(name) for i, name in enumerate(columns)]
    return [i for i in range(len(columns)) if named[i] or (other[i] and scale[i] > _LARGER * usual)]
