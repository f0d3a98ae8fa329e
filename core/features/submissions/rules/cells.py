"""Rules about ids, cells and columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation

from core.base.row_schema import FILE_SUM_TOLERANCE
from core.base.texts import list_names, quote
from core.features.importing.problems import Row
from core.features.importing.submissions import count_in, number_in
from core.features.submissions.parsed import File, Finding
from core.features.submissions.rules.registry import rule
from core.features.submissions.tracks import LAYOUTS
from core.methods.prompts import B_TOOL_CALLS, B_TOOLS

_MOST_DECIMALS = 300  # of a number above 0
_FEWEST_DECIMALS = 3  # a mean of seeds with fewer decimals does not count as rounded
# Words that pandas and other readers take for an empty cell.
_NULL_WORDS = frozenset(
    {
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    }
)


def _ids(file: File) -> tuple[str, ...]:
    return () if file.sheet is None else file.sheet.columns.get("id", ())


@rule("missing_ids", "error")
def missing_ids(file: File) -> Iterator[Finding]:
    """Expected ids without a row."""
    if file.sheet is not None and "id" in file.sheet.columns:
        present = {*_ids(file), *file.sheet.unreadable}
        missing = [key for key in file.expected if key not in present]
        if missing:
            yield Finding(
                missing,
                f"{len(missing):,} of {len(file.expected):,} ids are missing:"
                f" {list_names(missing)}",
            )


@rule("unknown_ids", "error")
def unknown_ids(file: File) -> Iterator[Finding]:
    """Ids that are not expected."""
    known = set(file.expected)
    unknown = [key for key in _ids(file) if key.strip() and key not in known]
    if unknown:
        yield Finding(
            unknown,
            f"{len(unknown):,} ids are not among the {len(known):,} expected:"
            f" {list_names(unknown)}",
        )


@rule("duplicate_ids", "error")
def duplicate_ids(file: File) -> Iterator[Finding]:
    """Ids on several rows."""
    twice = [key for key, n in Counter(_ids(file)).items() if n > 1 and key.strip()]
    if twice:
        yield Finding(
            twice,
            f"{len(twice):,} ids are on several rows: {list_names(twice)}; expected each once",
        )


@rule("id_order", "error")
def id_order(file: File) -> Iterator[Finding]:
    """Rows in another order than the list of ids, ignoring missing and unknown ids."""
    known, present = set(file.expected), set(_ids(file))
    actual = [key for key in dict.fromkeys(_ids(file)) if key in known]
    expected = [key for key in dict.fromkeys(file.expected) if key in present]
    moved = [key for key, other in zip(actual, expected, strict=True) if key != other]
    if moved:
        yield Finding(
            moved,
            f"{len(moved):,} ids in another order than expected, the first {list_names(moved[:1])}",
        )


@rule("empty_cells", "error")
def empty_cells(file: File) -> Iterator[Finding]:
    """Cells without text."""
    for name in file.layout.columns:
        yield from _bad_cells(
            file,
            name,
            lambda text: not text.strip(),
            "empty, expected a value; `none` means an empty trace",
        )


@rule("null_words", "warning")
def null_words(file: File) -> Iterator[Finding]:
    """Words that other readers take for an empty cell; numbers have their own rule."""
    for name in ("id", *file.layout.traces, "model_name"):
        yield from _bad_cells(
            file,
            name,
            lambda text: text in _NULL_WORDS,
            "a word that many readers take for an empty cell",
        )


@rule("not_a_number", "error")
def not_a_number(file: File) -> Iterator[Finding]:
    """Predictions that are not numbers."""
    for name in _probabilities(file):
        yield from _bad_cells(file, name, _is_no_number, "expected a number with a decimal point")


@rule("not_finite", "error")
def not_finite(file: File) -> Iterator[Finding]:
    """Predictions that are NaN or infinite."""
    for name in _probabilities(file):
        yield from _bad_cells(
            file,
            name,
            lambda text: not math.isfinite(_number(text, 0.0)),
            "expected a finite number",
        )


@rule("out_of_range", "error")
def out_of_range(file: File) -> Iterator[Finding]:
    """Predictions below 0 or above 1."""
    for name in _probabilities(file):
        yield from _bad_cells(
            file,
            name,
            lambda text: _finite(text) and not 0 <= _number(text) <= 1,
            "expected 0 to 1",
        )


@rule("sum_above_one", "error")
def sum_above_one(file: File) -> Iterator[Finding]:
    """Rows whose up and down sum to more than 1."""
    for up, down in file.layout.predictions:
        sums = {
            row: sum(map(_number, cells))
            for row, cells in file.cells(up, down)
            if all(map(_finite, cells))
        }
        over = [row for row, total in sums.items() if total > 1 + FILE_SUM_TOLERANCE]
        if over:
            most = max(over, key=sums.__getitem__)
            yield Finding(
                over,
                f"{up} + {down}: {len(over):,} rows above 1, the largest {sums[most]:.6g} at"
                f" {list_names([most])}",
            )


@rule("counts", "error")
def counts(file: File) -> Iterator[Finding]:
    """Counts that are not whole numbers of at least 0."""
    for name in file.layout.counts:
        wrong = "expected a whole number of at least 0"
        yield from _bad_cells(
            file, name, lambda text: bool(text.strip()) and count_in(text) is None, wrong
        )


@rule("tool_calls", "error", "B")
def tool_calls(file: File) -> Iterator[Finding]:
    """Rows with more tool calls than allowed."""
    yield from _cells_above(file, "num_tool_calls", B_TOOL_CALLS)


@rule("distinct_tools", "error", "B")
def distinct_tools(file: File) -> Iterator[Finding]:
    """Rows with more distinct tools than allowed."""
    yield from _cells_above(file, "num_distinct_tools", B_TOOLS)


@rule("prompt_tokens", "error", "A", "B")
def prompt_tokens(file: File) -> Iterator[Finding]:
    """Rows whose prompt is longer than allowed."""
    yield from _cells_above(file, "prompt_tokens", file.layout.most_prompt_tokens or 0)


@rule("seeds_mean", "error", "A")
def seeds_mean(file: File) -> Iterator[Finding]:
    """Rows whose submitted numbers are not the mean over the seeds."""
    submitted, *seeds = file.layout.predictions
    for side, name in enumerate(submitted):
        off: dict[Row, float] = {}
        for row, cells in file.cells(name, *(columns[side] for columns in seeds)):
            if all(map(_finite, cells)):
                value, *answers = map(_number, cells)
                mean = math.fsum(answers) / len(answers)
                # The largest rounding error of a number: half a unit of its last decimal
                try:
                    exponent = Decimal(cells[0].strip()).as_tuple().exponent
                except InvalidOperation:  # more digits in the exponent than a Decimal allows
                    exponent = 0
                decimals = max(_FEWEST_DECIMALS, -exponent if isinstance(exponent, int) else 0)
                if abs(value - mean) > (
                    FILE_SUM_TOLERANCE + 0.5 * 10.0 ** -min(decimals, _MOST_DECIMALS)
                ):
                    off[row] = value - mean
        if off:
            most = max(off, key=lambda row: abs(off[row]))
            furthest = f"the furthest {list_names([most])} by {off[most]:+.6g}"
            yield Finding(
                list(off), f"{name}: {len(off):,} rows are not the mean over the seeds, {furthest}"
            )


def _probabilities(file: File) -> tuple[str, ...]:
    return tuple(name for names in file.layout.predictions for name in names)


def _is_no_number(text: str) -> bool:
    """Return whether a cell is filled, but not with a number with a decimal point.

    An import accepts decimal commas, a check does not.
    """
    return bool(text.strip()) and ("," in text or number_in(text) is None)


def _number(text: str, otherwise: float = math.nan) -> float:
    number = number_in(text)
    return otherwise if number is None else number


def _finite(text: str) -> bool:
    return math.isfinite(_number(text))


def _bad_cells(
    file: File, column: str, is_bad: Callable[[str], bool], expected: str
) -> Iterator[Finding]:
    """Yield the rows with a bad cell in a column, with the first cell in the message."""
    bad = [(row, text) for row, (text,) in file.cells(column) if is_bad(text)]
    if bad:
        row, text = bad[0]
        yield Finding(
            [row for row, _ in bad],
            f"{column}: {len(bad):,} cells such as {quote(text)} at {list_names([row])};"
            f" {expected}",
        )


def _cells_above(file: File, column: str, most: int) -> Iterator[Finding]:
    yield from _bad_cells(
        file, column, lambda text: (count_in(text) or 0) > most, f"expected at most {most:,}"
    )


@rule("missing_columns", "error")
def missing_columns(file: File) -> Iterator[Finding]:
    """Missing columns of the track."""
    if file.sheet is not None:
        missing = [name for name in file.layout.columns if name not in file.sheet.header]
        if missing:
            yield Finding(
                (),
                f"no column {', '.join(missing)}; found {quote(', '.join(file.sheet.header), 200)}",
            )


@rule("column_order", "error")
def column_order(file: File) -> Iterator[Finding]:
    """The track's columns in another order."""
    if file.sheet is not None:
        found = [name for name in dict.fromkeys(file.sheet.header) if name in file.layout.columns]
        expected = [name for name in file.layout.columns if name in found]
        if found != expected:
            yield Finding(
                (), f"columns in the order {', '.join(found)}, expected {', '.join(expected)}"
            )


@rule("duplicate_columns", "error")
def duplicate_columns(file: File) -> Iterator[Finding]:
    """Columns that occur more than once; the first is read."""
    if file.sheet is not None:
        header = file.sheet.header
        twice = [name for name in dict.fromkeys(header) if header.count(name) > 1]
        if twice:
            yield Finding(
                (),
                f"{list_names(twice)} occurs more than once in the header, expected each column"
                " once",
            )


@rule("other_track", "error")
def other_track(file: File) -> Iterator[Finding]:
    """Columns that only another track has."""
    if file.sheet is not None:
        ours = set(file.layout.columns)
        theirs = {
            name: layout.track
            for layout in LAYOUTS.values()
            for name in layout.columns
            if name not in ours
        }
        found = [name for name in dict.fromkeys(file.sheet.header) if name in theirs]
        if found:
            tracks = ", ".join(sorted({theirs[name] for name in found}))
            yield Finding(
                (),
                f"columns {', '.join(found)} belong to track {tracks}, expected those of track"
                f" {file.layout.track}",
            )


@rule("unexpected_columns", "warning")
def unexpected_columns(file: File) -> Iterator[Finding]:
    """Columns that no track has."""
    if file.sheet is not None:
        known = {name for layout in LAYOUTS.values() for name in layout.columns}
        odd = [
            name or "(without a name)"
            for name in dict.fromkeys(file.sheet.header)
            if name not in known
        ]
        if odd:
            yield Finding(
                (), f"columns {list_names(odd)}, expected only {', '.join(file.layout.columns)}"
            )
