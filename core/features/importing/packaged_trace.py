"""The trace of a row that was packaged here: one JSON object with the whole row except its evidence
and calls.

{"perturbdesk": 1, "method": "debate", "P_DE": 0.18, "P_up_given_DE": 0.69, "p_source": "trace",
"flags": [],
 "tokens": 7494, "prompt_tokens": 995, "tool_calls": 7,
 "events": [{"stage": "de", "role": "EFFECT", "kind": "brief", "content": …, "tokens": 800,
 "latency_ms": 912.5, "meta": {…}}]}

The fields are those of `Prediction`, without the three that a submission has columns for, and of
`TraceEvent`; an event leaves out tokens, latency_ms and meta if they are None or empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.base.errors import InputError
from core.base.row_schema import MOST_EVENTS, TABLES, VERSION, record_as_json, record_from_json
from core.base.types import Prediction, RowResult, TraceEvent

KEY = "perturbdesk"
# as in the traces that others publish
_SPELLING = {"p_de": "P_DE", "p_up_given_de": "P_up_given_DE"}
_SUBMITTED = ("pair_id", "prediction_up", "prediction_down")
_STATED = {
    _SPELLING.get(column.name, column.name): column
    for column in TABLES["prediction"].columns_of(Prediction, without=_SUBMITTED)
}
_EVENT = {column.name: column for column in TABLES["trace_event"].columns_of(TraceEvent)}
_REQUIRED = {column.name for column in _EVENT.values() if column.kind == "text"}


@dataclass(frozen=True, slots=True)
class PackagedTrace:
    """The contents of a packaged trace. stated: the fields of `Prediction` that it has."""

    method: str
    stated: Mapping[str, Any]
    events: tuple[TraceEvent, ...]

    def prediction(self, pair_id: str, up: float, down: float) -> Prediction:
        """Return the row's prediction with these submitted numbers."""
        return record_from_json(
            Prediction,
            {"pair_id": pair_id, "prediction_up": up, "prediction_down": down, **self.stated},
        )


def write_trace(row: RowResult, method: str) -> str:
    """Return a row as one line of JSON. Raise InputError for what JSON cannot hold, such as NaN in
    an event's meta."""
    prediction = record_as_json(row.prediction)
    values = {
        KEY: VERSION,
        "method": method,
        **{key: prediction[column.name] for key, column in _STATED.items()},
        "events": [_write_event(event) for event in row.events],
    }
    try:
        return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{row.prediction.pair_id}: its trace cannot be written down ({error}), expected plain"
            " data"
        ) from error


def read_trace(value: Mapping[str, Any]) -> PackagedTrace | None:
    """Return the trace that `write_trace` wrote; None for any other object, which is then imported
    as text."""
    version = value.get(KEY)
    if (
        type(version) is not int
        or version != VERSION
        or set(value) != {KEY, "method", *_STATED, "events"}
    ):
        return None
    if not (
        isinstance(value["method"], str)
        and all(column.allows(value[key]) for key, column in _STATED.items())
    ):
        return None
    if value["p_source"] == "none":  # a reading is no submission
        return None
    stated = {
        column.name: _as_float(value[key]) if column.kind == "share" else value[key]
        for key, column in _STATED.items()
    }
    try:
        trace = PackagedTrace(value["method"], stated, tuple(map(_read_event, value["events"])))
        trace.prediction("", 0.0, 0.0)  # raises ValueError for a flag of a later version
    except (ValueError, TypeError):
        return None
    return trace if len(trace.events) <= MOST_EVENTS else None


def _as_float(share: float | None) -> float | None:
    return None if share is None else float(share)


def _write_event(event: TraceEvent) -> dict[str, Any]:
    values = record_as_json(event)
    return {
        name: value
        for name, value in values.items()
        if name in _REQUIRED or value not in (None, {})
    }


def _read_event(value: object) -> TraceEvent:
    """Raise ValueError if the value is not an event."""
    if not isinstance(value, dict) or not _REQUIRED <= set(value) <= set(_EVENT):
        raise ValueError("not an event")
    if not all(_EVENT[name].allows(field) for name, field in value.items()):
        raise ValueError("not an event")
    return TraceEvent(**value)
