"""An agent's events as a tree of steps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.features.importing.traces import parse_trace
from core.features.reading.rows.trace import content, has_steps, split_into_steps


def event(kind: str, role: str = "AGENT", depth: int | None = None) -> dict[str, Any]:
    return {
        "kind": kind,
        "role": role,
        "content": "",
        "tokens": None,
        "meta": {} if depth is None else {"depth": depth},
    }


def events_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**event._asdict(), "meta": dict(event.meta)}
        for event in parse_trace(json.dumps(trace)).events
    ]


def react(*steps: tuple[str, str, dict[str, Any], str]) -> list[dict[str, Any]]:
    """The events of a published ReAct trace: thought, tool, arguments and observation of each step."""
    names = ("thought", "tool_name", "tool_args", "observation")
    return events_of(
        {
            f"{name}_{i}": value
            for i, step in enumerate(steps)
            for name, value in zip(names, step, strict=True)
        }
    )


def shape(steps: list[Any]) -> list[Any]:
    return [shape(piece) if isinstance(piece, list) else piece["kind"] for piece in steps]


def test_a_thought_its_call_and_what_came_back_are_one_step() -> None:
    kinds = [
        "thought",
        "tool_call",
        "observation",
        "thought",
        "tool_call",
        "observation",
        "thought",
        "answer",
    ]
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
    assert shape(
        split_into_steps([event("observation"), event("tool_call"), event("observation")])
    ) == [
        ["observation"],
        ["tool_call", "observation"],
    ]
    assert shape(split_into_steps([event("answer", depth=3), event("thought", depth=3)])) == [
        ["answer", ["thought"]]
    ]
    assert split_into_steps([]) == []


def test_debates_are_no_steps() -> None:
    assert not has_steps([event("brief"), event("verdict")])
    assert has_steps([event("thought")])


def test_the_answer_is_on_top_and_steps_are_folded_but_for_what_failed_and_where_the_answer_turned() -> (
    None
):
    drawn = content(
        react(
            ("I lean to answer C.", "gene_info", {"gene": "Stat1"}, "Gene: Stat1"),
            (
                "More.",
                "protein_interactions",
                {"gene": "Stat1", "limit": 10},
                "Error querying STRING DB: HTTP Error 504",
            ),
            ("It is induced, so answer A.", "gene_info", {"gene": "Gbp2"}, '{"name": "Gbp2"}'),
            (
                "Done.",
                "submit_answer",
                {"answer": "A", "reasoning": "Stat1 induces Gbp2."},
                "Answer recorded: A",
            ),
        ),
        tokens=410,
    )
    assert drawn["answer"] == {"title": "A", "text": "Stat1 induces Gbp2.", "passages": []}
    assert drawn["sums"] == "4 steps · 3 tools · 1 failed · 410 tokens"
    assert drawn["tools"] == [("gene_info", 2), ("protein_interactions", 1), ("submit_answer", 1)]
    assert [step["tool"] + f"({step['arguments']})" for step in drawn["steps"][:2]] == [
        "gene_info(Stat1)",
        "protein_interactions(Stat1, 10)",
    ]
    assert [step["open"] for step in drawn["steps"]] == [False, True, True, False]
    assert (drawn["steps"][1]["error"], drawn["steps"][2]["turn"]) == (
        "Error querying STRING DB: HTTP Error 504",
        "A named, before it C",
    )
    thought, call, answered = drawn["steps"][2]["parts"]
    assert (thought["kind"], call["format"], answered["format"]) == ("reasoning", "code", "code")
    assert answered["text"] == '{\n  "name": "Gbp2"\n}'


def test_an_agent_that_was_called_stands_within_its_step_and_its_errors_count() -> None:
    inner = {
        "thought_0": "hm",
        "tool_name_0": "lookup",
        "tool_args_0": {},
        "observation_0": "Traceback (most recent call last):",
    }
    drawn = content(
        events_of(
            {
                "coordinator": {
                    "thought_0": "ask",
                    "tool_name_0": "biologist",
                    "tool_args_0": {"q": "?"},
                    "observation_0": "no",
                },
                "sub_agents": [
                    {
                        "agent": "biologist",
                        "question": "?",
                        "trajectory": inner,
                        "answer": "no",
                        "tokens": 512,
                    }
                ],
            }
        )
    )
    [step] = drawn["steps"]
    agent = next(part for part in step["parts"] if part["kind"] == "agent")
    assert agent["title"] == "biologist: 1 tool call, 512 tokens"
    assert [each["error"] for each in agent["steps"]] == [
        "",
        "Traceback (most recent call last):",
        "",
    ]
    assert (drawn["sums"], drawn["unit"]) == ("1 step · 2 tools · 1 failed · 512 tokens", "tokens")


def test_tools_that_were_called_at_once_each_get_their_answer() -> None:
    """As in the log of another harness: what the assistant says, two calls, then what both tools answered."""
    drawn = content(
        [
            event("thought", "ASSISTANT"),
            event("answer", "ASSISTANT"),
            event("tool_call", "lookup"),
            event("tool_call", "search"),
            event("observation", "LOOKUP"),
            event("observation", "SEARCH"),
            event("answer", "ASSISTANT"),
        ]
    )
    assert [
        (step["tool"], [part["kind"] for part in step["parts"]]) for step in drawn["steps"]
    ] == [
        ("lookup", ["reasoning", "text", "tool_call", "observation"]),
        ("search", ["tool_call", "observation"]),
        ("", ["text"]),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Error querying STRING DB for Gas5: HTTP Error 404: Not Found", True),
        ("Execution error in gene_info: \nTraceback", True),
        ("  traceback (most recent call last):", True),
        ("Protein interactions: error rate .1", False),
        ("No results found for gene symbol 'X' in mouse.", False),
    ],
)
def test_an_answer_that_reads_as_a_failure_is_one(text: str, error: bool) -> None:
    [step] = content(react(("hm", "tool", {}, text)))["steps"]
    assert (step["error"] != "") == error


def test_a_passage_that_a_reading_marked_opens_its_step_and_those_above_it() -> None:
    inner = {
        "thought_0": "- **Stat1** induces it.\nSo A.",
        "tool_name_0": "lookup",
        "tool_args_0": {},
        "observation_0": "no",
    }
    outer = {
        "thought_0": "ask",
        "tool_name_0": "biologist",
        "tool_args_0": {},
        "observation_0": "no",
    }
    events = events_of(
        {
            "coordinator": outer,
            "sub_agents": [
                {"agent": "biologist", "question": "?", "trajectory": inner, "answer": "A"}
            ],
        }
    )
    marked = {"- **Stat1** induces it.\nSo A.": ("- **Stat1** induces it.",)}
    [step] = content(events, passages=marked)["steps"]
    agent = next(part for part in step["parts"] if part["kind"] == "agent")
    assert [(each["marked"], each["open"]) for each in (step, *agent["steps"])] == [
        (True, True),
        (False, False),
        (True, True),
        (False, False),
    ]
    assert [part["passages"] for part in agent["steps"][1]["parts"]] == [
        ["Stat1 induces it."],
        [],
        [],
    ]
