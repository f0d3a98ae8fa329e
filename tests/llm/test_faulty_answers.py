"""The client against a model that fails in every way: right answers or typed failures."""

from __future__ import annotations

from typing import Any

import pytest

from core.llm.answers import Unread
from core.llm.errors import ModelError
from core.llm.logprobs import letter_probabilities
from core.llm.messages import Message, Reply, Request
from tests.fakes.scripted import Faults, Script, request_counts, serving
from tests.llm.canned import outcomes

PROMPT = "A) up\nB) down\nC) none\nWhat does knockdown of {} do to Mmp14? Reply with <answer>letter</answer>."


def request(number: int, **more: Any) -> Request:
    return Request("scripted", (Message("user", PROMPT.format(f"Gene{number}")),), seed=42, **more)


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
        final = fault in (
            "redirect",
            "huge",
            "bomb",
            "no_logprobs",
            "drip",
        )  # a drip began in time: it would take as long again
        assert found.usage.attempts == (1 if final else 2)
    else:
        assert isinstance(found, Reply)
        assert found.logprobs is not None
        readable = fault in ("absurd_usage", "other_model")
        assert (
            isinstance(letter_probabilities(found.logprobs, content=found.content), Unread)
            is not readable
        )
        assert found.usage.uncounted == (fault == "absurd_usage")
