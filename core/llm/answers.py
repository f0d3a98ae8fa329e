"""Reads the JSON of a chat completion; nothing about its shape is taken for granted."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from core.llm.messages import TokenLogprob, Usage
from core.llm.token_secrets import hide_in_tokens
from core.net.scrubber import Scrubber
from core.texts import parse_json, replace_surrogates

# Of content, and of reasoning: twice what the longest answers of today's models hold, and read in a part of a second.
MAX_CHARACTERS = 1_000_000
_MOST_TOKENS = 10**9
_LONGEST_NAME = 200
_MOST_READ = 10  # times the characters that are shown of an error: blanks and controls are left out
_SHORT = 1 << 16  # characters that are parsed in no time


@dataclass(frozen=True, slots=True)
class Answer:
    """The first choice of a completion. content: None if the server sent none. usage: holds tokens only.

    model: by which the server says that it was written, "" if it does not say.
    """

    content: str | None
    reasoning: str
    finish_reason: str
    usage: Usage
    logprobs: tuple[TokenLogprob, ...] | None
    model: str = ""

    @property
    def is_too_long(self) -> bool:
        """Whether it holds more text than any model's answer."""
        return max(len(self.content or ""), len(self.reasoning)) > MAX_CHARACTERS

    @property
    def is_complete(self) -> bool:
        """Whether there is content, and it was not cut at the token limit."""
        return bool(self.content and self.content.strip()) and self.finish_reason != "length"


def read_json(text: str) -> Any:
    """A JSON value; NaN and Infinity are allowed. Raises ValueError for anything else."""
    return parse_json(text)


def read_answer(text: str) -> Answer | str:
    """The answer in the body of a response, or a phrase that says what is wrong with the body."""
    return read_scrubbed(text, Scrubber(()))[1]


def read_scrubbed(text: str, scrub: Scrubber) -> tuple[str, Answer | str]:
    """The body of a response without the secrets that are cut into its tokens, and what `read_answer` reads in it."""
    try:
        body = read_json(text)
    except ValueError as error:
        return text, f"no JSON ({error})"
    if hide_in_tokens(body, scrub):
        text = json.dumps(body)
    return text, _answer_in(body, text)


def _answer_in(body: Any, text: str) -> Answer | str:
    match body:
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            pass
        case {"error": _}:
            return f"no choices but an error: {error_message_of(text)}"
        case _:
            return "no choices"
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        return f"content of type {type(content).__name__}"
    reasoning = (part for name in ("reasoning", "reasoning_content") if isinstance(part := message.get(name), str) and part)
    return Answer(
        None if content is None else replace_surrogates(content),
        replace_surrogates(next(reasoning, "")),
        _name(choice.get("finish_reason")),
        _usage(body.get("usage")),
        _logprobs(choice.get("logprobs")),
        _name(body.get("model")),
    )


async def read_scrubbed_aside(text: str, scrub: Scrubber) -> tuple[str, Answer | str]:
    """As `read_scrubbed`; a long text is read in a thread, one at a time, so that what else goes on has its turn."""
    if len(text) <= _SHORT:
        return read_scrubbed(text, scrub)
    return await asyncio.get_running_loop().run_in_executor(_reader(), read_scrubbed, text, scrub)


@lru_cache(maxsize=1)
def _reader() -> ThreadPoolExecutor:
    """One thread: several that parse at a time would keep Python to themselves for as long as all of them take."""
    return ThreadPoolExecutor(1, "answers")


def error_message_of(text: str, max_length: int = 300) -> str:
    """A server's own error message on one line: the text under error, message or detail, else the whole body."""
    try:
        value = read_json(text)
    except ValueError:
        value = text
    while isinstance(value, Mapping):
        value = next((value[name] for name in ("error", "message", "detail") if value.get(name)), None)
    said = (value if isinstance(value, str) else text)[: _MOST_READ * max_length]
    line = " ".join("".join(character if character.isprintable() else " " for character in said).split())
    return line if len(line) <= max_length else f"{line[:max_length]}…"


def _name(value: Any) -> str:
    """A name that a server gives, on one line and in short; "" if it gives none."""
    return " ".join(replace_surrogates(value).split())[:_LONGEST_NAME] if isinstance(value, str) else ""


def _usage(report: Any) -> Usage:
    """The tokens that the server reports; one uncounted answer if it reports none."""
    if not isinstance(report, Mapping):
        return Usage(uncounted=1)
    prompt, completion = read_token_count(report.get("prompt_tokens")), read_token_count(report.get("completion_tokens"))
    details = report.get("completion_tokens_details")
    reasoning = read_token_count(details.get("reasoning_tokens")) if isinstance(details, Mapping) else None
    return Usage(
        prompt_tokens=prompt or 0,
        completion_tokens=completion or 0,
        reasoning_tokens=reasoning or 0,
        uncounted=int(prompt is None or completion is None),
    )


def read_token_count(value: Any) -> int | None:
    """A number of tokens; None if it is none, or more than any model writes or reads."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if is_count else None


def _logprobs(value: Any) -> tuple[TokenLogprob, ...] | None:
    """The tokens with their log-probabilities; None if they are missing or malformed."""
    if not isinstance(value, Mapping) or not isinstance(value.get("content"), list):
        return None
    try:
        return tuple(
            TokenLogprob(
                _text(token["token"]),
                _number(token["logprob"]),
                tuple((_text(other["token"]), _number(other["logprob"])) for other in token.get("top_logprobs") or ()),
            )
            for token in value["content"]
        )
    except (TypeError, ValueError, OverflowError, KeyError, AttributeError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a token of type {type(value).__name__}")
    return value


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
