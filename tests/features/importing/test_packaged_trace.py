"""The trace format of our own packages: read strictly, so that what is only alike is kept as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.base.types import Flag, Prediction, RowResult, TraceEvent
from core.features.importing.traces import parse_trace, write_trace

ROW = RowResult(
    Prediction("Pa_Ga", 0.3, 0.1, 0.4, 0.75, "trace", (Flag.DE_FALLBACK,), 900, None, 0),
    (
        TraceEvent("de", "EFFECT", "brief", "It acts.", 0, 12.5, {"seed": 7}),
        TraceEvent("dir", "JUDGE", "verdict", ""),
    ),
)


def test_what_is_written_is_read() -> None:
    text = write_trace(ROW, "debate")
    assert "\n" not in text
    trace = parse_trace(text)
    assert (trace.format, trace.events) == ("packaged", ROW.events)
    assert trace.packaged.method == "debate"
    assert trace.packaged.prediction("Pa_Ga", 0.3, 0.1) == ROW.prediction


Change = Callable[[dict[str, Any]], None]


def change(**values: Any) -> Change:
    return lambda trace: trace.update(values)


def event(**values: Any) -> Change:
    return lambda trace: trace["events"][0].update(values)


@pytest.mark.parametrize(
    "spoil",
    [
        change(perturbdesk=2),
        change(perturbdesk=True),
        change(P_DE=1.5),
        change(P_DE=None),
        change(P_DE=True),
        change(P_up_given_DE="0.5"),
        change(p_source="guess"),
        change(p_source="none"),  # of readings, which are never packaged
        change(flags=["new_flag"]),
        change(flags=None),
        change(tokens=-1),
        change(tool_calls=1.5),
        change(prompt_tokens=2**31),
        change(method=None),
        change(events=None),
        change(events=["x"]),
        change(events=[{}] * (2**15)),
        change(more=1),
        lambda trace: trace.pop("method"),
        lambda trace: trace["events"][0].pop("content"),
        event(content=None),
        event(tokens="12"),
        event(latency_ms=True),
        event(latency_ms=float("nan")),
        event(meta=None),
        event(meta={"p": float("inf")}),
        event(findings=[]),
    ],
)
def test_what_is_only_alike_is_kept_as_text(spoil: Change) -> None:
    value = json.loads(write_trace(ROW, "debate"))
    spoil(value)
    text = json.dumps(value)
    trace = parse_trace(text)
    assert (trace.format, trace.events) == ("text", (TraceEvent("trace", "MODEL", "text", text),))
    assert (trace.p_de, trace.flags, trace.packaged) == (None, (), None)
