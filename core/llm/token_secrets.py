"""Secrets that are cut into the tokens of an answer with log-probabilities, where no single token shows one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from core.net.scrubber import HIDDEN, Scrubber


def hide_in_tokens(body: Any, scrub: Scrubber) -> bool:
    """Put one token `[key]` in the place of those that a secret is cut into, in the JSON of a completion; return whether there
    was one."""
    found = False
    for tokens in _token_lists(body):
        texts = [_text_of(token) for token in tokens]
        for start, end in reversed(_overlapping(texts, scrub.find("".join(texts)))):
            tokens[start:end] = [_marker(tokens[start:end])]
            found = True
    return found


def _token_lists(body: Any) -> Iterator[list[Any]]:
    """Yield the lists of tokens of all choices."""
    choices = body.get("choices") if isinstance(body, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
        if isinstance(logprobs, dict):
            yield from (tokens for tokens in logprobs.values() if isinstance(tokens, list))


def _text_of(token: Any) -> str:
    text = token.get("token") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def _overlapping(texts: list[str], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return which texts hold a part of a span of all of them joined: begins and ends, in order, none in two."""
    ends, i = list(accumulate(map(len, texts))), 0
    found: list[tuple[int, int]] = []
    for start, end in spans:
        while ends[i] <= start:
            i += 1
        first = i
        while ends[i] < end:
            i += 1
        if found and first < found[-1][1]:
            first = found.pop()[0]
        found.append((first, i + 1))
    return found


def _marker(tokens: list[Any]) -> Any:
    """Return what stands for tokens: with their log-probability together, without their bytes and what else was likely."""
    if not isinstance(tokens[0], dict):
        return HIDDEN
    logprobs = [token.get("logprob") for token in tokens if isinstance(token, dict)]
    are_numbers = all(isinstance(logprob, int | float) for logprob in logprobs)
    return {"token": HIDDEN, "logprob": sum(logprobs) if are_numbers else logprobs[0], "top_logprobs": []}
