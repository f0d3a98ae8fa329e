"""A table of predicted log2 fold changes, CSV, TSV or Parquet, read in parts: only the pairs that are asked for are kept."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.cells.columns import MOST_CHARACTERS
from core.cells.predicted_changes import PredictedChanges, WantedPairs
from core.errors import InputError, UnknownFormat
from core.file_limits import refuse_bomb
from core.parquet_walk import walk_parquet
from core.stats.arrays import Floats
from core.types import Rejected

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".csv", ".tsv", ".parquet")
# What a column is → the names by which it is found, in any case.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "pert": ("pert", "perturbation", "target", "target_gene", "condition"),
    "gene": ("gene", "feature", "gene_name", "symbol"),
    "log2_fc": ("log2_fc", "log2fc", "log2_fold_change", "log2foldchange", "lfc"),
    "standard_error": ("standard_error", "se", "lfcse", "log2_fc_se"),
    "z": ("z", "z_score", "zscore"),
    "p": ("p", "p_value", "pvalue", "pval"),
}
_KEYS = ("pert", "gene")
_BYTES_A_CELL = 8
_SMALLEST_P = float(np.finfo(np.float64).tiny)  # stands for a p-value of 0, which has no logarithm


@dataclass(slots=True)
class _Found:
    """The numbers of the pairs so far, NaN for those not found; lines: where each stands, 0 for nowhere."""

    numbers: dict[str, Floats]
    lines: np.ndarray
    rejected: list[Rejected] = field(default_factory=list)
    other_rows: int = 0


def read_predicted_table(path: Path, wanted: WantedPairs, named: Mapping[str, str] | None = None) -> PredictedChanges:
    """Returns what a table says of the wanted pairs.

    named: role → column, of `COLUMN_NAMES`' roles; what is not named is found by its name. Evidence of a change is |z|, from a
    column z or log2_fc / standard_error, else -log10 p, else |log2_fc|; the signed one has the sign of the change. Rows of
    other pairs are counted, not kept. A row that repeats a pair, has an empty cell or no finite number, a standard error of 0
    or below, or a p-value outside [0, 1] is rejected. Raises InputError for columns that are missing or cannot be told apart.
    """
    columns = choose_columns(path.name, _header(path), named or {})
    values = [role for role in columns if role not in _KEYS]
    found = _Found({role: np.full(len(wanted), np.nan) for role in values}, np.zeros(len(wanted), dtype=np.int64))
    first_line = 1 if path.suffix.lower() == ".parquet" else 2
    for part in _parts(path, list(columns.values())):
        _add_rows(path.name, part.rename(columns={name: role for role, name in columns.items()}), first_line, wanted, found)
        first_line += len(part)
    return _changes_of(columns, found)


def choose_columns(file: str, header: tuple[str, ...], named: Mapping[str, str]) -> dict[str, str]:
    """Returns role → column of those that are there. Raises InputError; see `read_predicted_table`."""
    for role, name in named.items():
        if role not in COLUMN_NAMES:
            raise InputError(f"{file}: --column {role}={name}: no such role, expected one of {', '.join(COLUMN_NAMES)}")
        if name not in header:
            raise InputError(f"{file}: --column {role}={name}: not in the file; its columns are {', '.join(header)[:200]}")
    chosen = dict(named)
    for role, names in COLUMN_NAMES.items():
        matching = [name for name in header if name.lower() in names and name not in named.values()]
        if role in chosen or not matching:
            continue
        if len(matching) > 1:
            raise InputError(f"{file}: columns {', '.join(matching)} may each be {role}; say which with --column {role}=NAME")
        chosen[role] = matching[0]
    missing = [role for role in _KEYS if role not in chosen]
    if missing or not {"log2_fc", "z"} & set(chosen):
        raise InputError(
            f"{file}: columns {', '.join(header)[:200]}; expected pert, gene, and log2_fc or z (with standard_error or p if "
            "there is one); say which is which with --column ROLE=NAME"
        )
    used = ("z",) if "z" in chosen else ("log2_fc", "standard_error") if "standard_error" in chosen else ("log2_fc", "p")
    return {role: chosen[role] for role in (*_KEYS, *dict.fromkeys((*used, "log2_fc"))) if role in chosen}


def _header(path: Path) -> tuple[str, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() not in FORMATS:
        raise UnknownFormat(f"{path.name}: expected predicted changes as {', '.join(FORMATS)}, or predicted cells as .h5ad")
    try:
        if path.suffix.lower() == ".parquet":
            return tuple(pq.read_schema(path).names)
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = tuple(next(csv.reader(file, delimiter=_delimiter(path)), ()))
    except (OSError, pa.ArrowException, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from error
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{path.name}: column {', '.join(twice)} more than once in the header")
    return header


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _parts(path: Path, columns: list[str]) -> Iterator[pd.DataFrame]:
    """Yields the rows in parts; cells of text files are texts."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    try:
        batches: Iterator[pa.RecordBatch]
        if path.suffix.lower() == ".parquet":
            walk_parquet(path, path.name, columns)
            batches = _parquet_batches(path, columns)
        else:
            as_text = pacsv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
            batches = iter(pacsv.open_csv(path, parse_options=_parse_options(path), convert_options=as_text))
        for batch in batches:
            yield batch.to_pandas()
    except (OSError, pa.ArrowException, OverflowError) as error:
        raise InputError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from error


def _parquet_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a Parquet file in parts. Texts are read as dictionaries and written out once none is too long: one long
    text may stand in every row.

    Raises InputError for columns that are neither numbers nor texts, for texts that are no names or numbers, and UnsafeFile for
    more rows than the file can hold.
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


def _parse_options(path: Path) -> Any:
    import pyarrow.csv as pacsv

    return pacsv.ParseOptions(delimiter=_delimiter(path))


def _add_rows(file: str, rows: pd.DataFrame, first_line: int, wanted: WantedPairs, found: _Found) -> None:
    """Adds the rows of wanted pairs to what was found; see `read_predicted_table` for those that are rejected."""
    places = wanted.places_of(rows["pert"].astype(str).to_numpy(), rows["gene"].astype(str).to_numpy())
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


def _is_bad(role: str, values: Floats) -> np.ndarray:
    bad = ~np.isfinite(values)
    if role == "standard_error":
        bad |= ~(values > 0)
    if role == "p":
        bad |= ~((values >= 0) & (values <= 1))
    return bad


def _reject(file: str, line: int, pair_id: str, cells: Mapping[str, Any], *, repeated: bool) -> Rejected:
    """Returns the rejection of a row, which is repeated or has a cell that is no number of its kind."""
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
    """Returns evidence and signed evidence of the pairs; see `read_predicted_table`."""
    numbers = found.numbers
    change = numbers.get("log2_fc")
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
    )
