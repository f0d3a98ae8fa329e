"""A table of predicted log2 fold changes, CSV, TSV or Parquet, read in parts: only the requested pairs are stored."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from core.base.tables import Table, open_table
from core.cells.change_scales import count_kinds, refuse_other_scales
from core.cells.columns import texts
from core.cells.differential_expression import log2_fold_change
from core.cells.predicted_changes import SHOWN_VALUES, PredictedChanges, WantedPairs
from core.cells.predicted_columns import KEYS, choose_columns
from core.errors import InputError
from core.stats.arrays import Floats
from core.symbols.perturbations import read_perturbations
from core.types import Rejected

FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".xlsm", ".json", ".jsonl")
MOST_BYTES: Final = 1 << 40  # it is read in parts
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
    with open_table(path, most_bytes=MOST_BYTES) as table:
        return _read_table(path, table, wanted, named or {})


def _read_table(path: Path, table: Table, wanted: WantedPairs, named: Mapping[str, str]) -> PredictedChanges:
    columns = choose_columns(path.name, table.header, named)
    roles = {name: role for role, name in columns.items()}
    counts = {role: Counter[str]() for role in columns if role not in KEYS}
    known, values, kept, n_rows = set(wanted.perts), set[str](), list[pd.DataFrame](), 0
    for part in table.frames(list(columns.values())):
        rows = part.rename(columns=roles)
        for role, count in counts.items():
            column = table.numbers(columns[role], rows[role])
            rows[f"text of {role}"], rows[role] = rows[role], column
            count.update(count_kinds(column))
        perts, genes = texts(rows["pert"]), texts(rows["gene"])
        values.update(perts)
        meanings = read_perturbations(perts, known).of_value
        places = wanted.places_of(np.array([meanings[pert].name for pert in perts], dtype=object), genes)
        kept.append(rows.assign(place=places, line=rows.index)[places >= 0])
        n_rows += len(rows)
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
        rejected=(*table.rejected, *rejected),
        other_pairs=n_rows - len(rows),
        values=tuple(sorted(values)[:SHOWN_VALUES]),
    )


def _check_rows(
    file: str, rows: pd.DataFrame, roles: list[str], wanted: WantedPairs
) -> tuple[dict[str, Floats], tuple[Rejected, ...]]:
    """Return role → the numbers of the wanted pairs, NaN without one, and the rows that are rejected; see
    `read_predicted_table`."""
    numbers = {role: rows[role].to_numpy(dtype=np.float64) for role in roles}
    repeated = rows["place"].duplicated().to_numpy()
    bad = repeated | ~np.all([_is_good(role, values) for role, values in numbers.items()], axis=0)
    rejected = []
    for i in np.flatnonzero(bad).tolist():
        where, pair_id = (file, int(rows["line"].iloc[i])), wanted.pair_ids[rows["place"].iloc[i]]
        if repeated[i]:
            rejected.append(Rejected(*where, "duplicate", f"{pair_id!r} stands in an earlier row already"))
        else:
            role = next(role for role, values in numbers.items() if not _is_good(role, values[i]))
            rejected.append(_reject(where, pair_id, role, rows[f"text of {role}"].iloc[i], numbers[role][i]))
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
