"""Traces in every published format become events in the order they happened, and nothing is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.texts import replace_surrogates
from core.base.types import Flag, TraceEvent
from core.features.importing.traces import parse_trace

DEBATE = {
    "tool_calls": 7,
    "briefs": {"EFFECT": "It moves.", "NULL": "It does not.", "UP": "Up.", "DOWN": "Down."},
    "de_verdict": "<prob>18</prob>",
    "dir_verdict": "<prob>69</prob>",
    "P_DE": 0.18,
    "P_up_given_DE": 0.69,
}


def said(trace_json: object) -> list[tuple[str, str, str, str]]:
    return [
        (e.stage, e.role, e.kind, e.content) for e in parse_trace(json.dumps(trace_json)).events
    ]


def test_a_debate_reads_in_the_order_it_happened() -> None:
    trace = parse_trace(json.dumps(DEBATE))
    assert trace.events == (
        TraceEvent("de", "EFFECT", "brief", "It moves."),
        TraceEvent("de", "NULL", "brief", "It does not."),
        TraceEvent(
            "de", "JUDGE", "verdict", "<prob>18</prob>", meta={"p": 0.18, "fallback": False}
        ),
        TraceEvent("dir", "UP", "brief", "Up."),
        TraceEvent("dir", "DOWN", "brief", "Down."),
        TraceEvent(
            "dir", "JUDGE", "verdict", "<prob>69</prob>", meta={"p": 0.69, "fallback": False}
        ),
    )
    assert (trace.format, trace.p_de, trace.p_up_given_de, trace.tool_calls) == (
        "debate",
        0.18,
        0.69,
        7,
    )
    assert trace.flags == ()


def test_fallbacks_are_flags_and_stand_with_their_verdict() -> None:
    trace = parse_trace(json.dumps(DEBATE | {"de_fallback": True, "dir_fallback": True}))
    assert trace.flags == (Flag.DE_FALLBACK, Flag.DIR_FALLBACK)
    assert [e.meta["fallback"] for e in trace.events if e.role == "JUDGE"] == [True, True]
    only_direction = parse_trace(json.dumps(DEBATE | {"de_fallback": False, "dir_fallback": True}))
    assert only_direction.flags == (Flag.DIR_FALLBACK,)
    assert [e.kind for e in only_direction.events].count("meta") == 0


def test_rebuttals_alternate_between_brief_and_verdict() -> None:
    trace = parse_trace(
        json.dumps(
            DEBATE | {"rebuttals": {"NULL": ["n1", "n2"], "EFFECT": ["e1", "e2"], "UP": "u1"}}
        )
    )
    assert [(e.role, e.kind, e.meta.get("round")) for e in trace.events] == [
        ("EFFECT", "brief", None),
        ("NULL", "brief", None),
        ("EFFECT", "rebuttal", 1),
        ("NULL", "rebuttal", 1),
        ("EFFECT", "rebuttal", 2),
        ("NULL", "rebuttal", 2),
        ("JUDGE", "verdict", None),
        ("UP", "brief", None),
        ("DOWN", "brief", None),
        ("UP", "rebuttal", 1),
        ("JUDGE", "verdict", None),
    ]


def test_what_a_debate_says_beyond_the_format_is_kept_in_one_last_event() -> None:
    trace = parse_trace(
        json.dumps(
            DEBATE
            | {
                "briefs": {"EFFECT": "It moves.", "MODERATOR": "Order!"},
                "dossier_features": {"no_analogue": True},
                "P_DE": "eighteen",
                "tool_calls": [1, 2],
                "de_fallback": "no number",
            }
        )
    )
    last = trace.events[-1]
    assert (last.stage, last.role, last.kind) == ("trace", "MODEL", "meta")
    assert json.loads(last.content) == {
        "briefs": {"MODERATOR": "Order!"},
        "dossier_features": {"no_analogue": True},
        "P_DE": "eighteen",
        "tool_calls": [1, 2],
        "de_fallback": "no number",
    }
    assert (trace.p_de, trace.p_up_given_de, trace.tool_calls, trace.flags) == (
        None,
        0.69,
        None,
        (Flag.DE_FALLBACK,),
    )


def test_a_debate_without_advocates_has_its_verdicts() -> None:
    judged = {"de_verdict": "B", "dir_verdict": None, "P_DE": 0.4, "P_up_given_DE": 0.5}
    assert said(judged) == [("de", "JUDGE", "verdict", "B"), ("dir", "JUDGE", "verdict", "")]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "true", "null", "1" + "0" * 400])
def test_a_probability_that_is_no_number_is_not_one(number: str) -> None:
    trace = parse_trace(f'{{"briefs": {{}}, "P_DE": {number}, "P_up_given_DE": 0.5}}')
    assert (trace.format, trace.p_de, trace.p_up_given_de) == ("debate", None, 0.5)


def test_a_react_trace_reads_step_by_step() -> None:
    # step 10 comes after step 9, and a step may lack parts
    trace = parse_trace(
        json.dumps(
            {
                "thought_10": "Done.",
                "thought_9": "Look it up.",
                "tool_name_9": "lookup",
                "tool_args_9": {"gene": "Añ1", "n": 2},
                "observation_9": ["a", 1],
            }
        )
    )
    assert trace.format == "react"
    assert trace.events == (
        TraceEvent("react", "AGENT", "thought", "Look it up.", meta={"step": 9}),
        TraceEvent("react", "lookup", "tool_call", '{"gene":"Añ1","n":2}', meta={"step": 9}),
        TraceEvent("react", "lookup", "observation", '["a",1]', meta={"step": 9}),
        TraceEvent("react", "AGENT", "thought", "Done.", meta={"step": 10}),
    )


def test_a_react_trace_keeps_keys_that_are_no_steps() -> None:
    events = said(
        {
            "thought_0": "Hm.",
            "observation_0": "lost its call",
            "thought_00": "odd",
            "error": "timeout",
        }
    )
    assert events[:2] == [
        ("react", "AGENT", "thought", "Hm."),
        ("react", "tool", "observation", "lost its call"),
    ]
    assert [json.loads(content) for *_, content in events[2:]] == [
        {"thought_00": "odd", "error": "timeout"}
    ]


COORDINATED = {
    "coordinator": {
        "thought_0": "Ask.",
        "tool_name_0": "biologist",
        "tool_args_0": "{'question': 'link?'}",
        "observation_0": "None known.",
        "tool_name_1": "submit_answer",
        "tool_args_1": "{'answer': 'C'}",
        "observation_1": "Answer recorded: C",
    },
    "sub_agents": [
        {"agent": "analyst", "question": "rows?", "error": "timeout"},
        {
            "agent": "biologist",
            "question": "link?",
            "answer": "None known.",
            "trajectory": {"thought_0": "Search.", "tool_name_0": "gene_info", "tool_args_0": "{}"},
            "tokens": 512,
            "tool_calls": 1,
        },
    ],
}


def test_a_coordinators_helpers_speak_when_they_are_asked() -> None:
    trace = parse_trace(json.dumps(COORDINATED))
    assert trace.format == "coordinator"
    assert [(e.meta["depth"], e.meta["agent"], e.role, e.kind) for e in trace.events] == [
        (0, "coordinator", "coordinator", "thought"),
        (0, "coordinator", "biologist", "tool_call"),
        (1, "biologist", "biologist", "question"),
        (1, "biologist", "biologist", "thought"),
        (1, "biologist", "gene_info", "tool_call"),
        (1, "biologist", "biologist", "answer"),
        (1, "biologist", "biologist", "meta"),  # {"tool_calls": 1}
        (0, "coordinator", "biologist", "observation"),
        (0, "coordinator", "submit_answer", "tool_call"),
        (0, "coordinator", "submit_answer", "observation"),
        (1, "analyst", "analyst", "question"),  # nothing above asked it
        (1, "analyst", "analyst", "meta"),  # {"error": "timeout"}
    ]
    assert trace.events[5].tokens == 512
    assert {e.stage for e in trace.events} == {"coordinator"}


def test_a_coordinator_may_be_nested_or_of_another_shape() -> None:
    deep = {
        "agent": "a",
        "sub_agents": [{"agent": "b", "answer": "from below"}],
        "answer": "from a",
    }
    trace = parse_trace(
        json.dumps(
            {"coordinator": "Just text.", "sub_agents": [deep, "loose text", 5], "note": "x"}
        )
    )
    assert [(e.meta.get("depth"), e.role, e.kind, e.content) for e in trace.events] == [
        (0, "coordinator", "text", "Just text."),
        (2, "b", "answer", "from below"),
        (1, "a", "answer", "from a"),
        (1, "agent", "text", "loose text"),
        (1, "agent", "text", "5"),
        (None, "MODEL", "meta", '{"note":"x"}'),
    ]


@pytest.mark.parametrize("text", ["", "none", "  \n", " none\n"])
def test_no_trace_has_no_events(text: str) -> None:
    trace = parse_trace(text)
    assert (trace.format, trace.events) == ("none", ())


UNKNOWN = [
    "<answer>C</answer>",
    "None",
    '{"briefs": {"EFFECT": "cut off',
    '["briefs", "de_verdict"]',
    '{"error": "timeout"}',
    '{"briefs": "no object"}',
    "[" * 100_000,
    '{"briefs":' * 50_000,
    '{"briefs": {"EFFECT": ' + "[" * 900 + "]" * 900 + "}}",
]


@pytest.mark.parametrize("text", UNKNOWN[:-1])
def test_an_unknown_trace_is_kept_whole(text: str) -> None:
    trace = parse_trace(text)
    assert (trace.format, trace.events) == ("text", (TraceEvent("trace", "MODEL", "text", text),))


def test_deep_nesting_is_kept_whichever_way() -> None:
    # 900 levels are read or not depending on how deep the caller stands; the text must survive both
    assert "[" * 900 in parse_trace(UNKNOWN[-1]).events[0].content


def test_lone_surrogates_become_replacement_characters_and_pairs_stay() -> None:
    # \ud83e\uddec is one character, a double helix; \udc00 alone is none
    text = r'{"briefs": {"EFFECT": "a\udC00b \ud83e\uddec"}, "\uDBFF": 1}'
    brief, rest = parse_trace(text).events
    assert brief.content == "a\ufffdb \U0001f9ec"
    assert json.loads(rest.content) == {"\ufffd": 1}
    assert parse_trace("x\ud800y").events[0].content == "x\ufffdy"


words = st.text(st.sampled_from('ab1{}[]":, \\ué☃\ud83e\uddec\udfff\0\n'), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
KEYS = """briefs rebuttals EFFECT NULL UP DOWN de_verdict dir_verdict P_DE P_up_given_DE de_fallback tool_calls coordinator
sub_agents agent trajectory question answer tokens thought_0 tool_name_0 tool_args_0 observation_0"""
keys = st.sampled_from(re.findall(r"\w+", KEYS))
traces = st.dictionaries(
    keys, json_values | st.dictionaries(keys, json_values, max_size=3), max_size=5
)


@given(st.text() | words | traces.map(json.dumps))
def test_any_text_gives_events_that_can_be_written(text: str) -> None:
    trace = parse_trace(text)
    for event in trace.events:
        for part in (
            event.stage,
            event.role,
            event.kind,
            event.content,
            json.dumps(dict(event.meta), ensure_ascii=False),
        ):
            part.encode("utf-8")
    if trace.format == "text":
        assert [event.content for event in trace.events] == [replace_surrogates(text)]
    if trace.format == "none":
        assert text.strip() in ("", "none")


def leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [value] if isinstance(value, str) else []


@pytest.mark.soak
@given(
    st.dictionaries(
        keys,
        st.text("abc", min_size=9) | st.dictionaries(keys, st.text("abc", min_size=9)),
        min_size=1,
    )
)
def test_every_text_in_a_known_format_is_in_some_event(value: dict[str, Any]) -> None:
    trace = parse_trace(json.dumps(value))
    everything = "\n".join(f"{event.role}\n{event.content}" for event in trace.events)
    for leaf in leaves(value):
        assert leaf in everything
