"""Finished rows and failures as lines of JSON, and back, every field the same."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.errors import InputError
from core.types import Call, Evidence, Failed, Flag, Prediction, RowResult, TraceEvent

VERSION = 1
_MOST_EVENTS = 2**15 - 1  # what the store counts within a row
_MOST_TOKENS = 2**31 - 1  # what the store counts in a row
_SLACK = 1e-9  # by which two probabilities may sum to more than 1


@dataclass(frozen=True, slots=True)
class RetryMark:
    """Failures that do not count any more: these rows are missing until a later line has them."""

    pair_ids: tuple[str, ...]


Entry = RowResult | Failed | RetryMark


def pair_id_of(row: RowResult | Failed) -> str:
    """Which row it is."""
    return row.pair_id if isinstance(row, Failed) else row.prediction.pair_id


def calls_tokens(calls: tuple[Call, ...], *, spent: bool) -> int:
    """Prompt and completion tokens of calls; `spent`: without those that the cache answered."""
    return sum(call.prompt_tokens + call.completion_tokens for call in calls if not (spent and call.cached))


def encode_entry(entry: Entry, scrub: Callable[[str], str] = str) -> bytes:
    """One line of a journal, its text passed through `scrub`.

    Raises InputError for what a journal cannot hold: a number that is not finite or out of its range, half a surrogate pair,
    a value that is no JSON.
    """
    if not isinstance(entry, RetryMark):
        _check(entry)
    try:
        text = json.dumps(
            {"v": VERSION, **_WRITERS[type(entry)](entry)}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        return f"{scrub(text)}\n".encode()
    except (ValueError, TypeError) as error:  # also UnicodeEncodeError
        where = "rows to ask again" if isinstance(entry, RetryMark) else f"row {pair_id_of(entry)!r}"
        raise InputError(f"{where}: cannot be written down ({error}), expected plain data of finite numbers") from error


def decode_entry(line: bytes) -> Entry:
    """The entry of a line. Raises InputError for what is none, or of another version."""
    try:
        values = json.loads(line)
        if values["v"] != VERSION:
            raise InputError(f"journal: a line of version {values['v']}, expected {VERSION}; update PerturbDesk to read it")
        kind = next(name for name in _READERS if name in values)
        return _READERS[kind](values[kind])
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise InputError(f"journal: a line that cannot be read ({line[:60]!r}…: {error}), expected a row") from error


def _check(row: RowResult | Failed) -> None:
    if isinstance(row, RowResult):
        p = row.prediction
        for name in ("prediction_up", "prediction_down", "p_de", "p_up_given_de"):
            value = getattr(p, name)
            if not (value is None and name == "p_up_given_de") and not (math.isfinite(value) and 0 <= value <= 1):
                raise InputError(f"row {p.pair_id!r}: {name} is {value}, expected 0 to 1")
        if p.prediction_up + p.prediction_down > 1 + _SLACK:
            raise InputError(f"row {p.pair_id!r}: up and down sum to {p.prediction_up + p.prediction_down:g}, expected at most 1")
        if len(row.events) > _MOST_EVENTS:
            raise InputError(f"row {p.pair_id!r}: {len(row.events):,} events, expected at most {_MOST_EVENTS:,}")
    counted = [row.prediction.tokens, row.prediction.prompt_tokens] if isinstance(row, RowResult) else []
    for tokens in (*counted, calls_tokens(row.calls, spent=False)):
        if tokens is not None and not 0 <= tokens <= _MOST_TOKENS:
            raise InputError(f"row {pair_id_of(row)!r}: {tokens:,} tokens, expected 0 to {_MOST_TOKENS:,}")


def _write_row(row: RowResult) -> dict[str, Any]:
    return {
        "row": {
            "prediction": _as_mapping(row.prediction),
            "events": [[*event[:-1], dict(event.meta)] for event in row.events],
            "evidence": [_write_evidence(item) for item in row.evidence],
            "calls": [_as_mapping(call) for call in row.calls],
        }
    }


def _write_failed(row: Failed) -> dict[str, Any]:
    calls = [_as_mapping(call) for call in row.calls]
    return {"failed": {"pair_id": row.pair_id, "kind": row.kind, "message": row.message, "calls": calls}}


def _write_again(entry: RetryMark) -> dict[str, Any]:
    return {"again": list(entry.pair_ids)}


def _as_mapping(record: Prediction | Call) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _write_evidence(item: Evidence) -> dict[str, Any]:
    return {
        "tool": item.tool,
        "key": item.key,
        "status": item.status,
        "source": item.source,
        "retrieved_at": item.retrieved_at and item.retrieved_at.isoformat(),
        "body": dict(item.body),
        "view": item.view,
    }


def _read_row(values: Mapping[str, Any]) -> RowResult:
    flags = tuple(map(Flag, values["prediction"]["flags"]))
    evidence = (
        Evidence(**{**item, "retrieved_at": item["retrieved_at"] and datetime.fromisoformat(item["retrieved_at"])})
        for item in values["evidence"]
    )
    return RowResult(
        Prediction(**{**values["prediction"], "flags": flags}),
        tuple(TraceEvent(*event) for event in values["events"]),
        tuple(evidence),
        tuple(Call(**call) for call in values["calls"]),
    )


def _read_failed(values: Mapping[str, Any]) -> Failed:
    return Failed(**{**values, "calls": tuple(Call(**call) for call in values["calls"])})


def _read_again(values: list[str]) -> RetryMark:
    return RetryMark(tuple(values))


_WRITERS: Mapping[type, Callable[[Any], dict[str, Any]]] = {RowResult: _write_row, Failed: _write_failed, RetryMark: _write_again}
_READERS: Mapping[str, Callable[[Any], Entry]] = {"row": _read_row, "failed": _read_failed, "again": _read_again}
