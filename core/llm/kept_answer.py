"""What of a raw answer is kept with a row's calls. The reply cache has all of it, packed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.llm.answers import read_json
from core.net.long_texts import read_aside

LONG_CHARACTERS = 1 << 16  # an answer of this length or less is kept as it came
MOST_CHARACTERS = 1 << 20  # a longer answer is no longer JSON when it is kept: its end is left out
NOTE = "left out here"


async def keep_answer(raw: str) -> str:
    """As `kept_answer`; a long one in a thread."""
    return await read_aside(kept_answer, raw)


def kept_answer(raw: str) -> str:
    """Return a raw answer as it is kept: a long one without the log-probabilities of its tokens, and says so in front.

    What a method reads from them is in the row's trace by then. Those of one token with twenty alternatives are 2 KB: the rows
    of a run would be gigabytes that nobody looks at.
    """
    if len(raw) <= LONG_CHARACTERS:
        return raw
    text = _without_logprobs(raw)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS:,} more characters {NOTE})"


def _without_logprobs(raw: str) -> str:
    try:
        body = read_json(raw)
    except ValueError:
        return raw
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list):
        return raw
    kept = [_without(choice) for choice in choices]
    if kept == choices:
        return raw
    shorter = {**body, "choices": kept}
    text = json.dumps(shorter)
    return json.dumps({NOTE: f"log-probabilities of {_count(choices):,} tokens, {len(raw) - len(text):,} characters"} | shorter)


def _without(choice: Any) -> Any:
    """Return a choice without its log-probabilities."""
    return {**choice, "logprobs": None} if isinstance(choice, Mapping) and choice.get("logprobs") else choice


def _count(choices: list[Any]) -> int:
    """Return how many tokens of the choices have log-probabilities."""
    given = [choice.get("logprobs") for choice in choices if isinstance(choice, Mapping)]
    tokens = [logprobs.get("content") for logprobs in given if isinstance(logprobs, Mapping)]
    return sum(len(each) for each in tokens if isinstance(each, list))
