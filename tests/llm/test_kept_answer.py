"""What of a raw answer is kept with a row's calls: of a long one the text, and what was left out."""

from __future__ import annotations

import json

import pytest

from core.llm.completion import Answer, read_answer
from core.llm.kept_answer import LONG_CHARACTERS, MOST_CHARACTERS, NOTE, kept_answer
from tests.llm.canned import completion


def with_logprobs(tokens: int) -> str:
    alternatives = [{"token": letter, "logprob": -1.0} for letter in "ABC"]
    each = {"token": "a", "logprob": -1.0, "top_logprobs": alternatives}
    return json.dumps(completion("<answer>A</answer>", logprobs={"content": [each] * tokens}))


@pytest.mark.parametrize("raw", [with_logprobs(3), json.dumps(completion("yes")), "no JSON", "[]"])
def test_a_short_answer_is_kept_as_it_came(raw: str) -> None:
    assert kept_answer(raw) == raw


def test_a_long_one_without_its_log_probabilities_says_so_in_front() -> None:
    raw = with_logprobs(2_000)
    kept = kept_answer(raw)
    assert len(raw) > LONG_CHARACTERS > len(kept)
    assert next(iter(json.loads(kept))) == NOTE
    left = len(raw) - len(json.dumps(completion("<answer>A</answer>", logprobs=None)))
    assert json.loads(kept)[NOTE] == f"log-probabilities, {left:,} characters"
    read, whole = read_answer(kept), read_answer(raw)
    assert isinstance(read, Answer)
    assert isinstance(whole, Answer)
    assert (read.content, read.usage, read.logprobs) == (whole.content, whole.usage, None)


@pytest.mark.parametrize(
    "long",
    [
        "x" * LONG_CHARACTERS,
        json.dumps({"choices": ["x" * LONG_CHARACTERS]}),
        "[" + "1," * LONG_CHARACTERS,
    ],
)
def test_what_holds_none_is_kept_as_it_came(long: str) -> None:
    assert kept_answer(long) == long


def test_of_what_is_longer_than_any_answer_the_end_is_left_out() -> None:
    kept = kept_answer("x" * (MOST_CHARACTERS + 1_234))
    assert kept == "x" * MOST_CHARACTERS + f"… (1,234 more characters {NOTE})"
