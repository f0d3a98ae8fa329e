"""One prompt a row for a model of one's own, against servers on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from core.base.errors import InputError
from core.base.fields.record import read_options
from core.base.types import Flag
from core.features.finetune.local_model import METHOD, MOST_SAMPLES
from core.methods.base import RowFailed
from core.methods.prompt_only import METHOD as PROMPT_ONLY
from core.methods.prompt_only import prompt_for
from core.methods.prompts import C_NEW_TOKENS
from tests.evidence.world import TEST
from tests.fakes.scripted import read_prompt, scripted_probabilities, serving
from tests.llm.canned import Asked, Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import BLIND, context, predict

CHAT = "/v1/chat/completions"
LETTERS = {"answers": "letters"}
FIRST = 7 * MOST_SAMPLES  # the seed of the first sample: the run's is 7


def asks(
    answer: Callable[[int], str], critic: Callable[[str], str] = lambda _: ""
) -> Callable[[Asked], Canned]:
    """A server that answers by the number of the sample, and as a critic by the answer that it is shown."""

    def reply(asked: Asked) -> Canned:
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        text = str(asked.body["messages"][0]["content"])
        if text.startswith("You check an answer"):
            return Canned(completion(critic(text.partition("The answer:\n")[2].partition("\n")[0])))
        return Canned(completion(answer(int(asked.body["seed"]) - FIRST)))

    return reply


def letters(said: str) -> Callable[[int], str]:
    return lambda i: f"<answer>{said[i]}</answer>" if said[i] != "?" else "Hard to say."


def test_one_answer_by_default_with_log_probabilities_and_the_prompt_without_reasons() -> None:
    with serving() as url:
        found = predict(METHOD, url)
    [call] = found.calls
    prompt = prompt_for(TEST, context(METHOD))
    assert prompt == prompt_for(
        TEST, context(PROMPT_ONLY, reasoning="no")
    )  # what a fine-tune is trained on
    odds = scripted_probabilities(read_prompt(json.loads(call.request), seed=0))
    assert found.prediction.prediction_up == pytest.approx(odds["A"], abs=1e-6)
    assert found.prediction.prediction_down == pytest.approx(odds["B"], abs=1e-6)
    assert (found.prediction.flags, found.prediction.tool_calls) == ((), 0)
    assert json.loads(call.request)["seed"] == FIRST


def test_the_mean_of_several_and_fewer_is_flagged() -> None:
    with canned(asks(letters("AB"))) as (url, _):
        both = predict(METHOD, url, samples=2, **LETTERS).prediction
    assert (both.prediction_up, both.prediction_down, both.flags) == (0.5, 0.5, ())
    with canned(asks(letters("AB?"))) as (url, _):
        fewer = predict(METHOD, url, samples=3, **LETTERS).prediction
    assert (fewer.prediction_up, fewer.prediction_down, fewer.flags) == (
        0.5,
        0.5,
        (Flag.FEWER_SEEDS,),
    )


def test_the_best_is_the_answer_of_whose_letter_the_model_is_surest() -> None:
    with serving() as url:
        said = [predict(METHOD, url, samples=n) for n in (1, 4)]
        best = predict(METHOD, url, samples=4, choose="best")
    each = [
        (event.meta["prediction_up"], event.meta["prediction_down"])
        for event in said[1].events
        if event.kind == "answer"
    ]
    surest = max(each, key=lambda one: max(*one, 1 - sum(one)))
    assert (best.prediction.prediction_up, best.prediction.prediction_down) == surest
    assert best.events[-1].content.startswith(
        f"Answer {each.index(surest) + 1} of 4 is taken, for which the model itself gives"
    )
    assert len(best.calls) == 4


def test_a_critic_chooses_and_is_asked_once_for_each_readable_answer() -> None:
    likely = {"<answer>A</answer>": "<prob>20</prob>", "<answer>B</answer>": "<prob>70</prob>"}
    with canned(asks(letters("AB?"), likely.__getitem__)) as (url, asked):
        found = predict(METHOD, url, samples=3, choose="critic", **LETTERS)
    assert (found.prediction.prediction_up, found.prediction.prediction_down) == (0.0, 1.0)
    assert found.prediction.flags == (Flag.FEWER_SEEDS,)  # the third could not be read
    verdicts = [event for event in found.events if event.role == "CRITIC"]
    assert [event.meta["probability"] for event in verdicts] == [0.2, 0.7]
    assert (
        found.events[-1].content
        == "Answer 2 of 3 is taken, for which the critic gives 0.700000: up 0.000000, down 1.000000."
    )
    chats = [one for one in asked if one.path == CHAT]
    assert (
        len(chats) == len(found.calls) == 3 + 1 + 2
    )  # three answers, one asked again, two verdicts
    assert all(
        len(one.body["messages"]) == 1
        for one in chats
        if one.body["messages"][0]["content"].startswith("You check")
    )


def test_of_equal_verdicts_the_first_answer_counts() -> None:
    with canned(asks(letters("CA"), lambda _: "<prob>50</prob>")) as (url, _):
        found = predict(METHOD, url, samples=2, choose="critic", **LETTERS).prediction
    assert (found.prediction_up, found.prediction_down, found.flags) == (0.0, 0.0, ())


def test_the_mean_stands_in_flagged_where_no_verdict_can_be_read() -> None:
    with canned(asks(letters("AC"), lambda _: "Who knows.")) as (url, _):
        found = predict(METHOD, url, samples=2, choose="critic", **LETTERS)
    assert (found.prediction.prediction_up, found.prediction.prediction_down) == (0.5, 0.0)
    assert found.prediction.flags == (Flag.FEWER_SEEDS,)
    assert (
        found.events[-1].content
        == "No verdict of the critic can be read: the mean of 2 answers stands in."
    )
    assert [event.kind for event in found.events if event.role == "CRITIC"] == [
        "rejected",
        "verdict",
    ] * 2


@pytest.mark.parametrize("choose", ["mean", "critic"])
def test_base_rates_stand_in_flagged_where_no_answer_can_be_read(choose: str) -> None:
    with canned(asks(letters("??"))) as (url, _):
        found = predict(METHOD, url, samples=2, choose=choose, **LETTERS)
        with pytest.raises(RowFailed, match="0 labelled rows are in view"):
            predict(METHOD, url, view=BLIND, samples=2, choose=choose, **LETTERS)
    assert found.prediction.p_de == pytest.approx(5 / 9)  # of the nine rows in view
    assert found.prediction.flags == (Flag.DE_FALLBACK, Flag.DIR_FALLBACK)


def test_a_call_that_fails_fails_the_row() -> None:
    def refuses(asked):
        fails = asked.path == CHAT and asked.body["seed"] == FIRST + 1
        return Canned({"error": {"message": "no"}}, 400) if fails else asks(letters("AA"))(asked)

    with canned(refuses) as (url, _), pytest.raises(RowFailed) as failed:
        predict(METHOD, url, samples=2, **LETTERS)
    assert len(failed.value.calls) == 2


def test_options_that_do_not_go_together_are_refused() -> None:
    def options(**given):
        return read_options(METHOD.settings, given)

    assert METHOD.calls(options(samples="3")) == 3
    assert METHOD.calls(options(samples="3", choose="critic")) == 6
    assert METHOD.calls(options(choose="critic")) == 1  # of one answer there is nothing to choose
    assert "The answer:" in METHOD.prompts(options(samples=2, choose="critic"))
    assert "The answer:" not in METHOD.prompts(options(choose="critic"))
    with pytest.raises(InputError, match="expected answers=logprobs"):
        METHOD.prompts(options(choose="best", answers="letters"))
    with pytest.raises(
        InputError, match=f"expected a whole number, 1 to {C_NEW_TOKENS // 2}"
    ):  # a second attempt gets twice as many
        options(max_tokens=C_NEW_TOKENS)
