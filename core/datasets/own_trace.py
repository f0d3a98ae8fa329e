"""The trace of a row that was packaged here: one JSON object that holds the row whole, so that importing it loses nothing.

{"perturbdesk": 1, "method": "debate", "P_DE": 0.18, "P_up_given_DE": 0.69, "p_source": "trace", "flags": [],
 "tokens": 7494, "prompt_tokens": 995, "tool_calls": 7,
 "events": [{"stage": "de", "role": "EFFECT", "kind": "brief", "content": …, "tokens": 800, "latency_ms": 912.5, "meta": {…}}]}

Of an event, tokens, latency_ms and meta are left out where they are None or empty. Evidence and calls are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.errors import InputError
from core.types import Flag, RowResult, TraceEvent

KEY, VERSION = "perturbdesk", 1
_SAID = ("method", "P_DE", "P_up_given_DE", "p_source", "flags", "tokens", "prompt_tokens", "tool_calls", "events")
_EVENT = ("stage", "role", "kind", "content")
_OPTIONAL = ("tokens", "latency_ms", "meta")
_MOST = 2**31 - 1  # of a count
_MOST_EVENTS = 2**15 - 1  # what the store counts within a row


@dataclass(frozen=True, slots=True)
class Own:
    """What such a trace says, all but the submitted numbers; see `Prediction` and `TraceEvent` for the fields."""

    method: str
    p_de: float
    p_up_given_de: float | None
    p_source: Literal["trace", "file"]
    flags: tuple[Flag, ...]
    tokens: int | None
    prompt_tokens: int | None
    tool_calls: int | None
    events: tuple[TraceEvent, ...]


def write_trace(row: RowResult, method: str) -> str:
    """A row as one line of JSON. Raises InputError for what JSON cannot hold, such as NaN among an event's facts."""
    told = row.prediction
    values = {
        KEY: VERSION,
        "method": method,
        "P_DE": told.p_de,
        "P_up_given_DE": told.p_up_given_de,
        "p_source": told.p_source,
        "flags": list(told.flags),
        "tokens": told.tokens,
        "prompt_tokens": told.prompt_tokens,
        "tool_calls": told.tool_calls,
        "events": [_as_mapping(event) for event in row.events],
    }
    try:
        return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
    except (ValueError, TypeError) as error:
        raise InputError(f"{told.pair_id}: its trace cannot be written down ({error}), expected plain data") from error


def read_trace(value: Mapping[str, Any]) -> Own | None:
    """What `write_trace` wrote; None for any other object, so that a trace that is only alike is kept as text."""
    version = value.get(KEY)
    if type(version) is not int or version != VERSION or set(value) != {KEY, *_SAID}:
        return None
    try:
        flags = tuple(map(Flag, value["flags"]))
        events = tuple(map(_event, value["events"]))
    except (ValueError, TypeError, KeyError):
        return None
    p_de, p_up, source = value["P_DE"], value["P_up_given_DE"], value["p_source"]
    counts = [value[name] for name in ("tokens", "prompt_tokens", "tool_calls")]
    sound = (
        isinstance(value["method"], str)
        and _is_share(p_de)
        and (p_up is None or _is_share(p_up))
        and source in ("trace", "file")
        and all(map(_is_count, counts))
        and len(events) <= _MOST_EVENTS
    )
    if not sound:
        return None
    p_up = None if p_up is None else float(p_up)
    return Own(value["method"], float(p_de), p_up, source, flags, counts[0], counts[1], counts[2], events)


def _as_mapping(event: TraceEvent) -> dict[str, Any]:
    said = event._asdict() | {"meta": dict(event.meta)}
    return {name: found for name, found in said.items() if name in _EVENT or found not in (None, {})}


def _event(value: Mapping[str, Any]) -> TraceEvent:
    """Raises ValueError, TypeError or KeyError for what is no event."""
    if not isinstance(value, dict) or not set(value) <= {*_EVENT, *_OPTIONAL}:
        raise ValueError("no event")
    stage, role, kind, content = (value[name] for name in _EVENT)
    tokens, latency_ms, meta = value.get("tokens"), value.get("latency_ms"), value.get("meta", {})
    if not (all(isinstance(word, str) for word in (stage, role, kind, content)) and _is_count(tokens) and isinstance(meta, dict)):
        raise ValueError("no event")
    json.dumps([latency_ms, meta], allow_nan=False)  # a ValueError for what no other program could read
    if type(latency_ms) not in (int, float, type(None)):
        raise ValueError("no event")
    return TraceEvent(stage, role, kind, content, tokens, latency_ms, meta)


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # a bool is no share


def _is_count(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value <= _MOST)
