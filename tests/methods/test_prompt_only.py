"""One prompt a row, against the scripted server on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import DeskError, InputError
from core.base.fields.record import read_options
from core.base.types import Flag
from core.llm.errors import NoLogprobs, Refused, Truncated, Unanswered
from core.llm.kept_answer import ReplyCache
from core.methods.base import RowFailed
from core.methods.conversation import NoBaseRates
from core.methods.prompt_only import METHOD, prompt_for
from core.methods.prompts import A_PROMPT_TOKENS
from tests.evidence.world import TEST
from tests.fakes.scripted import (
    Faults,
    Script,
    read_prompt,
    request_counts,
    scripted_probabilities,
    serving,
)
from tests.llm.canned import Asked, Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import BLIND, context, predict
from tests.strength import examples

CHAT = "/v1/chat/completions"


def says(*answers: str) -> Callable[[Asked], Canned]:
    """A server that gives these answers one after the other, the last one for ever, and cannot count tokens."""
    said = iter(answers)
    last = answers[-1]

    def answer(asked: Asked) -> Canned:
        return (
            Canned(completion(next(said, last)))
            if asked.path == CHAT
            else Canned({"error": "no"}, 404)
        )

    return answer


def by_seed(asked: Asked) -> Canned:
    """Up, down and nothing readable for seeds 42, 43 and 44."""
    if asked.path != CHAT:
        return Canned({"error": "no"}, 404)
    return Canned(
        completion(
            {42: "<answer>A</answer>", 43: "I think so. Answer: B", 44: "Hard to say."}[
                asked.body["seed"]
            ]
        )
    )


@pytest.mark.parametrize(
    ("letter", "up", "down", "p_up"),
    [("A", 1.0, 0.0, 1.0), ("B", 0.0, 1.0, 0.0), ("C", 0.0, 0.0, None)],
)
def test_letters_are_hard(letter: str, up: float, down: float, p_up: float | None) -> None:
    with canned(says(f"<answer>{letter}</answer>")) as (url, _):
        found = predict(METHOD, url).prediction
    assert (found.prediction_up, found.prediction_down, found.p_de, found.p_up_given_de) == (
        up,
        down,
        up + down,
        p_up,
    )
    assert found.p_source == "file"
    assert found.flags == ()


def test_seeds_are_averaged_and_a_missing_one_is_left_out() -> None:
    with canned(by_seed) as (url, asked):
        found = predict(METHOD, url)
    assert (found.prediction.prediction_up, found.prediction.prediction_down) == (
        0.5,
        0.5,
    )  # of (1, 0) and (0, 1)
    assert found.prediction.flags == (Flag.FEWER_SEEDS,)
    assert [(event.stage, event.kind) for event in found.events] == [
        ("seed 42", "answer"),
        ("seed 43", "answer"),
        ("seed 44", "rejected"),
        ("seed 44", "answer"),
        ("mean", "arithmetic"),
    ]
    assert found.events[-1].content == "Mean over 2 of 3 seeds: up 0.500000, down 0.500000."
    assert found.events[-1].meta == {"read": 2, "asked": 3}
    said = [
        (event.meta["prediction_up"], event.meta["prediction_down"])
        for event in found.events
        if event.kind == "answer"
    ]
    assert said == [(1.0, 0.0), (0.0, 1.0), (None, None)]
    assert found.events[0].meta["counted_by"] == "server"
    assert found.prediction.prompt_tokens == 3  # as each answer says
    chats = [one.body for one in asked if one.path == CHAT]
    assert len(chats) == 4
    assert found.prediction.tokens == 4 * 5  # each answer says 3 and 2
    assert all(len(body["messages"]) == 1 for body in chats[:3])
    again = next(body["messages"] for body in chats if len(body["messages"]) > 1)
    assert again[1] == {"role": "assistant", "content": "Hard to say."}
    assert "<answer>X</answer>" in again[2]["content"]
    assert "A, B, C" in again[2]["content"]


def refuses(seed: int) -> Callable[[Asked], Canned]:
    """A server that refuses one seed and answers A under every other."""

    def answer(asked: Asked) -> Canned:
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        return (
            Canned({"error": {"message": "no"}}, 400)
            if asked.body["seed"] == seed
            else Canned(completion("<answer>A</answer>"))
        )

    return answer


@pytest.mark.parametrize("seed", [42, 43, 44])
def test_a_refused_seed_fails_the_row_and_is_never_left_out_of_a_mean(seed: int) -> None:
    with canned(refuses(seed)) as (url, _), pytest.raises(RowFailed) as failed:
        predict(METHOD, url)
    assert isinstance(failed.value.cause, Refused)
    assert len(failed.value.calls) == 3  # the answers of the others are kept


@given(
    st.lists(st.sampled_from("ABC?"), min_size=1, max_size=5).filter(
        lambda said: set(said) != {"?"}
    )
)
@examples(25)
def test_every_mean_over_fewer_seeds_is_flagged_and_no_other(said: list[str]) -> None:
    def answer(asked):
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        letter = said[asked.body["seed"] - 1]
        return Canned(completion("Hard to say." if letter == "?" else f"<answer>{letter}</answer>"))

    with canned(answer) as (url, _):
        found = predict(METHOD, url, seeds=",".join(str(i + 1) for i in range(len(said))))
    read = [letter for letter in said if letter != "?"]
    assert found.prediction.prediction_up == pytest.approx(read.count("A") / len(read))
    assert found.prediction.prediction_down == pytest.approx(read.count("B") / len(read))
    assert found.prediction.flags == ((Flag.FEWER_SEEDS,) if len(read) < len(said) else ())
    told = [event.meta for event in found.events if event.kind == "arithmetic"]
    assert told == ([{"read": len(read), "asked": len(said)}] if len(read) < len(said) else [])


def test_a_row_that_no_seed_answers_gets_the_base_rates_and_says_so() -> None:
    with serving(Script(faults=Faults(wrong_format=1))) as url:
        found = predict(METHOD, url)
        assert request_counts(url)[CHAT] == 6
        with pytest.raises(RowFailed) as failed:
            predict(METHOD, url, view=BLIND)
    assert found.prediction.flags == (Flag.DE_FALLBACK, Flag.DIR_FALLBACK)
    # 5 of the 9 rows in view changed, 3 of them up.
    assert found.prediction.prediction_up == pytest.approx(3 / 9)
    assert found.prediction.prediction_down == pytest.approx(2 / 9)
    assert isinstance(failed.value.cause, NoBaseRates)
    assert len(failed.value.calls) == 6


def test_log_probabilities_are_the_servers_own_odds_averaged() -> None:
    with serving() as url:
        found = predict(METHOD, url, answers="logprobs")
    odds = [
        scripted_probabilities(read_prompt(json.loads(call.request), seed=0))
        for call in found.calls
    ]
    assert len(odds) == 3
    assert found.prediction.prediction_up == pytest.approx(sum(one["A"] for one in odds) / 3)
    assert found.prediction.prediction_down == pytest.approx(sum(one["B"] for one in odds) / 3)
    assert {json.loads(call.request)["seed"] for call in found.calls} == {42, 43, 44}


def test_broken_log_probabilities_are_asked_for_again_then_missing() -> None:
    with serving(Script(faults=Faults(not_finite=1))) as url:
        found = predict(METHOD, url, answers="logprobs", seeds="42")
    assert [event.kind for event in found.events] == ["rejected", "answer"]
    assert found.prediction.flags == (Flag.DE_FALLBACK, Flag.DIR_FALLBACK)


@pytest.mark.parametrize(
    ("script", "options", "cause"),
    [
        (Script(logprobs="refused"), {"answers": "logprobs"}, NoLogprobs),
        (Script(logprobs="left out"), {"answers": "logprobs"}, NoLogprobs),
        (Script(faults=Faults(error=1)), {}, Unanswered),
        (Script(faults=Faults(empty=1)), {}, Truncated),
        (Script(), {"max_tokens": 2}, Truncated),
        (Script(max_model_len=500), {}, Refused),
    ],
)
def test_failures_are_typed_and_keep_every_call(
    script: Script, options: dict[str, object], cause: type[DeskError]
) -> None:
    with serving(script) as url, pytest.raises(RowFailed) as failed:
        try:
            predict(METHOD, url, **options)
        finally:
            asked = request_counts(url)[CHAT]
    assert isinstance(failed.value.cause, cause)
    assert sum(call.attempts for call in failed.value.calls) == asked
    assert len(failed.value.calls) == 3
    assert all(call.error.startswith(f"{cause.__name__}: ") for call in failed.value.calls)
    assert all(json.loads(call.request)["messages"] for call in failed.value.calls)


def test_what_the_calls_cost_is_what_the_server_did() -> None:
    faults = Faults(error=0.1, busy=0.1, dropped=0.1, half=0.1, wrong_format=0.2)
    with serving(Script(faults=faults, retry_after_s=0)) as url:
        found = predict(METHOD, url, seeds="1,2,3,4,5,6,7,8")
        assert sum(call.attempts for call in found.calls) == request_counts(url)[CHAT]
    once = [call for call in found.calls if call.attempts == 1]
    assert once
    for call in once:
        usage = json.loads(call.reply)["usage"]
        assert (call.prompt_tokens, call.completion_tokens) == (
            usage["prompt_tokens"],
            usage["completion_tokens"],
        )
        assert call.reasoning_tokens == usage["completion_tokens_details"]["reasoning_tokens"]
    assert found.prediction.tokens == sum(
        call.prompt_tokens + call.completion_tokens for call in found.calls
    )
    assert sum(event.tokens or 0 for event in found.events) == found.prediction.tokens


def test_seeds_are_asked_at_the_same_time() -> None:
    with serving(Script(delay_s=0.5)) as url:
        predict(METHOD, url)
        assert request_counts(url)["most at once"] == 3


def test_a_repeated_row_is_free_and_says_so(tmp_path: Path) -> None:
    with serving() as url:
        first = predict(METHOD, url, cache=ReplyCache(tmp_path / "llm.sqlite"))
        asked = request_counts(url)[CHAT]
        again = predict(METHOD, url, cache=ReplyCache(tmp_path / "llm.sqlite"))
        assert request_counts(url)[CHAT] == asked
    assert again.prediction == first.prediction
    assert [call.cached for call in (*first.calls, *again.calls)] == [False] * 3 + [True] * 3


def prompt(**options: object) -> str:
    return prompt_for(TEST, context(METHOD, **options))


def test_the_prompt_says_what_is_asked_for() -> None:
    assert "Perturbed gene: Jak1\nTarget gene: Gm12345" in prompt()
    assert "Reason in at most" in prompt()
    assert "Reason in at most" not in prompt(reasoning=False)
    assert "CRISPRi" in prompt()
    assert "nine hours" in prompt(context="site")
    assert "Measured outcomes" not in prompt()
    assert "Measured outcomes" in prompt(shots=2)
    assert not set("{}") & set(prompt(shots=4))


def test_a_prompt_of_ones_own() -> None:
    assert (
        prompt(template="{pert} / {gene} in {cell_desc} {{x}}", context="cells")
        == "Jak1 / Gm12345 in cells {x}"
    )
    with_examples = prompt(template="{pert} {gene}", shots=2)
    assert with_examples.startswith("Measured outcomes")
    assert with_examples.endswith("\n\nJak1 Gm12345")
    placed = prompt(template="{pert} {gene}\n{examples}\nEnd", shots=2)
    assert placed.startswith("Jak1 Gm12345\nMeasured outcomes")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"template": "{pert} {gene} {cells}"}, "template: {cells} is not known"),
        ({"template": "{pert} alone"}, "without {gene}"),
        ({"template": "{gene} {pert}", "answers": "logprobs"}, "asks for no <answer>"),
        ({"seeds": "forty-two"}, "seeds: got 'forty-two'"),
        ({"context": ""}, "context: empty"),
    ],
)
def test_what_no_prompt_can_be_made_from_is_refused_before_a_run(
    options: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as error:
        METHOD.prompts(read_options(METHOD.settings, options))
    assert said in str(error.value)


def test_the_prompt_texts_tell_runs_apart() -> None:
    variants = ({}, {"context": "site"}, {"reasoning": False}, {"template": "{pert} {gene}"})
    texts = [METHOD.prompts(read_options(METHOD.settings, options)) for options in variants]
    assert len(set(texts)) == 4
    assert METHOD.prompts(read_options(METHOD.settings, {})) == texts[0]
    assert METHOD.calls(read_options(METHOD.settings, {"seeds": "1,2"})) == 2


def test_a_prompt_that_may_be_too_long_is_not_sent() -> None:
    words = "word " * (A_PROMPT_TOKENS // 2) + "{pert} {gene}"
    with serving() as url:
        fits = predict(METHOD, url, template=words).prediction.prompt_tokens
        assert 2_048 < fits <= A_PROMPT_TOKENS
        asked = request_counts(url)[CHAT]
        with pytest.raises(RowFailed, match=r"counted by server\), expected at most 4,096"):
            predict(METHOD, url, template=words * 2)
        assert request_counts(url)[CHAT] == asked
    # Without a tokenizer only the number of bytes is known, which is no less than the number of tokens.
    with serving(Script(tokenizer=False)) as url:
        assert (
            predict(METHOD, url).events[0].meta["counted_by"] == "server"
        )  # its answer's own report
        assert request_counts(url)["/v1/chat/completions"] == 3  # and nothing else was asked
        with pytest.raises(RowFailed, match="an upper bound"):
            predict(METHOD, url, template=words)


def test_an_unknown_model_is_refused() -> None:
    with serving() as url, pytest.raises(RowFailed) as failed:
        predict(METHOD, url, model="another")
    assert isinstance(failed.value.cause, Refused)
