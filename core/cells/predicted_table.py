"""A table of predicted log2 fold changes, CSV, TSV or Parquet, read in parts: only the requested pairs are stored."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.cells.change_scales import LEAST_VALUES, count_scale, tell_other_scale
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
_SMALLEST_P = float(np.finfo(np.float64).tiny)  # replaces a p-value of 0, which has no logarithm


@dataclass(slots=True)
class _Found:
    """The numbers of the pairs so far, NaN for missing pairs; lines: the line of each, 0 for none."""

    numbers: dict[str, Floats]
    lines: np.ndarray
    rejected: list[Rejected] = field(default_factory=list)
    other_rows: int = 0
    values: Counter[str] = field(default_factory=Counter)  # of the perturbation column
    signs: Counter[tuple[str, str]] = field(default_factory=Counter)  # role, "negative", "positive" or "above 1", of all rows
    scale: Counter[str] = field(default_factory=Counter)  # of log2_fc, of all rows


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
    values = [role for role in columns if role not in KEYS]
    found = _Found({role: np.full(len(wanted), np.nan) for role in values}, np.zeros(len(wanted), dtype=np.int64))
    first_line = 1 if _is_parquet(path) else 2
    for part in read_parts(path, list(columns.values())):
        _add_rows(path.name, part.rename(columns={name: role for role, name in columns.items()}), first_line, wanted, found)
        first_line += len(part)
    _refuse_other_scales(path.name, columns, found)
    return _changes_of(columns, found)


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


def _add_rows(file: str, rows: pd.DataFrame, first_line: int, wanted: WantedPairs, found: _Found) -> None:
    """Add the rows of wanted pairs to the result; see `read_predicted_table` for those that are rejected."""
    perts, genes = texts(rows["pert"]), texts(rows["gene"])
    _count_signs(rows, found)
    found.values.update(perts)
    names = read_perturbations(perts, set(wanted.perts))
    name_of = {value: meaning.name for value, meaning in names.of_value.items()}
    places = wanted.places_of(np.array([name_of[pert] for pert in perts], dtype=object), genes)
    found.other_rows += int((places < 0).sum())
    kept = np.flatnonzero(places >= 0)
    if not len(kept):
        return
    places, lines, rows = places[kept], first_line + kept, rows.iloc[kept]
    numbers = {role: pd.to_numeric(rows[role], errors="coerce").to_numpy(dtype=np.float64) for role in found.numbers}
    repeated = (found.lines[places] > 0) | pd.Series(places).duplicated().to_numpy()
    bad = repeated | np.any([_is_bad(role, values) for role, values in numbers.items()], axis=0)
    for i in np.flatnonzero(bad):
        cells = {role: rows[role].iloc[i] for role in numbers}
        found.rejected.append(_reject(file, int(lines[i]), wanted.pair_ids[places[i]], cells, repeated=bool(repeated[i])))
    good = ~bad
    found.lines[places[good]] = lines[good]
    for role, values in numbers.items():
        found.numbers[role][places[good]] = values[good]


def _count_signs(rows: pd.DataFrame, found: _Found) -> None:
    for role in set(found.numbers) & {"log2_fc", "fold_change", "p", "z"}:
        values = pd.to_numeric(rows[role], errors="coerce").to_numpy(dtype=np.float64)
        counts = {"negative": (values < 0).sum(), "positive": (values > 0).sum(), "above 1": (values > 1).sum()}
        found.signs.update({(role, sign): int(n) for sign, n in counts.items()})
        if role == "log2_fc":
            found.scale.update(count_scale(values))


def _refuse_other_scales(file: str, columns: Mapping[str, str], found: _Found) -> None:
    """Raise InputError for a column of fold changes without a negative value or on another scale, of ratios with a negative one,
    and of p-values above 1."""
    signs = found.signs
    if "log2_fc" in columns and not signs["log2_fc", "negative"] and signs["log2_fc", "positive"] >= LEAST_VALUES:
        name = columns["log2_fc"]
        raise InputError(
            f"{file}: column {name}, as log2_fc, has no negative value among {signs['log2_fc', 'positive']:,} above 0. Perhaps "
            f"it is a ratio, which --column fold_change={name} takes; a size without a direction cannot be taken"
        )
    if "log2_fc" in columns and (other := tell_other_scale(found.scale)):
        name = columns["log2_fc"]
        raise InputError(f"{file}: column {name}, as log2_fc: {other}; a score that only ranks is --column z={name}")
    if "z" in columns and not signs["z", "negative"] and signs["z", "positive"] >= LEAST_VALUES:
        raise InputError(
            f"{file}: column {columns['z']}, as z, has no negative value among {signs['z', 'positive']:,} above 0: a size "
            "without a direction cannot be taken. Give it the sign of the change, or take the column out"
        )
    if signs["fold_change", "negative"]:
        name = columns["fold_change"]
        raise InputError(f"{file}: column {name}, as fold_change, has negative values: a logarithm is --column log2_fc={name}")
    if 2 * signs["p", "above 1"] > signs["p", "positive"]:
        raise InputError(
            f"{file}: column {columns['p']}, as p, is above 1 in {signs['p', 'above 1']:,} rows: it is no p-value (-log10 p, "
            "perhaps). Name another with --column p=NAME, or take the column out"
        )


def _is_bad(role: str, values: Floats) -> np.ndarray:
    bad = ~np.isfinite(values)
    if role == "standard_error":
        bad |= ~(values > 0)
    if role == "p":
        bad |= ~((values >= 0) & (values <= 1))
    if role == "fold_change":
        bad |= ~(values >= 0)
    return bad


def _reject(file: str, line: int, pair_id: str, cells: Mapping[str, Any], *, repeated: bool) -> Rejected:
    """Return the rejection of a row, which is repeated or has a cell that is not a number of its kind."""
    if repeated:
        return Rejected(file, line, "duplicate", f"{pair_id!r} stands in an earlier row already")
    for role, cell in cells.items():
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return Rejected(file, line, "empty cell", f"{pair_id}: nothing as {role}, expected a number")
        number = pd.to_numeric(cell, errors="coerce")
        if not np.isfinite(number):
            return Rejected(file, line, "not a number", f"{pair_id}: {str(cell)[:40]!r} as {role}, expected a finite number")
        if _is_bad(role, np.array([number]))[0]:
            expected = "a number above 0" if role == "standard_error" else "0 to 1"
            return Rejected(file, line, "out of range", f"{pair_id}: {number:g} as {role}, expected {expected}")
    raise AssertionError(f"{file}, line {line}: nothing wrong with it")


def _changes_of(columns: Mapping[str, str], found: _Found) -> PredictedChanges:
    """Return evidence and signed evidence of the pairs; see `read_predicted_table`."""
    numbers = found.numbers
    change = numbers.get("log2_fc")
    if "fold_change" in numbers:
        change = log2_fold_change(numbers["fold_change"], np.ones_like(numbers["fold_change"]))
    if "z" in numbers:
        signed, measure = numbers["z"], "z"
    elif change is not None and "standard_error" in numbers:
        signed, measure = change / numbers["standard_error"], "z"
    else:
        assert change is not None
        signed, measure = change, "log2_fc"
    evidence = np.abs(signed)
    if "p" in numbers and measure != "z":
        evidence = -np.log10(np.maximum(numbers["p"], _SMALLEST_P))
        signed, measure = np.sign(signed) * evidence, "-log10 p"
    return PredictedChanges(
        evidence=evidence,
        signed=signed,
        log2_fc=change,
        measure=measure,
        read_as=dict(columns),
        rejected=tuple(found.rejected),
        other_pairs=found.other_rows,
        values=tuple(sorted(found.values)[:SHOWN_VALUES]),
    )
