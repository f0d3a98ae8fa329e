"""A table of predicted log2 fold changes, CSV, TSV or Parquet, read in parts: only the requested pairs are stored."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from core.cells.change_scales import count_kinds, refuse_other_scales
from core.cells.columns import MOST_CHARACTERS, texts
from core.cells.differential_expression import log2_fold_change
from core.cells.predicted_changes import SHOWN_VALUES, PredictedChanges, WantedPairs
from core.cells.predicted_columns import KEYS, choose_columns
from core.compressed import bare_name, unpack_file
from core.delimited import delimiter_of, with_points
from core.errors import InputError, UnknownFormat
from core.file_limits import refuse_bomb
from core.parquet_walk import walk_parquet
from core.stats.arrays import Floats
from core.symbols.perturbations import read_perturbations
from core.types import Rejected
from core.workbook import table_of_workbook

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".xlsm")
_BYTES_A_CELL = 8
_MOST_HEADER_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 18
# Role → the lowest and the highest number, and these in words; others may be any.
_ANY: Final = (-math.inf, math.inf, "")
_RANGES: Final[Mapping[str, tuple[float, float, str]]] = {
    "p": (0, 1, "0 to 1"),
    "fold_change": (0, math.inf, "0 or more"),
    "standard_error": (math.nextafter(0, 1), math.inf, "a number above 0"),
}
_SMALLEST_P = float(np.finfo(np.float64).tiny)  # replaces a p-value of 0, which has no logarithm


def read_predicted_table(path: Path, wanted: WantedPairs, named: Mapping[str, str] | None = None) -> PredictedChanges:
    """Return a table's predictions of the wanted pairs.

    named: role → column, for `COLUMN_NAMES`' roles; other columns are found by their names. Evidence of a change is |z|, from a
    column z or log2_fc / standard_error, else -log10 p, else |log2_fc|; the signed one has the sign of the change. Rows of other
    pairs are counted, not kept. A fold change is made log2 of it. Perturbations are read as everywhere else. A row that repeats a
    pair, has an empty cell or no finite number, a standard error of 0 or below, or a p-value outside [0, 1] is rejected. Raise
    InputError for columns that are missing, ambiguous, or do not match their role: a ratio as log2_fc, a logarithm as p.
    """
    with readable_table(path) as table:
        return _read_table(table, wanted, named or {})


def _read_table(path: Path, wanted: WantedPairs, named: Mapping[str, str]) -> PredictedChanges:
    columns = choose_columns(path.name, read_header(path), named)
    roles = {name: role for role, name in columns.items()}
    counts = {role: Counter[str]() for role in columns if role not in KEYS}
    known, values, kept = set(wanted.perts), set[str](), list[pd.DataFrame]()
    first_line = line = 1 if _is_parquet(path) else 2
    for part in read_parts(path, list(columns.values())):
        rows = part.rename(columns=roles)
        for role, count in counts.items():
            count.update(count_kinds(_numbers(rows[role])))
        perts, genes = texts(rows["pert"]), texts(rows["gene"])
        values.update(perts)
        meanings = read_perturbations(perts, known).of_value
        places = wanted.places_of(np.array([meanings[pert].name for pert in perts], dtype=object), genes)
        kept.append(rows.assign(place=places, line=np.arange(line, line + len(rows)))[places >= 0])
        line += len(rows)
    if not kept:
        raise InputError(f"{path.name}: no row below the names of its columns")
    refuse_other_scales(path.name, columns, counts)
    if "p" in counts and 2 * counts["p"]["over 1"] > counts["p"]["positive"]:
        raise InputError(
            f"{path.name}: column {columns['p']}, as p, is above 1 in {counts['p']['over 1']:,} rows: it is no p-value (-log10 "
            "p, perhaps). Name another with --column p=NAME, or take the column out"
        )
    rows = pd.concat(kept, ignore_index=True)
    numbers, rejected = _check_rows(path.name, rows, list(counts), wanted)
    evidence, signed, log2_fc, measure = _evidence_of(numbers)
    return PredictedChanges(
        evidence=evidence,
        signed=signed,
        log2_fc=log2_fc,
        measure=measure,
        read_as=columns,
        rejected=rejected,
        other_pairs=line - first_line - len(rows),
        values=tuple(sorted(values)[:SHOWN_VALUES]),
    )


@contextmanager
def readable_table(path: Path) -> Iterator[Path]:
    """Give the path of a table, of a workbook that of its table as text, until the block ends. Raise InputError as
    `text_of_workbook`, and for a file that cannot be read."""
    try:
        with table_of_workbook(path) as table:
            if table.suffix.lower() in (".xlsx", ".xlsm"):
                raise UnknownFormat(f"{path.name}: no workbook of Excel, expected predicted changes as {', '.join(FORMATS)}")
            yield table
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({error.strerror or error})") from error


def read_header(path: Path) -> tuple[str, ...]:
    """Return the names of a table's columns. Raise UnknownFormat for another kind of file, and InputError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if Path(bare_name(path.name)).suffix.lower() not in FORMATS:
        raise UnknownFormat(
            f"{path.name}: expected predicted changes as {', '.join(FORMATS)} (also as .gz, .bz2 or .zst), or predicted cells as "
            ".h5ad"
        )
    try:
        if _is_parquet(path):
            return tuple(pq.read_schema(path).names)
        with _open_text(path) as file:
            first = file.readline(_MOST_HEADER_BYTES).decode("utf-8-sig")
            header = tuple(name.strip() for name in next(csv.reader([first], delimiter=delimiter_of(first)), []))
    except (OSError, pa.ArrowException, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from error
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{path.name}: column {', '.join(twice)} more than once in the header")
    return header


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


@contextmanager
def _open_text(path: Path) -> Iterator[io.BufferedReader]:
    """Open a table of text, unpacked if it is packed."""
    with path.open("rb") as file:
        stream = unpack_file(file, path.name)
        yield file if stream is None else io.BufferedReader(stream, _CHUNK_BYTES)


def read_parts(path: Path, columns: list[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows in parts; cells of text files are texts."""
    import pyarrow as pa

    try:
        if _is_parquet(path):
            walk_parquet(path, path.name, columns)
            for batch in _parquet_batches(path, columns):
                yield batch.to_pandas(ignore_metadata=True)  # pandas metadata would turn columns into an index again
        else:
            yield from _text_parts(path, columns)
    except (OSError, pa.ArrowException, OverflowError) as error:
        raise InputError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from error


def _text_parts(path: Path, columns: list[str]) -> Iterator[pd.DataFrame]:
    import pyarrow as pa
    import pyarrow.csv as pacsv

    header = read_header(path)
    with _open_text(path) as file:
        delimiter = delimiter_of(file.readline(_MOST_HEADER_BYTES).decode("utf-8-sig"))
        as_text = pacsv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
        read = pacsv.ReadOptions(column_names=header)
        parse = pacsv.ParseOptions(delimiter=delimiter)
        for batch in pacsv.open_csv(file, read_options=read, parse_options=parse, convert_options=as_text):
            frame = batch.to_pandas()
            yield frame.assign(**{name: with_points(frame[name].fillna("").tolist()) for name in columns})


def _parquet_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file in parts.

    Texts are read as dictionaries and written out once none is too long: one long text may stand in every row. Raise InputError
    for columns that are neither numbers nor texts, for texts that are not names or numbers, and UnsafeFile for more rows than the
    file can hold.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    texts = [name for name in columns if _is_text(schema.field(name).type)]
    other = [name for name in columns if name not in texts and not _is_number(schema.field(name).type)]
    if other:
        raise InputError(f"{path.name}: column {other[0]} of type {schema.field(other[0]).type}, expected numbers or texts")
    file = pq.ParquetFile(path, read_dictionary=texts)
    refuse_bomb(path.name, path.stat().st_size, file.metadata.num_rows * len(columns) * _BYTES_A_CELL)
    for batch in file.iter_batches(columns=columns):
        batch.validate(full=True)  # finds texts that are not UTF-8
        for at, name in enumerate(batch.schema.names):
            column = batch.column(at)
            if pa.types.is_dictionary(column.type):
                _refuse_long(path, name, column.dictionary)
                batch = batch.set_column(at, name, column.dictionary_decode())
        yield batch


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    return any(is_kind(kind) for is_kind in tests)


def _refuse_long(path: Path, name: str, texts: pa.Array) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    longest = pc.max(pc.binary_length(texts.cast(pa.large_string()))).as_py() or 0
    if longest > MOST_CHARACTERS:
        raise InputError(f"{path.name}: column {name}: a text of {longest:,} bytes, expected at most {MOST_CHARACTERS:,}")


def _numbers(column: pd.Series) -> Floats:
    numbers: Floats = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    return numbers


def _check_rows(
    file: str, rows: pd.DataFrame, roles: list[str], wanted: WantedPairs
) -> tuple[dict[str, Floats], tuple[Rejected, ...]]:
    """Return role → the numbers of the wanted pairs, NaN without one, and the rows that are rejected; see
    `read_predicted_table`."""
    numbers = {role: _numbers(rows[role]) for role in roles}
    repeated = rows["place"].duplicated().to_numpy()
    bad = repeated | ~np.all([_is_good(role, values) for role, values in numbers.items()], axis=0)
    rejected = []
    for i in np.flatnonzero(bad).tolist():
        where, pair_id = (file, int(rows["line"].iloc[i])), wanted.pair_ids[rows["place"].iloc[i]]
        if repeated[i]:
            rejected.append(Rejected(*where, "duplicate", f"{pair_id!r} stands in an earlier row already"))
        else:
            role = next(role for role, values in numbers.items() if not _is_good(role, values[i]))
            rejected.append(_reject(where, pair_id, role, rows[role].iloc[i], numbers[role][i]))
    of_pairs = {role: np.full(len(wanted), np.nan) for role in roles}
    for role, values in numbers.items():
        of_pairs[role][rows["place"].to_numpy()[~bad]] = values[~bad]
    return of_pairs, tuple(rejected)


def _is_good(role: str, values: Any) -> Any:
    low, high, _ = _RANGES.get(role, _ANY)
    return np.isfinite(values) & (values >= low) & (values <= high)


def _reject(where: tuple[str, int], pair_id: str, role: str, cell: Any, number: float) -> Rejected:
    """Return the rejection of a row for one of its cells. where: file and line."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return Rejected(*where, "empty cell", f"{pair_id}: nothing as {role}, expected a number")
    if not np.isfinite(number):
        return Rejected(*where, "not a number", f"{pair_id}: {str(cell)[:40]!r} as {role}, expected a finite number")
    return Rejected(*where, "out of range", f"{pair_id}: {number:g} as {role}, expected {_RANGES[role][2]}")


def _evidence_of(numbers: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats | None, str]:
    """Return evidence, signed evidence, log2 fold changes (None without any) and the measure; see `read_predicted_table`."""
    change = numbers.get("log2_fc")
    if "fold_change" in numbers:
        change = log2_fold_change(numbers["fold_change"], np.ones_like(numbers["fold_change"]))
    if "z" in numbers:
        return np.abs(numbers["z"]), numbers["z"], change, "z"
    assert change is not None  # or there is z
    if "standard_error" in numbers:
        z = change / numbers["standard_error"]
        return np.abs(z), z, change, "z"
    if "p" not in numbers:
        return np.abs(change), change, change, "log2_fc"
    evidence = -np.log10(np.maximum(numbers["p"], _SMALLEST_P))
    return evidence, np.sign(change) * evidence, change, "-log10 p"
