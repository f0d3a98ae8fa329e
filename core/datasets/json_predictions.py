"""Predictions in JSON: a list of objects, or one object per line, each with an id and its numbers; and what other JSON is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.datasets.archives import Content, open_content
from core.datasets.inspect_samples import as_object, numbers_in
from core.datasets.submissions import SubmissionTable, TakeRow, is_uniform, split_sum
from core.datasets.tables import quote
from core.errors import InputError, UnknownFormat
from core.row_schema import FILE_SUM_TOLERANCE
from core.texts import parse_json, replace_surrogates
from core.types import Flag, Prediction, Rejected, RowResult

_MOST_BYTES = 1 << 28
_IDS = ("id", "pair_id")
_EXPECTED = "prediction_up and prediction_down, or p_de and p_up_given_de"
# Keys that tell what a JSON file is that nobody reads here, and what helps.
_KNOWN: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "an export of Langfuse": (("traceId",), ("observations", "projectId"), ("latency", "observations")),
    "traces of OpenTelemetry": (("resourceSpans",), ("scopeSpans",), ("trace_id", "span_id"), ("traceId", "spanId")),
    "the output of a batch of completions": (("custom_id", "response"),),
    "examples for fine-tuning": (("messages",), ("prompt", "completion")),
    "prompts": (("id", "prompt"), ("pair_id", "prompt")),
}


def objects_in(content: Content) -> list[Any] | None:
    """Return the objects of a list or of lines in JSON; None for a file that is one object, or no JSON.

    Raise InputError for a file that is too large.
    """
    data = open_content(content).read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise InputError(f"JSON of more than {_MOST_BYTES:,} bytes, expected less; save it as CSV")
    text = data.decode("utf-8-sig", "replace")
    try:
        value = parse_json(text)
    except ValueError:
        return _lines_in(text)
    return value if isinstance(value, list) else None


def _lines_in(text: str) -> list[Any] | None:
    found = []
    for line in filter(str.strip, text.splitlines()):
        try:
            found.append(parse_json(line))
        except ValueError:
            if not found:
                return None
            found.append(None)
    return found if len(found) > 1 else None


def are_predictions(objects: list[Any]) -> bool:
    """Return whether objects are predictions: the first has an id and numbers."""
    first = as_object(objects[0]) if objects else {}
    return any(name in first for name in _IDS) and numbers_in(first) is not None


def refuse_known(content: Content, objects: list[Any] | None, name: str) -> None:
    """Raise UnknownFormat with the kind of a JSON file, if it is known but not imported."""
    first = as_object(objects[0]) if objects else {}
    if objects is None:
        try:
            first = as_object(parse_json(open_content(content).read(_MOST_BYTES)))
        except ValueError:
            first = {}
    for what, keys in _KNOWN.items():
        if any(set(each) <= set(first) for each in keys):
            raise UnknownFormat(f"{name}: {what}, which is not imported; expected rows with an id, and {_EXPECTED}")


def read_json_predictions(objects: list[Any], name: str, sha256: str, take: TakeRow | None = None) -> SubmissionTable:
    """Return the rows of objects; line: their number, from 1. take: as in `core.datasets.submissions.read_submission`."""
    rows: list[RowResult] = []
    take = take or rows.append
    lines: dict[str, int] = {}
    rejected: list[Rejected] = []
    for line, row in _read_rows(objects, name, lines):
        if isinstance(row, Rejected):
            rejected.append(row)
        else:
            take(row)
            lines[row.prediction.pair_id] = line
    return SubmissionTable(
        *("submission", "C", "unknown", "", tuple(rows)), lines=tuple(lines.values()), rejected=tuple(rejected), sha256=sha256
    )


def _read_rows(objects: list[Any], name: str, lines: Mapping[str, int]) -> Iterator[tuple[int, RowResult | Rejected]]:
    for line, each in enumerate(objects, 1):
        value = as_object(each)
        pair_id = replace_surrogates(str(next((value[key] for key in _IDS if key in value), "")))
        if not pair_id.strip():
            yield line, Rejected(name, line, "empty cell", "no id")
        elif pair_id in lines:
            yield line, Rejected(name, line, "duplicate", f"{quote(pair_id)} is in line {lines[pair_id]} already")
        else:
            yield line, _row(pair_id, value, name, line)


def _row(pair_id: str, value: Mapping[str, Any], name: str, line: int) -> RowResult | Rejected:
    numbers = numbers_in(value)
    if numbers is None or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers):
        return Rejected(name, line, "not a number", f"{quote(pair_id)} has no numbers, expected {_EXPECTED}")
    up, down = map(float, numbers)
    if not (0 <= up <= 1 and 0 <= down <= 1 and up + down <= 1 + FILE_SUM_TOLERANCE):
        return Rejected(name, line, "out of range", f"{quote(pair_id)}: {up:g} and {down:g}, expected probabilities")
    flags = (Flag.UNIFORM,) if is_uniform(up, down) else ()
    return RowResult(Prediction(pair_id, up, down, *split_sum(up, down), "file", flags), ())
