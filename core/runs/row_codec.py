"""Encode finished rows and failures as lines of a journal, and decode them without loss."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jiter

from core.base.errors import InputError
from core.base.row_schema import (
    MOST_EVENTS,
    MOST_TOKENS,
    SUM_TOLERANCE,
    TABLES,
    VERSION,
    record_as_json,
    record_from_json,
    record_values,
)
from core.base.texts import parse_json
from core.base.types import (
    Call,
    Evidence,
    Failed,
    FinishedRow,
    JsonObject,
    Prediction,
    RowResult,
    TraceEvent,
)

_NUMBERS = [
    column
    for column in TABLES["prediction"].columns_of(Prediction)
    if column.kind in ("share", "count")
]


@dataclass(frozen=True, slots=True)
class RetryMark:
    """Failed rows that are to be asked again: they count as missing until a later line has them."""

    pair_ids: tuple[str, ...]


Entry = FinishedRow | RetryMark


def pair_id_of(row: FinishedRow) -> str:
    """Return the pair id of a finished or failed row."""
    return row.pair_id if isinstance(row, Failed) else row.prediction.pair_id


def calls_tokens(calls: tuple[Call, ...], *, spent: bool) -> int:
    """Return prompt and completion tokens of calls; `spent`: without cached answers."""
    return sum(
        call.prompt_tokens + call.completion_tokens for call in calls if not (spent and call.cached)
    )


def encode_entry(entry: Entry, scrub: Callable[[str], str] = str) -> bytes:
    """Return one line of a journal, its text passed through `scrub`.

    Raise InputError for a number that is not finite or not in its range, a lone surrogate, and a
    value that is not JSON.
    """
    if not isinstance(entry, RetryMark):
        _check(entry)
    try:
        text = json.dumps(
            {"v": VERSION, **_as_json(entry)},
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
        return f"{scrub(text)}\n".encode()
    except (ValueError, TypeError, RecursionError) as error:  # also UnicodeEncodeError
        where = (
            "rows to ask again" if isinstance(entry, RetryMark) else f"row {pair_id_of(entry)!r}"
        )
        raise InputError(
            f"{where}: cannot be written down ({error}), expected plain data of finite numbers"
        ) from error


def decode_entry(line: bytes) -> Entry:
    """Return the entry of a line. Raise InputError if it is not an entry, or of another version."""
    try:
        values = _parse(line)
        if values["v"] != VERSION:
            raise InputError(
                f"journal: a line of version {values['v']}, expected {VERSION}; update PerturbDesk"
                " to read it"
            )
        if "again" in values:
            return RetryMark(tuple(values["again"]))
        content = values["failed"] if "failed" in values else values["row"]
        calls = tuple(record_from_json(Call, call) for call in content["calls"])
        if "failed" in values:
            return Failed(**{**content, "calls": calls})
        return RowResult(
            record_from_json(Prediction, content["prediction"]),
            tuple(TraceEvent(*event) for event in content["events"]),
            tuple(record_from_json(Evidence, item) for item in content["evidence"]),
            calls,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"journal: a line that cannot be read ({line[:60]!r}…: {error}), expected a row"
        ) from error


def _parse(line: bytes) -> Any:
    """Return the value of a line of JSON, three times as fast as Python's json.

    That reads what the fast reader cannot: nesting deeper than 200, and errors, for their message.
    Raise ValueError.
    """
    try:
        return jiter.from_json(line, cache_mode="keys")
    except ValueError:
        return parse_json(line)


def _check(row: FinishedRow) -> None:
    """Raise InputError for numbers outside the range of the store's columns."""
    if isinstance(row, RowResult):
        is_reading = row.prediction.p_source == "none"
        for column in _NUMBERS:
            value = getattr(row.prediction, column.name)
            if is_reading and column.kind == "share":
                if value is not None:
                    raise InputError(
                        f"row {row.prediction.pair_id!r}: {column.name} is {value}, expected none"
                        " in a row of a reading"
                    )
                continue
            if not (column.missing == "allowed" if value is None else 0 <= value <= column.largest):
                found = (
                    f"{column.name} is {value}"
                    if column.kind == "share"
                    else f"{value:,} {column.name.replace('_', ' ')}"
                )
                raise InputError(
                    f"row {row.prediction.pair_id!r}: {found}, expected 0 to {column.largest:,}"
                )
        total = 0.0 if is_reading else row.prediction.prediction_up + row.prediction.prediction_down
        if total > 1 + SUM_TOLERANCE:
            raise InputError(
                f"row {row.prediction.pair_id!r}: up and down sum to {total:g}, expected at most 1"
            )
        if len(row.events) > MOST_EVENTS:
            raise InputError(
                f"row {pair_id_of(row)!r}: {len(row.events):,} events, expected at most"
                f" {MOST_EVENTS:,}"
            )
    tokens = calls_tokens(row.calls, spent=False)
    if not 0 <= tokens <= MOST_TOKENS:
        raise InputError(
            f"row {pair_id_of(row)!r}: calls of {tokens:,} tokens, expected 0 to {MOST_TOKENS:,}"
        )


def _as_json(entry: Entry) -> JsonObject:
    if isinstance(entry, RetryMark):
        return {"again": list(entry.pair_ids)}
    calls = [record_as_json(call) for call in entry.calls]
    if isinstance(entry, Failed):
        return {
            "failed": {
                "pair_id": entry.pair_id,
                "kind": entry.kind,
                "message": entry.message,
                "calls": calls,
            }
        }
    return {
        "row": {
            "prediction": record_as_json(entry.prediction),
            "events": [record_values(event) for event in entry.events],
            "evidence": [record_as_json(item) for item in entry.evidence],
            "calls": calls,
        }
    }
