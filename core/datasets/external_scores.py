"""External scores: a CSV of numbers for rows, computed elsewhere, which an import makes runs of.

A row is named by a column `id` ({pert}_{gene}) or by the columns `pert` and `gene`. Every other column whose cells are mostly
numbers (or True and False) is a score: the higher, the more likely an effect, or the more likely up given an effect. The
numbers may have any scale, so only their ranks are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.datasets.pairs import duplicate
from core.datasets.submissions import number_in
from core.datasets.tables import Table, TableRows, quote
from core.types import Rejected

_KEYS = ("id", "pert", "gene")
_NOT_SCORES = (*_KEYS, "label", "split")
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class ScoreTable(TableRows):
    """The rows of a file of external scores.

    ids: of the rows. columns: name → one number for each row, None for an empty cell. faults: name → the rejections of its
    cells that are no finite numbers, whose rows the column does not score. left_out: the columns that hold no numbers.
    """

    kind: Literal["external_score"]
    name: str
    ids: tuple[str, ...]
    columns: Mapping[str, tuple[float | None, ...]]
    faults: Mapping[str, tuple[Rejected, ...]]
    left_out: tuple[str, ...]


def is_external_score(header: tuple[str, ...]) -> bool:
    """Whether a header names rows, and has a column that may be a score."""
    names_rows = "id" in header or {"pert", "gene"} <= set(header)
    return names_rows and any(column not in _NOT_SCORES for column in header)


def read_external_scores(table: Table, sha256: str) -> ScoreTable:
    """Reads every row with an id that stands once; of rows with the same id the first counts."""
    by_id = "id" in table.header
    keys = tuple(i for i, name in enumerate(table.header) if name in (("id",) if by_id else ("pert", "gene")))
    ids: dict[str, int] = {}
    kept: list[list[str]] = []
    for line, cells in table.records():
        key = cells[keys[0]] if by_id else "_".join(cells[table.header.index(name)] for name in ("pert", "gene"))
        fault = table.empty_cell(line, cells, keys) or _mismatch(table, line, cells) or None
        if fault is None and key in ids:
            fault = duplicate(table, line, key, ids[key])
        if fault is not None:
            table.rejected.append(fault)
            continue
        ids[key] = line
        kept.append(cells)
    lines = tuple(ids.values())
    columns: dict[str, tuple[float | None, ...]] = {}
    faults: dict[str, tuple[Rejected, ...]] = {}
    left_out = []
    for i, name in enumerate(table.header):
        if name in _KEYS:
            continue
        texts = [cells[i] for cells in kept]
        if name in _NOT_SCORES or not _is_numeric(texts):
            left_out.append(name)
            continue
        numbers = [_number(text) for text in texts]
        columns[name] = tuple(numbers)
        faults[name] = tuple(
            Rejected(table.name, line, "not a number", f"{quote(text)} in column {name}, expected a finite number")
            for text, number, line in zip(texts, numbers, lines, strict=True)
            if number is None and text.strip()
        )
    return ScoreTable(
        "external_score", table.name, tuple(ids), columns, faults, tuple(left_out),
        lines=lines, rejected=tuple(table.rejected), sha256=sha256,
    )  # fmt: skip


def _mismatch(table: Table, line: int, cells: list[str]) -> Rejected | None:
    """Returns the rejection of a row whose id is not that of its pert and gene."""
    if not set(_KEYS) <= set(table.header):
        return None
    key, pert, gene = (cells[table.header.index(name)] for name in _KEYS)
    if key == f"{pert}_{gene}":
        return None
    return Rejected(table.name, line, "id mismatch", f"id {quote(key)}, expected {quote(f'{pert}_{gene}')}")


def _number(text: str) -> float | None:
    """Returns a cell's finite number, 1 and 0 for True and False; None for any other."""
    number = _TRUTH.get(text.strip().lower(), number_in(text))
    return number if number is not None and math.isfinite(number) else None


def _is_numeric(texts: Sequence[str]) -> bool:
    """Returns whether most of the cells that are not empty hold numbers."""
    filled = [text for text in texts if text.strip()]
    return bool(filled) and 2 * sum(_number(text) is not None for text in filled) > len(filled)
