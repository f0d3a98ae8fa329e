"""The JSON of one chat completion, read without trusting it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.llm.messages import TokenLogprob, Usage


@dataclass(frozen=True, slots=True)
class Answer:
    """The first choice of a completion. content is None where the server sent none; usage holds tokens only."""

    content: str | None
    reasoning: str
    finish_reason: str
    usage: Usage
    logprobs: tuple[TokenLogprob, ...] | None

    @property
    def is_complete(self) -> bool:
        """Whether there is content, and the token limit did not cut it."""
        return bool(self.content and self.content.strip()) and self.finish_reason != "length"


def well_formed(text: str) -> str:
    """The text with a mark for each half of a surrogate pair: nobody could be sent it, and no file could hold it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_json(text: str) -> Any:
    """Any JSON value, NaN and Infinity included; raises ValueError for everything else."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_answer(text: str) -> Answer | str:
    """The answer in a body, or in words what is wrong with it."""
    try:
        body = read_json(text)
    except ValueError as error:
        return f"no JSON ({error})"
    match body:
        case {"choices": [{"message": {**message}, **choice}, *_]}:
            pass
        case {"error": _}:
            return f"no choices but an error: {message_of(text)}"
        case _:
            return "no choices"
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        return f"content of type {type(content).__name__}"
    reasoning = (said for name in ("reasoning", "reasoning_content") if isinstance(said := message.get(name), str) and said)
    return Answer(
        None if content is None else well_formed(content),
        well_formed(next(reasoning, "")),
        str(choice.get("finish_reason") or ""),
        _usage(body.get("usage")),
        _logprobs(choice.get("logprobs")),
    )


def message_of(text: str, longest: int = 300) -> str:
    """What a server says is wrong, on one line: the text under error, message or detail, else the whole body."""
    try:
        said = read_json(text)
    except ValueError:
        said = text
    while isinstance(said, Mapping):
        said = next((said[name] for name in ("error", "message", "detail") if said.get(name)), None)
    line = " ".join((said if isinstance(said, str) else text).split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def _usage(given: Any) -> Usage:
    if not isinstance(given, Mapping):
        return Usage(uncounted=1)
    prompt, completion = _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))
    details = given.get("completion_tokens_details")
    reasoning = _count(details.get("reasoning_tokens")) if isinstance(details, Mapping) else None
    return Usage(
        prompt_tokens=prompt or 0,
        completion_tokens=completion or 0,
        reasoning_tokens=reasoning or 0,
        uncounted=int(prompt is None or completion is None),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _logprobs(given: Any) -> tuple[TokenLogprob, ...] | None:
    """None where they are absent, or not a list of tokens with numbers."""
    if not isinstance(given, Mapping) or not isinstance(given.get("content"), list):
        return None
    try:
        return tuple(
            TokenLogprob(
                str(place["token"]),
                _number(place["logprob"]),
                tuple((str(other["token"]), _number(other["logprob"])) for other in place.get("top_logprobs") or ()),
            )
            for place in given["content"]
        )
    except (TypeError, ValueError, OverflowError, KeyError, AttributeError):
        return None


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
