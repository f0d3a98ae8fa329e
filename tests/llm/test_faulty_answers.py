"""The client against a model that fails in every way: right answers or typed failures."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from typing import Any

import pytest

from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import ModelError, Refused, Truncated, Unanswered
from core.llm.logprobs import LetterProbabilities, letter_probabilities
from core.llm.messages import Message, Reply, Request
from core.llm.parsing import Unparsed
from core.net.server_access import ServerAccess
from tests.fakes.scripted import Faults, Script, read_prompt, request_counts, scripted_probabilities, serving

PROMPT = "A) up\nB) down\nC) none\nWhat does knockdown of {} do to Mmp14? Reply with <answer>letter</answer>."
RATE = 0.024


def request(number: int, **more: Any) -> Request:
    return Request("scripted", (Message("user", PROMPT.format(f"Gene{number}")),), seed=42, **more)


def outcomes(url: str, requests: list[Request], concurrency: int = 16, **limits: Any) -> list[Reply | ModelError]:
    async def one(client: Client, what: Request) -> Reply | ModelError:
        try:
            return await client.complete(what)
        except ModelError as error:
            return error

    async def ask() -> list[Reply | ModelError]:
        async with Client(Endpoint(url, backoff_s=0.001, **limits), concurrency=concurrency) as client:
            return await asyncio.gather(*(one(client, what) for what in requests))

    return asyncio.run(ask())


def test_reasoning_uses_up_the_budget_first() -> None:
    with serving() as url:
        (whole,) = outcomes(url, [request(1)])
        assert isinstance(whole, Reply)
        reasoning, all_ = whole.usage.reasoning_tokens, whole.usage.completion_tokens
        # Half of the reasoning, and twice that: no content. All but one token: cut; and twice that is enough.
        short, enough = outcomes(
            url, [request(1, max_completion_tokens=reasoning // 2), request(1, max_completion_tokens=all_ - 1)]
        )
    assert isinstance(short, Truncated)
    assert "no content" in str(short)
    assert isinstance(enough, Reply)
    assert (enough.content, enough.attempts) == (whole.content, 2)


def test_what_it_refuses() -> None:
    with serving(Script(api_key="sesame-sesame", max_model_len=50)) as url:
        (keyless,) = outcomes(url, [request(1)])
        long, other = outcomes(
            url,
            [request(1, max_completion_tokens=50), Request("gpt", request(1).messages)],
            access=ServerAccess.of(url, "sesame-sesame"),
        )
    assert [type(one) for one in (keyless, long, other)] == [Refused] * 3
    assert "HTTP 401" in str(keyless)
    assert "maximum context length is 50" in str(long)
    assert "`gpt` does not exist, only `scripted`" in str(other)


@pytest.mark.soak
def test_no_more_at_once_than_the_cap() -> None:
    with serving(Script(delay_s=0.02)) as url:
        outcomes(url, [request(number) for number in range(30)], concurrency=5)
        counts = request_counts(url)
    assert (counts["/v1/chat/completions"], counts["most at once"]) == (30, 5)


SAID = {
    "error": "HTTP 500 (Scripted: error.)",
    "unavailable": "HTTP 503",
    "busy": "HTTP 429",
    "busy_silent": "HTTP 429",
    "busy_absurd": "HTTP 429",
    "redirect": "HTTP 302, a redirect to http://127.0.0.1:9/login, which is not followed",
    "dropped": "the connection failed",
    "reset": "the connection failed",
    "wrong_length": "the answer broke off",
    "bad_chunks": "the connection failed",
    "huge": "an answer of more than 4,000,000 bytes",
    "bomb": "an answer of more than 4,000,000 bytes",
    "half": "no JSON",
    "null": "no choices",
    "html": "no JSON",
    "deep": "no JSON (nested too deeply)",
    "big_integer": "no JSON",
    "bad_utf8": "an answer that is not UTF-8",
    "no_choices": "no choices",
    "empty": "no content",
    "no_logprobs": "no log-probabilities of scripted",
    "hang": "no answer within 0.2 s",
    "drip": "no answer within 0.2 s",
}


@pytest.mark.few(26)
@pytest.mark.parametrize("fault", Faults.names())
def test_each_fault_alone(fault: str) -> None:
    """A server that always fails in one way gives a typed failure that says how, and no wrong answer."""
    script = Script(faults=Faults(**{fault: 1.0}), retry_after_s=0.01)
    with serving(script) as url:
        timeout_s = 0.2 if fault in ("hang", "drip") else 30.0
        [found] = outcomes(url, [request(1, top_logprobs=20)], retries=1, timeout_s=timeout_s)
        assert request_counts(url)[fault] == request_counts(url)["/v1/chat/completions"]
    if fault in SAID:
        assert isinstance(found, ModelError)
        assert SAID[fault] in str(found)
        final = fault in ("redirect", "huge", "bomb", "no_logprobs", "drip")  # a drip began in time: it would take as long again
        assert found.usage.attempts == (1 if final else 2)
    else:
        assert isinstance(found, Reply)
        assert found.logprobs is not None
        readable = fault in ("absurd_usage", "other_model")
        assert isinstance(letter_probabilities(found.logprobs, content=found.content), Unparsed) is not readable
        assert found.usage.uncounted == (fault == "absurd_usage")


@pytest.mark.soak
def test_waits_that_no_client_can_keep() -> None:
    script = Script(faults=Faults(busy_absurd=1.0))
    with serving(script) as url:
        found = outcomes(url, [request(number) for number in range(40)], retries=1, timeout_s=30.0)
    far = [one for one in found if "asks to wait 1,000,000,000 s, expected at most 120" in str(one)]
    assert {type(one) for one in found} == {Unanswered}
    assert 0 < len(far) < 40
    assert all(one.usage.attempts == (1 if one in far else 2) for one in found)


@pytest.mark.soak
def test_with_every_fault_now_and_then_each_row_is_right_or_a_typed_failure() -> None:
    """Faults that end an answer after seconds are left out: they have tests of their own."""
    quick = [name for name in Faults.names() if name not in ("hang", "drip")]
    script = Script(faults=Faults.each(RATE, *quick), retry_after_s=0.01)
    requests = [request(number, max_completion_tokens=500, top_logprobs=20) for number in range(250)]
    with serving(script) as url:
        found = Counter(map(verdict, outcomes(url, requests, concurrency=64, retries=3, timeout_s=60.0)))
        counts = request_counts(url)
    assert set(found) <= {"right", "no letter", "no number", "Truncated", "Unanswered", "Malformed", "NoLogprobs", "Refused"}
    assert found["right"] > 0.6 * len(requests)
    assert all(counts[name] > 0 for name in quick)
    assert counts["/v1/chat/completions"] > len(requests)


def verdict(found: Reply | ModelError) -> str:
    """Whether a row is right: its probabilities are those that the server drew; else why there are none."""
    if isinstance(found, ModelError):
        assert found.usage.attempts > 0
        return type(found).__name__
    assert found.logprobs is not None
    letters = letter_probabilities(found.logprobs, content=found.content)
    if isinstance(letters, Unparsed):
        return "no number" if "has no log-probability" in letters.reason else "no letter"
    assert isinstance(letters, LetterProbabilities)
    assert letters.probabilities == pytest.approx(scripted_probabilities(read_prompt(json.loads(found.request), 0)))
    assert math.isclose(sum(letters.probabilities.values()), 1)
    return "right"
