"""Debates against the scripted server on this machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest

from core.base.errors import DeskError, InputError, NotFound
from core.base.fields.record import read_options
from core.base.types import Call, Flag, RowResult
from core.evidence.registry import TOOLS
from core.llm.errors import NoLogprobs, Truncated, Unanswered
from core.methods import prompts
from core.methods.base import RowFailed
from core.methods.brief_checks import check_rows
from core.methods.conversation import NoBaseRates
from core.methods.debate import METHOD
from core.methods.prompts import prompt_text
from tests.fakes.scripted import (
    Faults,
    Script,
    ScriptedPrompt,
    read_prompt,
    request_counts,
    scripted_probabilities,
    serving,
)
from tests.llm.canned import Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import ARGUED, BLIND, predict

NAMES = [tool.name for tool in prompts.tools_of(prompts.PACK_TOOLS)]

CHAT = "/v1/chat/completions"
BRIEFS = [("de", "EFFECT", "brief"), ("de", "NULL", "brief")]
REBUTTALS = [("de", "EFFECT", "rebuttal"), ("de", "NULL", "rebuttal")]
VERDICT = [("de", "JUDGE", "verdict")]
SAID = {0: VERDICT, 1: BRIEFS + VERDICT, 2: BRIEFS + REBUTTALS + VERDICT}
OTHER = {"de": "dir", "EFFECT": "UP", "NULL": "DOWN"}


def parts(found: RowResult) -> list[tuple[str, str, str]]:
    return [(event.stage, event.role, event.kind) for event in found.events]


def prompts(call: Call) -> dict[str, str]:
    """The last prompt of each role in a call."""
    return {message["role"]: message["content"] for message in json.loads(call.request)["messages"]}


def fixed(brief: str, verdict: str) -> Callable[[ScriptedPrompt], str]:
    """Advocates say this, judges that."""
    return lambda prompt: verdict if "You are the judge" in prompt.text else brief


@pytest.mark.parametrize("judge", ["sharp", "numeric", "logprob"])
@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_every_shape_of_debate(rounds: int, judge: str) -> None:
    with serving() as url:
        found = predict(METHOD, url, rounds=rounds, judge=judge)
        asked = request_counts(url)
    expected = SAID[rounds]
    assert parts(found) == [
        *expected,
        *(("dir", OTHER.get(role, role), kind) for _, role, kind in expected),
    ]
    assert (
        asked[CHAT]
        == len(found.calls)
        == METHOD.calls(read_options(METHOD.settings, {"rounds": rounds}))
    )
    assert sum(call.attempts for call in found.calls) == asked[CHAT]
    p = {event.stage: event.meta["p"] for event in found.events if event.kind == "verdict"}
    prediction = found.prediction
    assert (prediction.p_de, prediction.p_up_given_de, prediction.p_source) == (
        p["de"],
        p["dir"],
        "trace",
    )
    assert prediction.prediction_up == pytest.approx(p["de"] * p["dir"])
    assert prediction.prediction_down == pytest.approx(p["de"] * (1 - p["dir"]))
    assert prediction.flags == ()
    assert prediction.tokens == sum(event.tokens or 0 for event in found.events)
    assert (
        prediction.tool_calls == len(found.evidence) == 13
    )  # 4 tools about both genes, 5 about one or none
    assert {item.tool for item in found.evidence} == set(NAMES)


def test_each_debate_may_have_a_judge_of_its_own() -> None:
    own = {"rounds": 0, "judge": "numeric", "judge_dir": "logprob"}
    with serving() as url:
        found, usual = predict(METHOD, url, **own), predict(METHOD, url, rounds=0, judge="numeric")
    asked = {call.stage: json.loads(call.request) for call in found.calls}
    assert {stage: bool(request.get("logprobs")) for stage, request in asked.items()} == {
        "de": False,
        "dir": True,
    }
    assert found.prediction.p_de == usual.prediction.p_de
    texts = METHOD.prompts(read_options(METHOD.settings, own))
    assert prompt_text("format_numeric") in texts
    assert prompt_text("format_logprob") in texts


def test_a_judges_letter_is_read_from_the_servers_own_odds() -> None:
    with serving() as url:
        found = predict(METHOD, url, rounds=0, judge="logprob")
    odds = {
        call.stage: scripted_probabilities(read_prompt(json.loads(call.request), seed=0))
        for call in found.calls
    }
    assert set(odds["de"]) == {"A", "B"}
    assert found.prediction.p_de == pytest.approx(odds["de"]["A"])
    assert found.prediction.p_up_given_de == pytest.approx(odds["dir"]["A"])


def test_a_number_is_read_as_it_was_said() -> None:
    with serving(Script(answer=fixed(ARGUED, "EFFECT cites no link.\n<prob>20</prob>"))) as url:
        found = predict(METHOD, url)
    assert (found.prediction.p_de, found.prediction.p_up_given_de) == (0.2, 0.2)
    assert found.prediction.prediction_up == pytest.approx(0.04)


def test_who_is_shown_what() -> None:
    with serving() as url:
        found = predict(METHOD, url, rounds=2, shots=2, context="site")
    by_voice = {}
    for call in found.calls:
        by_voice.setdefault((call.stage, call.role), []).append(call)
    assert list(by_voice) == [
        ("de", "EFFECT"),
        ("de", "NULL"),
        ("de", "JUDGE"),
        ("dir", "UP"),
        ("dir", "DOWN"),
        ("dir", "JUDGE"),
    ]
    brief, rebuttal = by_voice["de", "EFFECT"]
    assert "Your side: EFFECT" in prompts(brief)["user"]
    assert "pathway neighbours, Jak1" in prompts(brief)["user"]
    assert "Measured outcomes" in prompts(brief)["user"]
    assert "nine hours" in prompts(brief)["system"]
    assert "The advocate of the other side, NULL, has written" in prompts(rebuttal)["user"]
    said = {(event.stage, event.role, event.kind): event.content for event in found.events}
    assert said["de", "NULL", "brief"] in prompts(rebuttal)["user"]
    judged = prompts(by_voice["dir", "JUDGE"][0])["user"]
    assert all(f"{who}:\n{said['dir', who, 'brief']}" in judged for who in ("UP", "DOWN"))
    assert all(
        f"{who} in reply:\n{said['dir', who, 'rebuttal']}" in judged for who in ("UP", "DOWN")
    )
    assert "EFFECT" not in judged


@pytest.mark.parametrize("judge", ["sharp", "numeric", "logprob"])
def test_a_model_that_answers_an_option_to_everything_is_found_out(judge: str) -> None:
    with serving(Script(answer=lambda _: "C)")) as url:
        found = predict(METHOD, url, judge=judge)
        assert request_counts(url)[CHAT] == 2 * 6  # everyone is asked once more
    briefs = [event for event in found.events if event.kind == "brief"]
    assert [event.role for event in briefs] == ["EFFECT", "NULL", "UP", "DOWN"]
    assert all(
        "opens with the letter of an option" in event.meta["role_collapse"] for event in briefs
    )
    assert found.prediction.flags == (Flag.ROLE_COLLAPSE, Flag.DE_FALLBACK, Flag.DIR_FALLBACK)
    assert check_rows([found])[1] == [True]
    # 5 of the 9 rows in view changed, 3 of them up; said in the verdict too.
    assert (found.prediction.p_de, found.prediction.p_up_given_de) == (
        pytest.approx(5 / 9),
        pytest.approx(3 / 5),
    )
    verdicts = [event for event in found.events if event.kind == "verdict"]
    assert [event.meta["p"] for event in verdicts] == [pytest.approx(5 / 9), pytest.approx(3 / 5)]
    assert all(event.meta["fallback"] and event.content == "C)" for event in verdicts)


def test_a_brief_that_gets_better_when_asked_again_is_taken() -> None:
    def answer(asked):
        if asked.path != CHAT:
            return Canned({"count": 200})
        messages = asked.body["messages"]
        if "You are the judge" in messages[0]["content"]:
            return Canned(completion("<prob>40</prob>"))
        return Canned(
            completion(
                ARGUED if len(messages) > 2 else "C) Knockdown of Jak1 does not affect Gm12345."
            )
        )

    with canned(answer) as (url, asked):
        found = predict(METHOD, url)
    assert Counter(kind for _, _, kind in parts(found)) == {"rejected": 4, "brief": 4, "verdict": 2}
    assert all(
        event.content == ARGUED and "role_collapse" not in event.meta
        for event in found.events
        if event.kind == "brief"
    )
    assert found.prediction.flags == ()
    assert check_rows([found])[1] == [False]
    chats = [one for one in asked if one.path == CHAT]
    assert found.prediction.tokens == 5 * len(chats) == 5 * 10  # each answer says 3 and 2
    assert found.prediction.prompt_tokens == 200


def test_a_brief_that_concludes_for_the_other_side_is_flagged() -> None:
    turncoat = f"{ARGUED} Losing Jak1 does not change Gm12345."
    with serving(Script(answer=fixed(turncoat, "<prob>40</prob>"))) as url:
        found = predict(METHOD, url)
    flagged = {
        event.role: event.meta.get("role_collapse")
        for event in found.events
        if event.kind == "brief"
    }
    said = "it concludes for the other side"
    assert flagged == {"EFFECT": said, "NULL": None, "UP": said, "DOWN": said}
    assert found.prediction.flags == (Flag.ROLE_COLLAPSE,)


def test_several_seeds_are_averaged() -> None:
    def answer(asked):
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        return Canned(
            completion(
                {1: "<prob>20</prob>", 2: "<prob>50</prob>", 3: "no idea"}[asked.body["seed"]]
            )
        )

    with canned(answer) as (url, _):
        found = predict(METHOD, url, rounds=0, seeds="1,2,3")
    assert (found.prediction.p_de, found.prediction.p_up_given_de) == (
        pytest.approx(0.35),
        pytest.approx(0.35),
    )
    assert found.prediction.flags == (Flag.FEWER_SEEDS,)
    last = [event for event in found.events if event.stage == "de"][-1]
    assert (last.kind, last.meta["p"], last.content) == (
        "verdict",
        pytest.approx(0.35),
        "Mean over 2 of 3 seeds: 0.350000.",
    )


def test_a_judge_who_is_asked_again_reads_the_same_briefs() -> None:
    """Each verdict has a seed of its own, the first the debate's; what cannot be read is left out of the mean."""
    said = {7: "<prob>20</prob>", 1_000_010: "<prob>50</prob>", 2_000_013: "no idea"}
    read = set()

    def answer(asked):
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        messages = asked.body["messages"]
        if "You are the judge" not in messages[0]["content"]:
            return Canned(completion(ARGUED))
        read.add(messages[1]["content"])
        return Canned(completion(said[asked.body["seed"]]))

    with canned(answer) as (url, _):
        found = predict(METHOD, url, judge_repeats=3)
    assert len(read) == 2  # one text for each of the two debates
    assert (found.prediction.p_de, found.prediction.flags) == (
        pytest.approx(0.35),
        (Flag.FEWER_SEEDS,),
    )
    verdicts = [event for event in found.events if (event.stage, event.kind) == ("de", "verdict")]
    assert [(event.meta.get("repeat"), event.meta["p"]) for event in verdicts[:3]] == [
        (0, 0.2),
        (1, 0.5),
        (2, None),
    ]
    assert verdicts[3].content == "Mean over 2 of 3 verdicts: 0.350000."
    assert sum(event.kind == "brief" for event in found.events) == 4
    assert METHOD.calls(read_options(METHOD.settings, {"judge_repeats": 3})) == 2 * (2 + 3)


def test_the_runs_seed_the_efforts_and_the_budgets_are_sent() -> None:
    with serving() as url:
        found = predict(
            METHOD,
            url,
            advocate_effort="low",
            judge_effort="high",
            advocate_tokens=500,
            judge_tokens=700,
        )
    for call in found.calls:
        body = json.loads(call.request)
        assert (body["seed"], body["temperature"], body["top_p"]) == (7, 1.0, 1.0)
        judge = call.role == "JUDGE"
        assert (body["reasoning_effort"], body["max_completion_tokens"]) == (
            ("high", 700) if judge else ("low", 500)
        )


def test_independent_calls_go_out_together() -> None:
    with serving(Script(delay_s=0.5)) as url:
        predict(METHOD, url)
        assert request_counts(url)["most at once"] == 4


def test_the_same_row_comes_out_the_same() -> None:
    def once():
        with serving(Script(faults=Faults(wrong_format=0.3))) as url:
            return predict(METHOD, url, rounds=2)

    first, again = once(), once()
    assert any(event.kind == "rejected" for event in first.events)
    assert first.prediction == again.prediction
    assert [call.key for call in first.calls] == [call.key for call in again.calls]
    assert [event._replace(latency_ms=None) for event in first.events] == [
        event._replace(latency_ms=None) for event in again.events
    ]


@pytest.mark.parametrize(
    ("script", "options", "cause", "calls"),
    [
        (Script(faults=Faults(error=1)), {}, Unanswered, 4),
        (Script(faults=Faults(empty=1)), {}, Truncated, 4),
        (Script(), {"judge_tokens": 2}, Truncated, 6),
        (Script(logprobs="refused"), {"judge": "logprob"}, NoLogprobs, 6),
    ],
)
def test_failures_are_typed_and_keep_every_call(
    script: Script, options: dict[str, object], cause: type[DeskError], calls: int
) -> None:
    with serving(script) as url, pytest.raises(RowFailed) as failed:
        try:
            predict(METHOD, url, **options)
        finally:
            asked = request_counts(url)[CHAT]
    assert isinstance(failed.value.cause, cause)
    assert len(failed.value.calls) == calls
    assert sum(call.attempts for call in failed.value.calls) == asked
    assert any(call.error.startswith(cause.__name__) for call in failed.value.calls)


def test_without_labels_in_view_an_unreadable_verdict_fails_the_row() -> None:
    with (
        serving(Script(answer=fixed(ARGUED, "perhaps"))) as url,
        pytest.raises(RowFailed) as failed,
    ):
        predict(METHOD, url, view=BLIND)
    assert isinstance(failed.value.cause, NoBaseRates)
    assert (
        len(failed.value.calls) == 8
    )  # four briefs, two verdicts, each of these asked for once more


def test_what_attempts_cost_is_counted_through_every_fault() -> None:
    faults = Faults(error=0.1, busy=0.1, dropped=0.1, half=0.1, wrong_format=0.1)
    with serving(Script(faults=faults, retry_after_s=0)) as url:
        found = predict(METHOD, url, rounds=2, seeds="1,2")
        assert sum(call.attempts for call in found.calls) == request_counts(url)[CHAT]
    assert found.prediction.tokens == sum(
        call.prompt_tokens + call.completion_tokens for call in found.calls
    )


def test_the_dossier_holds_the_chosen_tools() -> None:
    with serving() as url:
        found = predict(METHOD, url, rounds=0, tools="regulators, gene_class,regulators")
    assert [item.tool for item in found.evidence] == ["regulators", "gene_class", "gene_class"]
    assert set(NAMES) <= set(TOOLS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tools": "gossip"}, "evidence tool 'gossip'"),
        ({"seeds": "x"}, "seeds: got 'x'"),
        ({"context": " "}, "context: empty"),
    ],
)
def test_options_that_cannot_be_are_refused_before_a_run(
    options: dict[str, object], said: str
) -> None:
    with pytest.raises((InputError, NotFound)) as error:
        METHOD.prompts(read_options(METHOD.settings, options))
    assert said in str(error.value)


def test_the_prompt_texts_tell_runs_apart() -> None:
    variants = ({}, {"context": "site"}, {"judge": "logprob"}, {"rounds": 0}, {"rounds": 2})
    assert (
        len({METHOD.prompts(read_options(METHOD.settings, options)) for options in variants}) == 5
    )
