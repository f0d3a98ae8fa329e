"""External scores: a CSV of numbers for rows, computed elsewhere; an import makes a run of each column.

A row is named by a column `id` ({pert}_{gene}) or by the columns `pert` and `gene`. Every other column whose cells are mostly
numbers (or True and False) is a score: the higher, the more likely an effect, or the more likely up given an effect. The numbers
may have any scale, so only their ranks are used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.datasets.pairs import duplicate, read_symbols
from core.datasets.submissions import number_in
from core.datasets.tables import Table, TableRows, quote
from core.delimited import with_points
from core.symbols.p_values import is_log_p_name, is_p_value_name, is_rank_name
from core.symbols.spelling import clean
from core.types import Rejected

_KEYS = ("id", "pert", "gene")
_NOT_SCORES = (*_KEYS, "label", "split")
INDEX_NAMES = ("", "__index_level_0__", *(f"Unnamed: {i}" for i in range(10)))  # the header that pandas gives to an index
# Headers of row numbers in pandas, R, readr and Spark; a score may have one, too
_COUNTERS = frozenset(("index", "level_0", "row", "row_number", "rownames", "x", "...1", "_c0", "no", "nr", "#"))
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class ScoreTable(TableRows):
    """The rows of a file of external scores.

    ids: of the rows. named: the perturbation and the gene of each row in the file's spelling, empty for a file with ids. columns:
    name → one number for each row, None for an empty cell. p_values: the columns with a name of p-values, or of their logarithms
    if none is above 0. ranks: the columns with a name of ranks and no negative number. faults: name → the rejected cells, which
    are not finite numbers; the column does not score their rows. left_out: the columns without numbers, and those of row numbers.
    """

    kind: Literal["external_score"]
    name: str
    ids: tuple[str, ...]
    named: tuple[tuple[str, str], ...]
    columns: Mapping[str, tuple[float | None, ...]]
    p_values: frozenset[str]
    ranks: frozenset[str]
    faults: Mapping[str, tuple[Rejected, ...]]
    left_out: tuple[str, ...]


def is_external_score(header: tuple[str, ...]) -> bool:
    """Return whether a header names rows, and has a column that may be a score."""
    names_rows = "id" in header or {"pert", "gene"} <= set(header)
    return names_rows and any(column not in (*_NOT_SCORES, *INDEX_NAMES) for column in header)


def read_external_scores(table: Table, sha256: str) -> ScoreTable:
    """Read every row with a unique id; of rows with the same id, the first counts."""
    by_id = "id" in table.header
    keys = tuple(i for i, name in enumerate(table.header) if name in (("id",) if by_id else ("pert", "gene")))
    ids: dict[str, int] = {}
    named: list[tuple[str, str]] = []
    kept: list[list[str]] = []
    for line, cells in table.records():
        fault = table.empty_cell(line, cells, keys) or _mismatch(table, line, cells)
        key = clean(cells[keys[0]]) if by_id else ""
        if fault is None and not by_id:
            pair = tuple(clean(cells[table.header.index(name)]) for name in ("pert", "gene"))
            read = read_symbols(table, line, *pair)
            fault, key = (read, "") if isinstance(read, Rejected) else (None, "_".join(read))
        if fault is None and key in ids:
            fault = duplicate(table, line, key, ids[key])
        if fault is not None:
            table.rejected.append(fault)
            continue
        ids[key] = line
        named += [] if by_id else [(pair[0], pair[1])]
        kept.append(cells)
    lines = tuple(ids.values())
    columns: dict[str, tuple[float | None, ...]] = {}
    faults: dict[str, tuple[Rejected, ...]] = {}
    left_out = []
    for i, name in enumerate(table.header):
        if name in _KEYS or name in INDEX_NAMES:
            continue
        texts = with_points([cells[i] for cells in kept])
        if name in _NOT_SCORES or not _is_numeric(texts):
            left_out.append(name)
            continue
        numbers = [_number(text) for text in texts]
        if name.strip().lower() in _COUNTERS and _counts_rows(numbers):
            left_out.append(name)
            continue
        columns[name] = tuple(numbers)
        faults[name] = tuple(
            Rejected(table.name, line, "not a number", f"{quote(text)} in column {name}, expected a finite number")
            for text, number, line in zip(texts, numbers, lines, strict=True)
            if number is None and text.strip()
        )
    return ScoreTable(
        "external_score", table.name, tuple(ids), tuple(named), columns,
        frozenset(name for name, numbers in columns.items() if _smaller_is_more(name, numbers)),
        frozenset(name for name, numbers in columns.items() if is_rank_name(name) and not _has_negatives(numbers)),
        faults, tuple(left_out),
        lines=lines, rejected=tuple(table.rejected), sha256=sha256,
    )  # fmt: skip


def _smaller_is_more(name: str, numbers: Sequence[float | None]) -> bool:
    """Return whether a column has a name of p-values, or of their logarithms and no value above 0."""
    return is_p_value_name(name) or (is_log_p_name(name) and all(number is None or number <= 0 for number in numbers))


def _has_negatives(numbers: Sequence[float | None]) -> bool:
    return any(number is not None and number < 0 for number in numbers)


def _mismatch(table: Table, line: int, cells: list[str]) -> Rejected | None:
    """Return the rejection of a row if its id does not match its pert and gene."""
    if not set(_KEYS) <= set(table.header):
        return None
    key, pert, gene = (cells[table.header.index(name)] for name in _KEYS)
    if clean(key) in (f"{pert}_{gene}", f"{clean(pert)}_{clean(gene)}"):
        return None
    return Rejected(table.name, line, "id mismatch", f"id {quote(key)}, expected {quote(f'{pert}_{gene}')}")


def _number(text: str) -> float | None:
    """Return a cell's finite number, 1 and 0 for True and False; None for any other."""
    number = _TRUTH.get(text.strip().lower(), number_in(text))
    return number if number is not None and math.isfinite(number) else None


def _counts_rows(numbers: Sequence[float | None]) -> bool:
    """Return whether numbers are whole and rise from row to row."""
    filled = [number for number in numbers if number is not None]
    rise = all(before < after for before, after in itertools.pairwise(filled))
    return len(filled) == len(numbers) and rise and all(number.is_integer() for number in filled)


def _is_numeric(texts: Sequence[str]) -> bool:
    """Return whether most of the cells that are not empty hold numbers."""
    filled = [text for text in texts if text.strip()]
    return bool(filled) and 2 * sum(_number(text) is not None for text in filled) > len(filled)
