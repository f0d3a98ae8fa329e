"""Reasoning traces as published: one function per format, from text to events in the order they
happened.

debate       {"briefs": {"EFFECT": …, "NULL": …, "UP": …, "DOWN": …}, "rebuttals": {"EFFECT": […]},
             "de_verdict": …, "dir_verdict": …, "P_DE": 0.18, "P_up_given_DE": 0.69, "de_fallback":
             true, "tool_calls": 7}
react        {"thought_0": …, "tool_name_0": …, "tool_args_0": {…}, "observation_0": …, "thought_1":
             …}
coordinator  {"coordinator": {a react trace}, "sub_agents": [{"agent": …, "question": …,
             "trajectory": {a react trace}, "answer": …, "tokens": 512}]}
packaged     a trace of a package that was made here, see core.features.importing.traces
text         anything else, unchanged, as one event
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.base.errors import InputError
from core.base.row_schema import (
    MOST_EVENTS,
    TABLES,
    VERSION,
    is_finite_number,
    record_as_json,
    record_from_json,
)
from core.base.texts import parse_json, replace_surrogates
from core.base.types import Flag, Prediction, RowResult, TraceEvent

Format = Literal["none", "debate", "react", "coordinator", "packaged", "text"]
JsonObject = dict[str, Any]

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_STEP_KEY = re.compile(r"(thought|tool_name|tool_args|observation)_(0|[1-9][0-9]{0,5})")
_DEBATES = (
    ("de", ("EFFECT", "NULL"), "de_verdict", "P_DE", "de_fallback", Flag.DE_FALLBACK),
    ("dir", ("UP", "DOWN"), "dir_verdict", "P_up_given_DE", "dir_fallback", Flag.DIR_FALLBACK),
)


@dataclass(frozen=True, slots=True)
class Trace:
    """The contents of one trace: events in order, and the prediction that it states (None if it
    states none).

    packaged: the whole trace if it has the format of our own packages, else None.
    """

    format: Format
    events: tuple[TraceEvent, ...] = ()
    p_de: float | None = None
    p_up_given_de: float | None = None
    flags: tuple[Flag, ...] = ()
    tool_calls: int | None = None
    packaged: PackagedTrace | None = None


def parse_trace(text: str) -> Trace:
    """Return the events of a trace in any format; an empty one and `none` have no events, an
    unknown one a single event.

    All text in the result can be encoded as UTF-8: lone surrogates become U+FFFD, nothing else
    changes.
    """
    text = replace_surrogates(text)
    if text.strip() in ("", "none"):
        return Trace("none")
    try:
        value = _json_object(text)
        if (packaged := read_trace(value)) is not None:
            return Trace("packaged", packaged.events, packaged=packaged)
        if isinstance(value.get("briefs"), dict) or (
            "de_verdict" in value and "dir_verdict" in value
        ):
            return _debate(value)
        if "coordinator" in value and isinstance(value.get("sub_agents"), list):
            events = _agent(
                "coordinator", value.pop("coordinator"), value.pop("sub_agents"), depth=0
            )
            return Trace("coordinator", (*events, *_extra(value)))
        if any(map(_STEP_KEY.fullmatch, value)):
            return Trace("react", (*_steps(value, "react", "AGENT"), *_extra(value)))
    # nested deeper than Python allows: not a trace, but it must not stop an import
    except RecursionError:
        pass
    return Trace("text", (TraceEvent("trace", "MODEL", "text", text),))


def _json_object(text: str) -> JsonObject:
    """Return the JSON object in `text`, empty if there is none."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = parse_json(text)
        if "\\u" in text and _SURROGATE_ESCAPE.search(text):
            value = json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):  # RecursionError: of writing it again
        return {}
    return value if isinstance(value, dict) else {}


def _as_text(value: object) -> str:
    """Return text unchanged, "" for null, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _take_number(value: JsonObject, key: str) -> float | None:
    """Remove a finite number from the object and return it; anything else stays, among the extra
    keys."""
    number: Any = value.get(key)
    if is_finite_number(number):
        del value[key]
        return float(number)
    return None


def _take_count(value: JsonObject, key: str) -> int | None:
    number = value.get(key)
    if type(number) is int and 0 <= number < 2**31:
        del value[key]
        return number
    return None


def _take_objects(value: JsonObject, key: str) -> JsonObject:
    return value.pop(key) if isinstance(value.get(key), dict) else {}


def _extra(
    value: JsonObject, stage: str = "trace", role: str = "MODEL", **meta: Any
) -> Iterator[TraceEvent]:
    """Yield one event with the keys that no other event holds, so that an import loses nothing."""
    if value:
        yield TraceEvent(stage, role, "meta", _as_text(value), meta=meta)


# debate


def _debate(value: JsonObject) -> Trace:
    briefs, rebuttals = _take_objects(value, "briefs"), _take_objects(value, "rebuttals")
    events: list[TraceEvent] = []
    flags: list[Flag] = []
    probabilities: list[float | None] = []
    for stage, sides, verdict_key, p_key, fallback_key, flag in _DEBATES:
        events += [
            TraceEvent(stage, side, "brief", _as_text(briefs.pop(side)))
            for side in sides
            if side in briefs
        ]
        if rebuttals:
            events += _rebuttals(rebuttals, stage, sides)
        probabilities.append(p := _take_number(value, p_key))
        fallback = fallback_key in value and bool(value[fallback_key])
        if fallback:
            flags.append(flag)
        if p is not None or verdict_key in value:
            verdict = _as_text(value.pop(verdict_key, None))
            events.append(
                TraceEvent(stage, "JUDGE", "verdict", verdict, meta={"p": p, "fallback": fallback})
            )
        if fallback_key in value and type(value[fallback_key]) is bool:
            del value[fallback_key]
    tool_calls = _take_count(value, "tool_calls")
    left = {key: rest for key, rest in (("briefs", briefs), ("rebuttals", rebuttals)) if rest}
    events += _extra(value | left)
    return Trace(
        "debate", tuple(events), probabilities[0], probabilities[1], tuple(flags), tool_calls
    )


def _rebuttals(rebuttals: JsonObject, stage: str, sides: tuple[str, str]) -> list[TraceEvent]:
    """Return both sides' answers round by round; a side gives one text or a list of them."""
    rounds: list[tuple[int, str, Any]] = []
    for side in sides:
        texts = rebuttals.pop(side, [])
        rounds += [
            (turn, side, text)
            for turn, text in enumerate(texts if isinstance(texts, list) else [texts], 1)
        ]
    rounds.sort(key=lambda entry: entry[0])  # stable: within a round the first side speaks first
    return [
        TraceEvent(stage, side, "rebuttal", _as_text(text), meta={"round": turn})
        for turn, side, text in rounds
    ]


# react


def _steps(trajectory: JsonObject, stage: str, speaker: str, **meta: Any) -> list[TraceEvent]:
    """Return thought, tool call and observation of every step, as far as they exist; removes their
    keys from the trajectory."""
    steps: dict[int, JsonObject] = {}
    for key in list(trajectory):
        if match := _STEP_KEY.fullmatch(key):
            steps.setdefault(int(match[2]), {})[match[1]] = trajectory.pop(key)
    events: list[TraceEvent] = []
    for number, step in sorted(steps.items()):
        at = {**meta, "step": number}
        tool = _as_text(step.get("tool_name")) or "tool"
        if "thought" in step:
            events.append(TraceEvent(stage, speaker, "thought", _as_text(step["thought"]), meta=at))
        if "tool_name" in step or "tool_args" in step:
            events.append(
                TraceEvent(stage, tool, "tool_call", _as_text(step.get("tool_args")), meta=at)
            )
        if "observation" in step:
            events.append(
                TraceEvent(stage, tool, "observation", _as_text(step["observation"]), meta=at)
            )
    return events


# coordinator


def _agent(name: str, trajectory: Any, sub_agents: list[Any], depth: int) -> Iterator[TraceEvent]:
    """Yield an agent's steps, each sub-agent's between its call and its observation; sub-agents
    without a call come last."""
    meta = {"depth": depth, "agent": name}
    waiting = list(sub_agents)
    if isinstance(trajectory, dict):
        for event in _steps(trajectory, "coordinator", name, **meta):
            yield event
            called = [
                sub for sub in waiting if event.kind == "tool_call" and _name(sub) == event.role
            ]
            if called:
                waiting.remove(called[0])
                yield from _sub_agent(called[0], depth + 1)
        yield from _extra(trajectory, "coordinator", name, **meta)
    elif trajectory is not None:
        yield TraceEvent("coordinator", name, "text", _as_text(trajectory), meta=meta)
    for sub in waiting:
        yield from _sub_agent(sub, depth + 1)


def _name(sub_agent: Any) -> str:
    name = sub_agent.get("agent") if isinstance(sub_agent, dict) else None
    return name if isinstance(name, str) else "agent"


def _sub_agent(record: Any, depth: int) -> Iterator[TraceEvent]:
    name = _name(record)
    meta = {"depth": depth, "agent": name}
    if not isinstance(record, dict):
        yield TraceEvent("coordinator", name, "text", _as_text(record), meta=meta)
        return
    rest = dict(record)
    if rest.get("agent") == name:
        del rest["agent"]
    if "question" in rest:
        yield TraceEvent("coordinator", name, "question", _as_text(rest.pop("question")), meta=meta)
    deeper = rest.pop("sub_agents") if isinstance(rest.get("sub_agents"), list) else []
    yield from _agent(name, rest.pop("trajectory", None), deeper, depth)
    if "answer" in rest:
        tokens = _take_count(rest, "tokens")
        yield TraceEvent(
            "coordinator",
            name,
            "answer",
            _as_text(rest.pop("answer")),
            tokens=tokens or None,
            meta=meta,
        )
    yield from _extra(rest, "coordinator", name, **meta)


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
