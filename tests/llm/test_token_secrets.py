"""An answer keeps no log-probabilities if a secret is cut into its tokens, however it is cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.base.net.scrubber import Scrubber
from core.llm.completion import Answer, read_scrubbed

SECRET = "sk-0123456789abcdef"
TEXT = f"It is {SECRET}, so <answer>A</answer>"


def body_of(cuts: list[int]) -> dict[str, Any]:
    tokens = [TEXT[start:end] for start, end in pairwise([0, *sorted(cuts), len(TEXT)])]
    entries = [
        {"token": token, "bytes": [*token.encode()], "logprob": -1.0, "top_logprobs": []}
        for token in tokens
    ]
    return {"choices": [{"message": {"content": "A"}, "logprobs": {"content": entries}}]}


@given(st.lists(st.integers(0, len(TEXT)), max_size=30))
def test_an_answer_in_whose_tokens_a_secret_stands_has_no_log_probabilities(
    cuts: list[int],
) -> None:
    raw, answer = read_scrubbed(json.dumps(body_of(cuts)), Scrubber([SECRET]))
    assert isinstance(answer, Answer)
    assert answer.logprobs is None
    assert "0123" not in raw


def test_tokens_without_a_secret_stay_as_they_are() -> None:
    text = json.dumps(body_of([3]))
    assert read_scrubbed(text, Scrubber(["another-secret"]))[0] == text
