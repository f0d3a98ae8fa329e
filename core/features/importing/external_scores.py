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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.tables import NumberStyle, Table
from core.base.texts import quote
from core.base.types import EXTERNAL_SCORE, Flag, Prediction, Rejected, RowResult, TraceEvent
from core.features.importing.name_kinds import is_log_p_name, is_p_value_name, is_rank_name
from core.features.importing.pairs import IDENTITY, TableRows, unique_rows
from core.features.importing.roles import NO_SCORES, ROLES, Roles, fold
from core.features.importing.submissions import SubmissionTable
from core.features.importing.symbols import clean
from core.stats.ranks import percentiles

# What the numbers of a column are of which smaller ones mean more.
Turned = Literal["p-values or the like", "ranks", "probabilities of down"]
P_VALUES: Final = "p-values or the like"
MOST_RUNS = 20  # that a file brings if nobody says which of its columns count
_MIDDLE = 0.5
# the share of zeros that is remarked on; of a column of more values than yes, no and unknown
_MANY_ZEROS, _FEW_VALUES = 0.2, 3
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

    ids: of the rows. columns: name → one number for each row, None for an empty cell. turned: the
    columns with a name of p-values (or of their logarithms if none is above 0), of ranks (without a
    negative number) or of probabilities of down. faults: name → the rejected cells, which are not
    finite numbers; the column does not score their rows. left_out: the columns without numbers, and
    those of row numbers.
    """

    kind: Literal["external_score"]
    name: str
    ids: tuple[str, ...]
    columns: Mapping[str, tuple[float | None, ...]]
    turned: Mapping[str, Turned]
    faults: Mapping[str, tuple[Rejected, ...]]
    left_out: tuple[str, ...]


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
    unused = [name for name in table.header if name not in (*IDENTITY, *scores)]
    parts = [*unique_rows(table, unused)]
    ids = tuple(clean(key) for part in parts for key in part.ids)
    lines = tuple(line for part in parts for line in part.rows.index.tolist())
    columns: dict[str, tuple[float | None, ...]] = {}
    faults: dict[str, tuple[Rejected, ...]] = {}
    left_out = []
    for i, name in enumerate(table.header):
        if name in IDENTITY:
            continue
        texts = [text for part in parts for text in part.rows[name]]
        numbers = [_number(text, table.styles[i]) for text in texts]
        is_counter = name.strip().lower() in _COUNTERS and _counts_rows(numbers)
        if name not in scores or is_counter or not _is_numeric(texts, numbers):
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
    turned = {name: kind for name in columns if (kind := _turned_kind(name, columns[name]))}
    return ScoreTable(
        *("external_score", table.name, ids, columns, turned, faults, tuple(left_out)),
        lines=lines,
        rejected=tuple(table.rejected),
        sha256=sha256,
    )


def _turned_kind(name: str, numbers: Sequence[float | None]) -> Turned | None:
    """Return what a column is by its name if smaller numbers mean more; None for any other."""
    filled = [number for number in numbers if number is not None]
    if is_p_value_name(name) or (is_log_p_name(name) and max(filled, default=0) <= 0):
        return P_VALUES
    if is_rank_name(name) and min(filled, default=0) >= 0:
        return "ranks"
    return "probabilities of down" if fold(name) in _DOWN else None


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


class Columns(NamedTuple):
    """The columns of a run of external scores. name: the suffix of the file's name. de, dir: of
    `choose_columns`."""

    name: str
    de: str | None
    dir: str | None

    @property
    def used(self) -> tuple[str, ...]:
        """Both, each once."""
        return tuple(dict.fromkeys(name for name in (self.de, self.dir) if name is not None))


def choose_columns(table: ScoreTable, de: str | None, direction: str | None) -> list[Columns]:
    """Return the columns of each run of a file.

    de, direction: the column that ranks rows by an effect, and the one that ranks them by up given
    an effect; if one is None, the run has no score for that question. Without either, every column
    of numbers becomes a run that answers both questions with it; p-values (by their name) answer
    that for an effect alone, the smaller the more; of ranks, too, the smaller is the more. Raise
    InputError for a missing column, one without numbers, and too many columns.
    """
    known = ", ".join(table.columns) or "none"
    if de is None and direction is None:
        if not 0 < len(table.columns) <= MOST_RUNS:
            raise InputError(
                f"{table.name}: {len(table.columns):,} columns of numbers, expected 1 to"
                f" {MOST_RUNS}; its other columns are {quote(', '.join(table.left_out), 120)}."
                " Choose columns with --de and --dir"
            )
        return [
            Columns(
                name,
                None if table.turned.get(name) == "probabilities of down" else name,
                None if table.turned.get(name) == P_VALUES else name,
            )
            for name in table.columns
        ]
    for option, name in (("--de", de), ("--dir", direction)):
        if name is not None and name not in table.columns:
            problem = "holds no numbers" if name in table.left_out else "not in the file"
            raise InputError(
                f"{table.name}: {option} {name}: {problem}; expected one of its columns of numbers:"
                f" {known}"
            )
    if direction is not None and table.turned.get(direction) == P_VALUES:
        raise InputError(
            f"{table.name}: --dir {direction}: p-values have no direction, expected a column that"
            " rises with up"
        )
    chosen = Columns("", de, direction)
    return [chosen._replace(name=", ".join(chosen.used))]


def run_of(
    table: ScoreTable, columns: Columns, take: Callable[[RowResult], None]
) -> SubmissionTable:
    """Return the run of the rows for which at least one of the columns has a number, and hands its
    rows on."""
    _, de, direction = columns
    turned = [name for name in columns.used if name in table.turned]
    for name in turned:
        _refuse_other_numbers(table, name)
    signed = [
        np.array(table.columns[name] if name else [None] * len(table.ids), dtype=np.float64)
        * (-1 if name in turned else 1)
        for name in (de, direction)
    ]
    ranks = [percentiles(numbers).tolist() for numbers in signed]
    lines = []
    for i, (key, line) in enumerate(zip(table.ids, table.lines, strict=True)):
        cells = {name: table.columns[name][i] for name in columns.used}
        numbers = {name: number for name, number in cells.items() if number is not None}
        if numbers:
            take(_build_row(key, ranks[0][i], ranks[1][i], numbers))
            lines.append(line)
    spec: dict[str, Any] = {"file_sha256": table.sha256, "de": de, "dir": direction}
    what = " and ".join(dict.fromkeys(table.turned[name] for name in turned))
    note = describe(de, direction)
    if turned:
        note += f" Their names indicate {what}: a smaller value ranks a row higher."
        spec["turned"] = turned
    text = f"{table.sha256} de={de} dir={direction}{' turned' if turned else ''}"
    return SubmissionTable(
        *("external_score", None, EXTERNAL_SCORE, "", ()),
        spec=spec,
        note=note,
        remark=" ".join(_remark_zeros(table, name) for name in columns.used).strip(),
        lines=tuple(lines),
        sha256=sha256_of(text),
        rejected=(
            *table.rejected,
            *(fault for name in columns.used for fault in table.faults[name]),
        ),
        notes=table.notes,
    )


def _remark_zeros(table: ScoreTable, name: str) -> str:
    """Return a remark on a column of which many numbers are exactly 0, and the others are not all
    alike; "" for others."""
    numbers = [number for number in table.columns[name] if number is not None]
    share = sum(number == 0 for number in numbers) / max(len(numbers), 1)
    if share < _MANY_ZEROS or len({*numbers}) <= _FEW_VALUES:
        return ""
    return (
        f"Column {name} is exactly 0 in {share:.0%} of the rows, which are ranked as equal. If 0"
        " means that a row was not covered, leave these cells empty."
    )


def _refuse_other_numbers(table: ScoreTable, name: str) -> None:
    """Raise InputError for numbers that are not what a column's name says, of which one cannot tell
    whether smaller means more: logarithms of p-values, shares or means of ranks."""
    numbers = [number for number in table.columns[name] if number is not None]
    kind = table.turned[name]
    odd = None
    if kind == P_VALUES:
        odd = next((f"{number:g}" for number in numbers if not 0 <= number <= 1), None)
        expected = "0 to 1"
    elif kind == "ranks":  # half a rank: of a tie
        odd = next((f"{number:g}" for number in numbers if not (2 * number).is_integer()), None)
        odd = odd or (None if max(numbers, default=0) > 1 else "nothing above 1")
        expected = "1, 2, 3, … for the first, second, third"
    if odd is not None:
        raise InputError(
            f"{table.name}: column {name} has a name of {kind.partition(' ')[0]}, which would be"
            f" reversed, but contains {odd}; expected {expected}. A column that rises with an"
            " effect needs another name"
        )


def _build_row(pair_id: str, p_de: float, p_up: float, numbers: Mapping[str, float]) -> RowResult:
    """Return a row of percentiles; the middle rank is written for a question without a score, and
    flagged."""
    flags = tuple(
        flag for flag, rank in ((Flag.NO_DE, p_de), (Flag.NO_DIR, p_up)) if math.isnan(rank)
    )
    de = _MIDDLE if math.isnan(p_de) else p_de
    up = de * (_MIDDLE if math.isnan(p_up) else p_up)
    text = "\n".join(f"{name}: {number!r}" for name, number in numbers.items())
    event = TraceEvent("external score", "SCORE", "arithmetic", text, tokens=0, meta=dict(numbers))
    prediction = Prediction(
        pair_id, up, de - up, de, None if math.isnan(p_up) else p_up, "trace", flags, 0, 0, 0
    )
    return RowResult(prediction, (event,))


def describe(de: str | None, direction: str | None) -> str:
    """Return which question each column of a run of external scores answers, in a sentence."""
    if de == direction:
        return (
            f"External score: column {de} ranks rows by an effect and by its direction; the file"
            " does not state which it is about."
        )
    effect = f"column {de} ranks rows by an effect" if de else "no score for an effect"
    up = (
        f"column {direction} ranks them by up given an effect"
        if direction
        else "no score for a direction"
    )
    return f"External score: {effect}; {up}."
