"""An agent's events as a tree of steps."""

from __future__ import annotations

from typing import Any

from core.ui.debates.trace_tree import has_steps, split_into_steps


def event(kind: str, role: str = "AGENT", depth: int | None = None) -> dict[str, Any]:
    return {"kind": kind, "role": role, "content": "", "tokens": None, "meta": {} if depth is None else {"depth": depth}}


def shape(steps: list[Any]) -> list[Any]:
    return [shape(piece) if isinstance(piece, list) else piece["kind"] for piece in steps]


def test_a_thought_its_call_and_what_came_back_are_one_step() -> None:
    kinds = ["thought", "tool_call", "observation", "thought", "tool_call", "observation", "thought", "answer"]
    steps = split_into_steps([event(kind) for kind in kinds])
    assert shape(steps) == [
        ["thought", "tool_call", "observation"],
        ["thought", "tool_call", "observation"],
        ["thought"],
        ["answer"],
    ]


def test_what_happened_deeper_stands_within_the_step_that_asked() -> None:
    events = [
        event("thought", depth=0),
        event("tool_call", depth=0),
        event("question", depth=1),
        event("thought", depth=1),
        event("tool_call", depth=1),
        event("question", depth=2),
        event("answer", depth=2),
        event("observation", depth=1),
        event("answer", depth=1),
        event("observation", depth=0),
        event("answer", depth=0),
    ]
    steps = split_into_steps(events)
    assert shape(steps) == [
        [
            "thought",
            "tool_call",
            ["question", "thought", "tool_call", "question", "answer", "observation", "answer"],
            "observation",
        ],
        ["answer"],
    ]
    inner = steps[0][2]
    assert isinstance(inner, list)
    assert shape(split_into_steps(inner, 1)) == [
        ["question"],
        ["thought", "tool_call", ["question", "answer"], "observation"],
        ["answer"],
    ]


def test_what_files_leave_out_is_no_reason_to_fail() -> None:
    assert shape(split_into_steps([event("observation"), event("tool_call"), event("observation")])) == [
        ["observation"],
        ["tool_call", "observation"],
    ]
    assert shape(split_into_steps([event("answer", depth=3), event("thought", depth=3)])) == [["answer", ["thought"]]]
    assert split_into_steps([]) == []


def test_debates_are_no_steps() -> None:
    assert not has_steps([event("brief"), event("verdict")])
    assert has_steps([event("thought")])
