"""The columns of a run's rows, each named and typed once: the journal, the trace in a package, the
parts of a bundle and the tables of the store take them from here.

A row is a prediction or a failure, the events of its trace, the evidence that it saw, and the calls
behind it. A new column needs a line here, a field of its record in `core.base.types`, a column in
core/store/schema.sql, and a new VERSION.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from core.base.types import (
    Call,
    Evidence,
    EvidenceStatus,
    Flag,
    JsonObject,
    Prediction,
    ProbabilitySource,
    TraceEvent,
)

# of the columns: stands in every line of a journal, every packaged trace and every bundle
VERSION = 1

# words: identifiers, such as flags. json: an object, which a record holds as a mapping, or, "json
# text", as text. share, index, count, total: from 0 to LARGEST, all but the first whole. number:
# finite. time: in UTC, without a zone.
Kind = Literal[
    "text",
    "words",
    "json",
    "json text",
    "share",
    "number",
    "index",
    "count",
    "total",
    "bool",
    "time",
]
ARROW_TYPES: Mapping[Kind, str] = {  # of words: joined by blanks; the store alone has lists of them
    **dict.fromkeys(("text", "words", "json", "json text"), "string"),
    **dict.fromkeys(("share", "number"), "double"),
    "index": "int16",
    "count": "int32",
    "total": "int64",
    "bool": "bool",
    "time": "timestamp[us]",
}
LARGEST: Mapping[Kind, int] = {
    "share": 1,
    "index": 2**15 - 1,
    "count": 2**31 - 1,
    "total": 2**63 - 1,
}
MOST_EVENTS = LARGEST["index"]  # of one row
MOST_TOKENS = LARGEST["count"]  # of one row
SUM_TOLERANCE = 1e-9  # by which computed prediction_up and prediction_down may sum to more than 1
FILE_SUM_TOLERANCE = 1e-6  # the same in files, which round to six decimals


@dataclass(frozen=True, slots=True)
class Column:
    """One column. missing: which rows may lack a value; "in failures": those that failed, and those
    of a reading, and they lack it always.

    choices: the only values, of a text. of_pair: a column of the store's table of pairs, which the
    store's other tables lack.
    """

    name: str
    kind: Kind = "text"
    missing: Literal["never", "in failures", "allowed"] = "never"
    choices: tuple[str, ...] = ()
    of_pair: bool = False

    @property
    def largest(self) -> int:
        """The largest number that may stand in this column, which holds none below 0."""
        return LARGEST[self.kind]

    def allows(self, value: object) -> bool:
        """Return whether a value of JSON may stand in this column of a row that did not fail; for
        the kinds that traces hold."""
        return self.missing == "allowed" if value is None else _CHECKS[self.kind](self, value)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table. key: the columns that tell rows of a run apart; order: those that order them, if
    these are others.

    shared: a row is stored once for all runs that refer to its id. not_sent: further columns of the
    store (text, may be missing) that no bundle has: a note on a figure travels as a note on the
    run.
    """

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    order: tuple[str, ...] = ()
    shared: bool = False
    not_sent: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def columns_of(self, record: type, *, without: Iterable[str] = ()) -> tuple[Column, ...]:
        """Return the columns that are fields of a record of `core.base.types`, in the order of the
        table."""
        chosen = set(field_names(record)) - set(without)
        return tuple(column for column in self.columns if column.name in chosen)


def field_names(record: type) -> tuple[str, ...]:
    """Return the fields of a dataclass or named tuple, in its own order."""
    if is_dataclass(record):
        return tuple(field.name for field in fields(record))
    names: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return names


TABLES: Mapping[str, TableSchema] = {
    "prediction": TableSchema(
        (
            Column("pair_id"),
            Column("pert", of_pair=True),
            Column("gene", of_pair=True),
            Column("prediction_up", "share", "in failures"),
            Column("prediction_down", "share", "in failures"),
            Column("p_de", "share", "in failures"),
            Column("p_up_given_de", "share", "allowed"),
            Column("p_source", "text", "in failures", choices=get_args(ProbabilitySource)),
            Column("flags", "words"),
            Column("error", "text", "allowed"),  # of failures alone
            Column("tokens", "count", "allowed"),
            Column("prompt_tokens", "count", "allowed"),
            Column("tool_calls", "count", "allowed"),
        ),
        key=("pair_id",),
    ),
    "trace_event": TableSchema(
        (
            Column("pair_id"),
            Column("seq", "index"),
            Column("stage"),
            Column("role"),
            Column("kind"),
            Column("content"),
            Column("tokens", "count", "allowed"),
            Column("latency_ms", "number", "allowed"),
            Column("findings", "words"),  # of the audit
            Column("meta", "json"),
        ),
        key=("pair_id", "seq"),
    ),
    "evidence": TableSchema(
        (
            Column("id"),
            Column("tool"),
            Column("key"),
            Column("view"),
            Column("retrieved_at", "time", "allowed"),
            Column("source"),
            Column("status", choices=get_args(EvidenceStatus)),
            Column("body", "json"),
        ),
        key=("id",),
        shared=True,
    ),
    "row_evidence": TableSchema(
        (Column("pair_id"), Column("seq", "index"), Column("evidence")), key=("pair_id", "seq")
    ),
    "call": TableSchema(
        (Column("id"), Column("key"), Column("request", "json text"), Column("reply")),
        key=("id",),
        shared=True,
    ),
    "row_call": TableSchema(
        (
            Column("pair_id"),
            Column("seq", "index"),
            Column("call"),
            Column("stage"),
            Column("role"),
            Column("cached", "bool"),
            Column("attempts", "count"),
            Column("latency_ms", "number"),
            Column("prompt_tokens", "total"),
            Column("completion_tokens", "total"),
            Column("reasoning_tokens", "total"),
            Column("error"),
        ),
        key=("pair_id", "seq"),
    ),
    "note": TableSchema(
        (
            Column("id"),
            Column("pair_id", "text", "allowed"),
            Column("author"),
            Column("written_at", "time"),
            Column("text"),
        ),
        key=("id",),
        order=("written_at", "id"),
        not_sent=("figure", "address"),
    ),
}
# what a run's rows consist of
ROW_TABLES = tuple(name for name, table in TABLES.items() if "pair_id" in table.key)
RECORDS: Mapping[type, tuple[str, ...]] = {  # the tables whose columns a record's fields are
    Prediction: ("prediction",),
    TraceEvent: ("trace_event",),
    Evidence: ("evidence",),
    Call: ("call", "row_call"),
}


def _is_json_object(_: Column, value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return isinstance(value, dict)


def _is_whole(column: Column, value: Any) -> bool:
    return type(value) is int and 0 <= value <= column.largest  # a bool is not a count


def is_finite_number(value: Any) -> bool:
    """Return whether a value from JSON is a number that a float can hold; a bool, NaN and infinity
    are not."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


_CHECKS: Mapping[Kind, Callable[[Column, Any], bool]] = {
    "text": lambda column, value: (
        isinstance(value, str) and (not column.choices or value in column.choices)
    ),
    "words": lambda _, value: (
        isinstance(value, list) and all(isinstance(word, str) for word in value)
    ),
    "json": _is_json_object,
    "share": lambda column, value: is_finite_number(value) and 0 <= value <= column.largest,
    "number": lambda _, value: is_finite_number(value),
    "count": _is_whole,
}
_TO_JSON: Mapping[Kind, Callable[[Any], Any]] = {
    "json": dict,
    "time": lambda time: None if time is None else time.isoformat(),
}
_FROM_JSON: Mapping[Kind, Callable[[Any], Any]] = {
    "words": lambda words: tuple(map(Flag, words)),
    "time": lambda text: None if text is None else datetime.fromisoformat(text),
}


class _Layout(NamedTuple):
    """The fields of a record. writers, readers: of those that JSON holds otherwise."""

    values: Callable[[Any], tuple[Any, ...]]
    writers: Sequence[tuple[int, Callable[[Any], Any]]]
    readers: Mapping[str, Callable[[Any], Any]]


@cache
def _layout_of(record: Any) -> _Layout:
    columns = {c.name: c for table in RECORDS[record] for c in TABLES[table].columns}
    names = field_names(record)
    kinds = [columns[name].kind for name in names]
    writers = [(i, _TO_JSON[kind]) for i, kind in enumerate(kinds) if kind in _TO_JSON]
    readers = {n: _FROM_JSON[k] for n, k in zip(names, kinds, strict=True) if k in _FROM_JSON}
    return _Layout(attrgetter(*names), writers, readers)


R = TypeVar("R", Prediction, TraceEvent, Evidence, Call)


def record_values(record: Prediction | TraceEvent | Evidence | Call) -> list[Any]:
    """Return a record's values as JSON can hold them, in the order of its fields."""
    kind: Any = type(record)
    layout = _layout_of(kind)
    values = list(layout.values(record))
    for position, write in layout.writers:
        values[position] = write(values[position])
    return values


def record_as_json(record: Prediction | TraceEvent | Evidence | Call) -> JsonObject:
    """Return field → value that JSON can hold, in the order of the record's fields."""
    return dict(zip(field_names(type(record)), record_values(record), strict=True))


def record_from_json(record: type[R], values: Mapping[str, Any]) -> R:
    """Return the record of `record_as_json`. Raise KeyError, TypeError or ValueError for other
    values."""
    kind: Any = record
    readers = _layout_of(kind).readers
    return record(**{**values, **{name: read(values[name]) for name, read in readers.items()}})


def utc_of(local: datetime) -> datetime:
    """Return a local time, without a zone, in UTC, without a zone either."""
    return local.astimezone(UTC).replace(tzinfo=None)


def local_of(utc: datetime) -> datetime:
    """Return a time in UTC, without a zone or with any, as local time without a zone."""
    aware = utc if utc.tzinfo is not None else utc.replace(tzinfo=UTC)
    return aware.astimezone().replace(tzinfo=None)
