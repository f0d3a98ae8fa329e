"""Asking for a row: every call is kept, in an order that does not depend on who answers first."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.base.fields.record import read_options
from core.base.types import Call, Label
from core.llm.answers import Unread
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import Refused, Unanswered
from core.llm.messages import Message
from core.methods.base import BatchMethod, RowFailed, RowMethod, methods
from core.methods.conversation import (
    CallSpec,
    NoBaseRates,
    RowConversation,
    ask_letter_again,
    ask_probability_again,
    base_rates,
    gather_all,
    raise_with_calls,
    read_probability,
)
from core.methods.debate import METHOD
from tests.evidence.world import TEST, pair
from tests.fakes.scripted import Script, request_counts, serving
from tests.llm.canned import Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import BLIND, VIEW, LabelView, context

WORDS = (Message("user", "How likely? <prob>NN</prob>"),)
ANYONE = CallSpec("de", "JUDGE", 1, 100)


async def asking(url: str, *voices: CallSpec) -> tuple[Call, ...]:
    async with Client(Endpoint(url, retries=0)) as client:
        row = RowConversation(context(METHOD, client), TEST)
        await asyncio.gather(
            *(row.read(voice, WORDS, read_probability, ask_probability_again) for voice in voices)
        )
        return row.calls


def test_calls_are_grouped_by_voice_whoever_is_first() -> None:
    voices = [
        CallSpec("de", "EFFECT", 1, 100),
        CallSpec("de", "NULL", 2, 100),
        CallSpec("dir", "UP", 3, 100),
    ]

    def answer(prompt):
        return "unclear" if "No probability can be read" not in prompt.text else "<prob>5</prob>"

    with serving(Script(answer=answer)) as url:
        calls = asyncio.run(asking(url, *voices))
    assert [(call.stage, call.role) for call in calls] == [
        (voice.stage, voice.role) for voice in voices for _ in range(2)
    ]
    assert len({call.key for call in calls}) == 6


def test_what_is_read_at_once_is_not_asked_again() -> None:
    async def read(url):
        async with Client(Endpoint(url)) as client:
            row = RowConversation(context(METHOD, client), TEST)
            found = await row.read(ANYONE, WORDS, read_probability, ask_probability_again)
            return found.value, len(row.calls)

    def answer(asked):
        assert asked.number == 0
        return Canned(completion("<prob>62.5</prob>"))

    with canned(answer) as (url, _):
        assert asyncio.run(read(url)) == (0.625, 1)


def test_a_failed_call_is_kept_with_what_was_said() -> None:
    async def fail(url):
        async with Client(Endpoint(url, retries=1, backoff_s=0)) as client:
            row = RowConversation(context(METHOD, client), TEST)
            with pytest.raises(Unanswered):
                await row.ask(ANYONE, WORDS)
            return row.calls

    with canned(lambda _: Canned({"error": {"message": "broken"}}, 500)) as (url, asked):
        (call,) = asyncio.run(fail(url))
    assert call.attempts == len(asked) == 2
    assert "How likely?" in call.request
    assert "broken" in call.reply
    assert call.error.startswith("Unanswered: ")
    assert (call.prompt_tokens, call.completion_tokens) == (0, 0)


@pytest.mark.parametrize("error", [Refused("no such model"), ZeroDivisionError()])
def test_a_rows_failure_carries_its_calls_whatever_it_was(error: Exception) -> None:
    async def fail(url):
        async with Client(Endpoint(url)) as client:
            row = RowConversation(context(METHOD, client), TEST)

            async def work():
                await row.ask(ANYONE, WORDS)
                raise error

            await raise_with_calls(row, work())

    with serving() as url, pytest.raises(RowFailed) as failed:
        asyncio.run(fail(url))
    assert failed.value.cause is error
    assert [call.stage for call in failed.value.calls] == ["de"]


def test_rows_that_ask_the_same_at_once_or_later_share_one_call() -> None:
    async def shared(url):
        async with Client(Endpoint(url, retries=0)) as client:  # without a cache on the disk
            here = context(METHOD, client)
            rows = [RowConversation(here, TEST) for _ in range(5)]
            replies = list(await asyncio.gather(*(row.ask_once(ANYONE, WORDS) for row in rows[:4])))
            replies.append(await rows[4].ask_once(ANYONE, WORDS))
            other = RowConversation(replace(here, repeat=1, notes=here.notes), TEST)
            await other.ask_once(ANYONE, WORDS)
            return [row.calls for row in (*rows, other)], [reply.content for reply in replies]

    with serving(Script(delay_s=0.05)) as url:
        calls, contents = asyncio.run(shared(url))
        assert request_counts(url)["/v1/chat/completions"] == 2  # another repeat is another request
    assert [[call.cached for call in of_row] for of_row in calls] == [
        [False],
        [True],
        [True],
        [True],
        [True],
        [False],
    ]
    assert len(set(contents)) == 1
    equal = {replace(call, cached=False) for of_row in calls[:5] for call in of_row}
    assert len(equal) == 1  # a row's call is the same whoever made it
    assert equal.pop().prompt_tokens > 0


def test_a_shared_call_that_fails_fails_every_row_that_waits_and_is_made_again_by_the_next() -> (
    None
):
    answers = iter([Canned({"error": "down"}, 503)])

    def answer(_):
        return next(answers, Canned(completion("Better.")))

    async def shared(url):
        async with Client(Endpoint(url, retries=0)) as client:
            here = context(METHOD, client)
            rows = [RowConversation(here, TEST) for _ in range(3)]
            first = await asyncio.gather(
                *(row.ask_once(ANYONE, WORDS) for row in rows[:2]), return_exceptions=True
            )
            last = await rows[2].ask_once(ANYONE, WORDS)
            return [*first, last.content], [row.calls for row in rows]

    with canned(answer) as (url, asked):
        (one, other, last), calls = asyncio.run(shared(url))
    assert isinstance(one, Unanswered)
    assert isinstance(other, Unanswered)
    assert last == "Better."
    assert len(asked) == 2
    assert [len(of_row) for of_row in calls] == [
        1,
        0,
        1,
    ]  # the failed call belongs to the row that made it


def test_together_ends_everything_before_it_raises_the_first_failure() -> None:
    ended = []

    async def work(name, delay_s, error=None):
        await asyncio.sleep(delay_s)
        ended.append(name)
        if error:
            raise error
        return name

    assert asyncio.run(gather_all(work("a", 0.02), work("b", 0))) == ["a", "b"]
    ended.clear()
    with pytest.raises(KeyError, match="first in order"):
        asyncio.run(
            gather_all(
                work("c", 0.03),
                work("d", 0.02, KeyError("first in order")),
                work("e", 0, ValueError("sooner")),
            )
        )
    assert ended == ["e", "d", "c"]


def test_base_rates_are_those_of_the_view() -> None:
    assert base_rates(VIEW, TEST) == (5 / 9, 3 / 5)
    with pytest.raises(NoBaseRates, match="0 labelled rows are in view"):
        base_rates(BLIND, TEST)
    with pytest.raises(NoBaseRates):
        base_rates(LabelView((pair("Jak1_Il6", Label.NONE),)), TEST)


def test_the_second_question_shows_the_format_and_why() -> None:
    problem = Unread("no number {here}")
    assert "(no number {here})" in ask_probability_again(problem)
    assert "<prob>NN</prob>" in ask_probability_again(problem)
    assert "A, B in this form" in ask_letter_again(problem, ("A", "B"))


def test_the_methods_of_this_room_are_found() -> None:
    known = methods()
    assert isinstance(known["debate"], RowMethod)
    assert isinstance(known["prompt_only"], RowMethod)
    assert isinstance(known["evidence_rules"], BatchMethod)
    for method in known.values():
        assert known[method.name] is method


def test_what_asks_no_model_says_so() -> None:
    silent = {name for name, method in methods().items() if not method.needs_model}
    assert silent >= {"knn", "fusion", "evidence_rules"}
    for name in silent:
        method = methods()[name]
        options = read_options(method.settings, {})
        assert (method.calls(options), method.prompts(options)) == (0.0, "")
