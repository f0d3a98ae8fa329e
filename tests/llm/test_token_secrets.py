"""A secret that is cut into the tokens of an answer stands in none of its log-probabilities, however it is cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.base.net.scrubber import Scrubber
from core.llm.completion import read_scrubbed

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
def test_one_token_takes_the_place_of_those_that_a_secret_is_cut_into(cuts: list[int]) -> None:
    raw, answer = read_scrubbed(json.dumps(body_of(cuts)), Scrubber([SECRET]))
    assert not isinstance(answer, str)
    assert answer.logprobs is not None
    assert [token.token for token in answer.logprobs].count("[key]") == 1
    assert sum(token.logprob for token in answer.logprobs) == -1.0 * (len(cuts) + 1)
    kept = json.loads(raw)["choices"][0]["logprobs"]["content"]
    assert not any(piece in "".join(token["token"] for token in kept) for piece in ("0123", "cdef"))
    assert b"0123" not in bytes(byte for token in kept for byte in token.get("bytes", ()))


def test_tokens_without_a_secret_stay_as_they_are() -> None:
    text = json.dumps(body_of([3]))
    assert read_scrubbed(text, Scrubber(["another-secret"]))[0] == text
