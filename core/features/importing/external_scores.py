"""External scores: a CSV of numbers for rows, computed elsewhere; an import makes a run of each
column.

A row is named by a column `id` ({pert}_{gene}) or by the columns `pert` and `gene`. Every other
column whose cells are mostly numbers (or True and False) is a score: the higher, the more likely an
effect, or the more likely up given an effect. The numbers may have any scale, so only their ranks
are used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.base.tables import NumberStyle, Table
from core.base.texts import quote
from core.base.types import Rejected
from core.features.importing.name_kinds import is_log_p_name, is_p_value_name, is_rank_name
from core.features.importing.pairs import IDENTITY, TableRows, name_row, place_keys, unique_rows
from core.features.importing.roles import NO_SCORES, ROLES, Roles, fold
from core.features.importing.symbols import clean

# Roles of columns that rank nothing: text, counts and facts of a call.
_NO_SCORES = frozenset(
    ("id", "pert", "gene", "label", "split", "tokens", "prompt_tokens", "tool_calls")
)
# the header that pandas gives to an index
INDEX_NAMES = ("", "__index_level_0__", *(f"Unnamed: {i}" for i in range(10)))
# Headers of row numbers in pandas, R, readr and Spark; a score may have one, too
_COUNTERS = frozenset(
    ("index", "level_0", "row", "row_number", "rownames", "x", "...1", "_c0", "no", "nr", "#")
)
_DOWN = frozenset(map(fold, ROLES["down"].names))
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class ScoreTable(TableRows):
    """The rows of a file of external scores.

    ids: of the rows. named: the perturbation and the gene of each row in the file's spelling, empty
    for a file with ids. columns: name → one number for each row, None for an empty cell. p_values:
    the columns with a name of p-values, or of their logarithms if none is above 0. ranks: the
    columns with a name of ranks and no negative number. faults: name → the rejected cells, which
    are not finite numbers; the column does not score their rows. left_out: the columns without
    numbers, and those of row numbers. downs: the columns with a name of probabilities of down.
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
    downs: frozenset[str] = frozenset()


def score_columns(table: Table, roles: Roles) -> tuple[str, ...]:
    """Return the columns that may be scores: numbers, but none of a role that is none, no counts of
    calls and no index."""
    taken = {roles.of[role] for role in _NO_SCORES & roles.of.keys()}
    others = (
        name
        for name in table.header
        if name not in taken and name not in INDEX_NAMES and fold(name) not in NO_SCORES
    )
    return tuple(
        name
        for name in others
        if table.looks_numeric(table.header.index(name)) or _are_truths(table, name)
    )


def _are_truths(table: Table, name: str) -> bool:
    """Return whether most cells of a column that hold something are True or False."""
    cells = [row[table.header.index(name)].strip().lower() for row in table.sample()]
    filled = [cell for cell in cells if cell]
    return bool(filled) and 2 * sum(cell in _TRUTH for cell in filled) > len(filled)


def read_external_scores(table: Table, sha256: str, scores: Sequence[str]) -> ScoreTable:
    """Read every row with a unique id; of rows with the same id, the first counts. scores: of
    `score_columns`."""
    table.refuse_unclear(scores)
    at = place_keys(table)

    def read(line: int, cells: list[str]) -> tuple[str, list[str]] | Rejected:
        name = name_row(table, line, cells, at)
        return name if isinstance(name, Rejected) else (clean(name[0]), cells)

    rows = [
        *unique_rows(
            table, [name for name in table.header if name not in (*IDENTITY, *scores)], read
        )
    ]
    ids, lines, kept = (
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        [row[2] for row in rows],
    )
    named = (
        ()
        if "id" in at
        else tuple((clean(cells[at["pert"]]), clean(cells[at["gene"]])) for cells in kept)
    )
    columns: dict[str, tuple[float | None, ...]] = {}
    faults: dict[str, tuple[Rejected, ...]] = {}
    left_out = []
    for i, name in enumerate(table.header):
        if name in IDENTITY:
            continue
        texts = [cells[i] for cells in kept]
        numbers = [_number(text, table.styles[i]) for text in texts]
        if name not in scores or not _is_numeric(texts, numbers):
            left_out.append(name)
            continue
        if name.strip().lower() in _COUNTERS and _counts_rows(numbers):
            left_out.append(name)
            continue
        columns[name] = tuple(numbers)
        faults[name] = tuple(
            Rejected(
                table.name,
                line,
                "not a number",
                f"{quote(text)} in column {name}, expected a finite number",
            )
            for text, number, line in zip(texts, numbers, lines, strict=True)
            if number is None and text.strip()
        )
    table.note_unused(left_out)
    ends = {
        name: [end(filter(None, numbers), default=0) for end in (min, max)]
        for name, numbers in columns.items()
    }
    return ScoreTable(
        "external_score",
        table.name,
        ids,
        named,
        columns,
        frozenset(
            name
            for name, (_, most) in ends.items()
            if is_p_value_name(name) or (is_log_p_name(name) and most <= 0)
        ),
        frozenset(name for name, (least, _) in ends.items() if is_rank_name(name) and least >= 0),
        faults,
        tuple(left_out),
        frozenset(name for name in columns if fold(name) in _DOWN),
        lines=lines,
        rejected=tuple(table.rejected),
        sha256=sha256,
    )


def _number(text: str, style: NumberStyle) -> float | None:
    """Return a cell's finite number, 1 and 0 for True and False; None for any other."""
    number = _TRUTH.get(text.strip().lower(), style.read(text))
    return number if number is not None and math.isfinite(number) else None


def _counts_rows(numbers: Sequence[float | None]) -> bool:
    """Return whether numbers are whole and rise from row to row."""
    filled = [number for number in numbers if number is not None]
    rise = all(before < after for before, after in itertools.pairwise(filled))
    return len(filled) == len(numbers) and rise and all(number.is_integer() for number in filled)


def _is_numeric(texts: Sequence[str], numbers: Sequence[float | None]) -> bool:
    """Return whether most of the cells that are not empty hold numbers."""
    n_filled = sum(bool(text.strip()) for text in texts)
    return n_filled > 0 and 2 * sum(number is not None for number in numbers) > n_filled
