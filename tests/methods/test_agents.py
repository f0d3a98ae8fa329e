"""react and coordinator against the scripted server and canned ones, on this machine."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import InputError, MissingPackage, NotFound
from core.base.fields.record import options_of, read_options
from core.base.types import Flag, Pair, RowResult
from core.evidence import registry
from core.evidence.tool import Answer, Query, Tool
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import Malformed, Refused
from core.llm.kept_answer import ReplyCache
from core.methods import coordinator, prompts, react
from core.methods.agents import agent_episode
from core.methods.agents.agent_episode import TrackLimitExceeded
from core.methods.base import RowFailed, RowMethod
from tests.evidence.world import TEST
from tests.fakes.scripted import MODEL, Faults, Script, request_counts, serving
from tests.llm.canned import Asked, Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import BLIND, context, predict

pytest.importorskip("dspy", reason="requirements-agents.txt is not installed")
CHAT = "/v1/chat/completions"
METHODS = (react.METHOD, coordinator.METHOD)


def fields(**said: object) -> str:
    """A reply in DSPy's format."""
    return "\n\n".join(
        [*(f"[[ ## {name} ## ]]\n{value}" for name, value in said.items()), "[[ ## completed ## ]]"]
    )


def step(tool: str, **arguments: object) -> str:
    return fields(
        next_thought=f"ask {tool}", next_tool_name=tool, next_tool_args=json.dumps(arguments)
    )


def probabilities(p_de: object = 40, p_up: object = 75) -> str:
    return fields(reasoning="because", p_de=p_de, p_up_given_de=p_up)


DONE = step("finish")
COORDINATED = (
    step("biology_expert", question="What does Jak1 do?"),
    step("gene_info", symbol="Jak1"),
    DONE,
    fields(reasoning="", answer="It signals."),
    step("data_analyst", question=""),
    DONE,
    probabilities(),
)


def says(*answers: str) -> Callable[[Asked], Canned]:
    """A server that gives these answers one after the other."""
    said = iter(answers)
    return lambda asked: (
        Canned(completion(next(said))) if asked.path == CHAT else Canned({"error": "no"}, 404)
    )


def act(method: RowMethod, *answers: str, **given: object) -> tuple[RowResult, list[Asked]]:
    with canned(says(*answers)) as (url, asked):
        found = predict(method, url, **given)  # type: ignore[arg-type]
    return found, [one for one in asked if one.path == CHAT]


def kinds(found: RowResult) -> list[tuple[str, str]]:
    return [(event.role, event.kind) for event in found.events]


@contextmanager
def another_tool(ask: Callable[[Query], Answer]) -> Iterator[None]:
    """The tool "odd" among the evidence tools."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            registry,
            "TOOLS",
            {**registry.TOOLS, "odd": Tool("odd", "An odd one.", ("pert", "gene"), ask)},
        )
        yield


def test_steps_are_written_down_as_they_happen() -> None:
    found, asked = act(
        react.METHOD,
        step("train_lookup", gene="Cdkn1a"),
        step("gene_class", symbol=TEST.gene),
        DONE,
        probabilities(),
    )
    assert kinds(found) == [
        ("AGENT", "thought"),
        ("train_lookup", "tool_call"),
        ("train_lookup", "observation"),
        ("AGENT", "thought"),
        ("gene_class", "tool_call"),
        ("gene_class", "observation"),
        ("AGENT", "thought"),
        ("AGENT", "answer"),
    ]
    prediction = found.prediction
    assert (prediction.p_de, prediction.p_up_given_de) == (0.4, 0.75)
    assert (prediction.prediction_up, prediction.prediction_down) == pytest.approx((0.3, 0.1))
    assert prediction.tool_calls == 2
    assert prediction.tokens == 4 * 5  # each answer says 3 and 2
    assert sum(event.tokens or 0 for event in found.events) == 4 * 5
    assert [event.meta["step"] for event in found.events] == [0, 0, 0, 1, 1, 1, 2, 2]
    assert [(item.tool, item.status) for item in found.evidence] == [
        ("train_lookup", "ok"),
        ("gene_class", "ok"),
    ]
    observed = found.events[2].content
    assert (
        observed in asked[1].body["messages"][-1]["content"]
    )  # what the page shows is what the model saw
    assert found.events[-1].meta["largest_request_tokens"] == 3


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_names_alone_are_shown_without_a_tool_of_evidence(method: RowMethod) -> None:
    with serving() as url:
        found = predict(method, url, names="alone")
    assert found.evidence == ()
    assert "train_lookup" not in "".join(call.request for call in found.calls)
    assert found.prediction.p_source != "none"


def test_letters_are_hard() -> None:
    for letter, expected in (("A", (1.0, 0.0)), ("B) down", (0.0, 1.0)), ("C", (0.0, 0.0))):
        found, _ = act(react.METHOD, DONE, fields(reasoning="", answer=letter), answers="letter")
        assert (found.prediction.prediction_up, found.prediction.prediction_down) == expected


def test_what_cannot_be_read_is_asked_once_more_then_flagged() -> None:
    found, asked = act(react.METHOD, DONE, probabilities("high"), "<prob>30</prob>")
    assert found.prediction.p_de == 0.3
    assert found.prediction.flags == ()
    assert [(event.kind, event.content) for event in found.events[1:3]] == [
        ("rejected", "high"),
        ("second answer", "<prob>30</prob>"),
    ]
    assert "p_de" in asked[-1].body["messages"][-1]["content"]
    found, _ = act(react.METHOD, DONE, probabilities("high"), "no idea")
    assert found.prediction.flags == (Flag.DE_FALLBACK,)
    assert found.prediction.p_de == pytest.approx(5 / 9)  # the base rate of the view
    assert found.events[-1].meta["fallback"]


def test_a_step_that_cannot_be_read_ends_the_steps_and_says_so(
    capfd: pytest.CaptureFixture[str],
) -> None:
    found, asked = act(react.METHOD, "What?", "Still what?", probabilities())
    assert kinds(found) == [("AGENT", "cut short"), ("AGENT", "answer")]
    assert len(asked) == 3
    assert found.prediction.tokens == 3 * 5
    assert "Traceback" not in capfd.readouterr().err


def test_steps_end_at_the_most() -> None:
    found, _ = act(
        react.METHOD, step("base_rates"), step("base_rates"), probabilities(), max_steps=2
    )
    assert kinds(found)[-2:] == [("AGENT", "cut short"), ("AGENT", "answer")]
    assert "2 steps" in found.events[-2].content


@pytest.mark.parametrize(
    ("steps", "ends"), [({}, 0), ({"specialist_steps": 1}, 1), ({"max_steps": 1}, 2)]
)
def test_agents_that_are_asked_have_a_budget_of_their_own(
    steps: dict[str, object], ends: int
) -> None:
    said = [step("biology_expert", question="What is it?"), step("gene_info", symbol=TEST.gene)]
    said += [*([DONE] * (not steps)), fields(reasoning="", answer="A gene.")]
    found, _ = act(
        coordinator.METHOD, *said, *([DONE] * ("max_steps" not in steps)), probabilities(), **steps
    )
    assert [event.content[:15] for event in found.events if event.kind == "cut short"] == [
        "Stopped after 1"
    ] * ends
    assert found.prediction.p_de == 0.4


def test_an_answer_that_cannot_be_read_at_all_fails_the_row() -> None:
    with pytest.raises(RowFailed) as failed:
        act(react.METHOD, DONE, "What?", "Still what?")
    assert isinstance(failed.value.cause, Malformed)
    assert len(failed.value.calls) == 3


def test_wrong_arguments_are_told_to_the_model_without_a_path() -> None:
    found, asked = act(
        react.METHOD,
        step("gene_class", gene="Abc", why=1),
        step("train_lookup"),
        DONE,
        probabilities(),
    )
    said = [event.content for event in found.events if event.kind == "observation"]
    assert said == [
        "gene_class takes symbol, not gene, why.",
        "train_lookup: pert None, gene None; expected pert and/or gene",
    ]
    assert_no_paths(asked)


@pytest.mark.parametrize(
    "given",
    [{"self": "x"}, {"symbol": ["Abc"]}, {"symbol": {"a": [1]}}, {"symbol": ""}, {"symbol": None}],
)
def test_no_argument_makes_dspy_show_a_path_or_miss_a_call(given: dict[str, object]) -> None:
    found, asked = act(
        react.METHOD, step("gene_class", **given), step("finish", **given), probabilities()
    )
    assert_no_paths(asked)
    assert found.prediction.tool_calls == 1
    assert [kind for _, kind in kinds(found)] == [
        "thought",
        "tool_call",
        "observation",
        "thought",
        "answer",
    ]


def test_half_a_surrogate_pair_fails_no_row() -> None:
    said = fields(
        next_thought="ask", next_tool_name="gene_class", next_tool_args='{"symbol": "Abc\\ud800"}'
    )
    found, asked = act(react.METHOD, said, DONE, probabilities())
    assert found.prediction.tool_calls == 1
    assert all(
        text.encode()
        for text in (
            *(event.content for event in found.events),
            *(item.key for item in found.evidence),
        )
    )
    assert "Abc\ufffd" in asked[1].body["messages"][-1]["content"]


def test_whatever_goes_wrong_keeps_the_calls_that_were_made() -> None:
    deep = fields(
        next_thought="ask",
        next_tool_name="gene_class",
        next_tool_args='{"symbol": ' + "[" * 3000 + "]" * 3000 + "}",
    )
    with pytest.raises(RowFailed) as failed:
        act(react.METHOD, deep, deep, deep, deep)
    assert failed.value.calls


def test_an_answer_takes_the_place_of_a_failure() -> None:
    tries = iter((True, False))

    def at_first_broken(query):
        if next(tries):
            raise OSError(f"{__file__} is busy")
        return Answer("ok", "the second try", {"symbol": query.symbol})

    with another_tool(at_first_broken):
        found, asked = act(
            react.METHOD,
            step("odd", symbol="Abc"),
            step("odd", symbol="Abc"),
            DONE,
            probabilities(),
            tools="odd",
        )
    assert [(item.status, item.source) for item in found.evidence] == [("ok", "the second try")]
    assert_no_paths(asked)


def test_prompts_hold_all_that_is_sent_but_the_pair_and_what_tools_say() -> None:
    for method, answers in (
        (react.METHOD, [DONE, probabilities()]),
        (coordinator.METHOD, COORDINATED),
    ):
        texts = method.prompts(read_options(method.settings, {}))
        _, asked = act(method, *answers)
        for one in asked:
            assert one.body["messages"][0]["content"] in texts, method.name


def test_a_tool_that_raises_shows_no_path(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(query):
        raise ZeroDivisionError(f"{__file__} is broken for {query.symbol}")

    with another_tool(broken):
        odd = step("odd", symbol="Abc")
        found, asked = act(react.METHOD, odd, odd, DONE, probabilities(), tools="odd")
    assert_no_paths(asked)
    assert "Traceback" not in capfd.readouterr().err  # which is the run's log
    assert [record.name for record in caplog.records] == [
        "perturbdesk"
    ]  # one for the two of a kind
    observed = next(event for event in found.events if event.kind == "observation")
    assert observed.content == "This tool failed, so it gives no evidence either way."
    assert observed.meta["error"] == "ZeroDivisionError"
    assert [(item.status, item.source) for item in found.evidence] == [
        ("error", "ZeroDivisionError")
    ]


def assert_no_paths(asked: list[Asked]) -> None:
    for one in asked:
        for message in one.body["messages"]:
            assert ".py" not in message["content"]
            assert "Traceback" not in message["content"]
            assert "/core/" not in message["content"]


def test_calls_of_tools_are_limited_by_a_typed_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        (agent_episode.B_TOOL_CALLS, agent_episode.B_TOOLS)
        == (prompts.B_TOOL_CALLS, prompts.B_TOOLS)
        == (250, 100)
    )
    monkeypatch.setattr(agent_episode, "B_TOOL_CALLS", 20)
    with pytest.raises(RowFailed) as failed:
        act(react.METHOD, *(step("base_rates") for _ in range(21)), max_steps=400)
    assert isinstance(failed.value.cause, TrackLimitExceeded)
    assert "call 21" in str(failed.value.cause)
    assert len(failed.value.calls) == 21  # nothing was asked after it
    monkeypatch.setattr(agent_episode, "B_TOOLS", 1)
    with pytest.raises(RowFailed, match="2 distinct tools, expected at most 1"):
        act(react.METHOD, step("base_rates"), step("gene_class", symbol="Abc"), max_steps=9)
    with pytest.raises(InputError, match="expected at most 100"):
        prompts.tools_of(",".join(f"tool_{i}" for i in range(101)))


def test_a_system_prompt_that_is_too_long_fails_before_anything_is_asked() -> None:
    def answer(asked):
        return Canned({"count": 16_385}) if asked.path == "/tokenize" else Canned(completion(DONE))

    with canned(answer) as (url, asked), pytest.raises(RowFailed) as failed:
        predict(react.METHOD, url)
    assert isinstance(failed.value.cause, TrackLimitExceeded)
    assert not [one for one in asked if one.path == CHAT]


def test_a_conversation_that_no_longer_fits_loses_its_oldest_step_and_says_so() -> None:
    said = iter((step("base_rates"), step("gene_class", symbol="Abc"), None, DONE, probabilities()))

    def answer(asked):
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        reply = next(said)
        too_long = {"error": {"message": "This model's maximum context length is 99 tokens."}}
        return Canned(completion(reply)) if reply else Canned(too_long, 400)

    with canned(answer) as (url, asked):
        found = predict(react.METHOD, url)
    assert ("AGENT", "shortened") in kinds(found)
    assert [event.role for event in found.events if event.kind == "observation"] == [
        "base_rates",
        "gene_class",
    ]
    last = [one for one in asked if one.path == CHAT][-1].body["messages"][-1]["content"]
    assert "base rates" not in last


def test_another_refusal_fails_the_row_with_its_own_cause() -> None:
    with (
        canned(lambda _: Canned({"error": {"message": "no such model"}}, 404)) as (url, _),
        pytest.raises(RowFailed) as failed,
    ):
        predict(react.METHOD, url)
    assert isinstance(failed.value.cause, Refused)


def test_a_coordinator_asks_its_colleagues_who_have_tools_of_their_own() -> None:
    found, asked = act(coordinator.METHOD, *COORDINATED)
    assert [(event.meta["depth"], event.role, event.kind) for event in found.events] == [
        (0, "coordinator", "thought"),
        (0, "biology_expert", "tool_call"),
        (1, "biology_expert", "question"),
        (1, "biology_expert", "thought"),
        (1, "gene_info", "tool_call"),
        (1, "gene_info", "observation"),
        (1, "biology_expert", "thought"),
        (1, "biology_expert", "answer"),
        (0, "biology_expert", "observation"),
        (0, "coordinator", "thought"),
        (0, "data_analyst", "tool_call"),
        (0, "data_analyst", "observation"),
        (0, "coordinator", "thought"),
        (0, "coordinator", "answer"),
    ]
    assert found.prediction.tool_calls == 3
    assert "no question" in found.events[11].content
    systems = [one.body["messages"][0]["content"] for one in asked]
    assert "train_lookup" not in "".join(
        systems
    )  # nobody but the analyst, who was not at work, is offered it
    assert "gene_info" not in systems[0]
    assert "perturbed_gene" not in systems[1]
    assert {call.role for call in found.calls} == {"coordinator", "biology_expert"}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("method", "n"),
    [(react.METHOD, 20), (coordinator.METHOD, 6)]
    + [
        pytest.param(*each, marks=pytest.mark.soak)
        for each in ((react.METHOD, 200), (coordinator.METHOD, 20))
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_concurrent_rows_are_counted_apart(method: RowMethod, n: int, tmp_path: Path) -> None:
    """Rows at once on one server: each row's calls and tokens are those of its own conversation, and all add up."""
    pairs = [Pair(f"P{i}_G{i}", f"P{i}", f"G{i}", None, "test") for i in range(n)]

    async def all_rows(url):
        cache = ReplyCache(tmp_path / "replies.sqlite")
        async with Client(
            Endpoint(url, backoff_s=0.001, longest_backoff_s=0.001), concurrency=64, cache=cache
        ) as client:
            shared = replace(context(method, client), model=MODEL, pairs=tuple(pairs))
            return await asyncio.gather(*(method.predict_row(pair, shared) for pair in pairs))

    with serving(Script(seed=3, faults=Faults(error=0.05, dropped=0.02))) as url:
        rows = asyncio.run(all_rows(url))
        asked = request_counts(url)[CHAT]
        assert asked > sum(
            not call.cached for row in rows for call in row.calls
        )  # some were asked for again
        again = asyncio.run(all_rows(url))
        assert request_counts(url)[CHAT] == asked
    for pair, row, cached in zip(pairs, rows, again, strict=True):
        assert row.prediction.pair_id == pair.pair_id
        said = [
            json.loads(call.reply)["usage"] for call in row.calls
        ]  # as the server told, whatever we counted
        assert row.prediction.tokens == sum(usage["total_tokens"] for usage in said)
        assert row.prediction.tokens == sum(event.tokens or 0 for event in row.events)
        tools = [json.loads(call.reply)["choices"][0]["message"]["content"] for call in row.calls]
        assert row.prediction.tool_calls == sum(
            "next_tool_name" in one and "\nfinish\n" not in one for one in tools
        )
        others = Counter(
            symbol
            for call in row.calls
            for symbol in symbols(json.loads(call.request)) - {pair.pert, pair.gene}
        )
        assert not others, f"{pair.pair_id} was mixed with {others}"
        assert cached.prediction == row.prediction
        assert all(call.cached for call in cached.calls)


def symbols(request: dict[str, Any]) -> set[str]:
    """The pairs' symbols in a request."""
    words = " ".join(message["content"] for message in request["messages"]).split()
    return {
        word.strip('",.:}')
        for word in words
        if word.strip('",.:}')[1:].isdecimal() and word.strip('",.:}')[0] in "PG"
    }


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_prompts_change_with_the_options_that_they_depend_on(method: RowMethod) -> None:
    base = method.prompts(read_options(method.settings, {}))
    assert method.prompts(read_options(method.settings, {"answers": "letter"})) != base
    assert method.prompts(read_options(method.settings, {"context": "site"})) != base
    tools = next(
        option.name for option in options_of(method.settings) if option.name.endswith("tools")
    )
    assert method.prompts(read_options(method.settings, {tools: "gene_class"})) != base
    with pytest.raises(NotFound):
        method.prompts(read_options(method.settings, {tools: "nothing"}))


def test_without_dspy_the_error_names_the_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "core.methods.agents.dspy_program", raising=False)
    monkeypatch.delattr("core.methods.agents.dspy_program", raising=False)
    monkeypatch.setitem(sys.modules, "dspy", None)
    with pytest.raises(MissingPackage, match=r"requirements-agents\.txt"):
        react.METHOD.prompts(read_options(react.METHOD.settings, {}))


def test_without_labels_in_view_a_fallback_is_a_failure() -> None:
    with pytest.raises(RowFailed, match="0 labelled rows are in view"):
        act(react.METHOD, DONE, probabilities("high"), "no idea", view=BLIND)
