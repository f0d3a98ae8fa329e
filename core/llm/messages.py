"""What is asked of a language model, what comes back, and what it cost."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from core.errors import InputError

MOST_ALTERNATIVES = 20


class Message(NamedTuple):
    """One turn of a chat; role is system, user or assistant."""

    role: str
    content: str


class TokenLogprob(NamedTuple):
    """A generated token, its log-probability, and the likeliest (token, log-probability) at its place.

    As the server gave them: −inf, NaN and −9999 occur, and null is NaN.
    """

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One chat completion to ask for.

    seed, max_completion_tokens, reasoning_effort: left to the server where None. top_logprobs: how many alternatives to
    give with each token, 0 to 20; None asks for no log-probabilities. repeat: tells apart requests that are otherwise the
    same and shall be asked again; it is not sent. Raises InputError for values that no server could take.
    """

    model: str
    messages: tuple[Message, ...]
    seed: int | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    max_completion_tokens: int | None = None
    reasoning_effort: str | None = None
    top_logprobs: int | None = None
    stop: tuple[str, ...] = ()
    repeat: int = 0

    def __post_init__(self) -> None:
        budget, top = self.max_completion_tokens, self.top_logprobs
        _check("model", self.model, bool(self.model), "a name")
        _check("messages", len(self.messages), len(self.messages) > 0, "at least one")
        _check("temperature", self.temperature, 0 <= self.temperature < math.inf, "0 or more")
        _check("top_p", self.top_p, 0 < self.top_p <= 1, "more than 0, at most 1")
        _check("max_completion_tokens", budget, budget is None or budget >= 1, "1 or more")
        _check("top_logprobs", top, top is None or 0 <= top <= MOST_ALTERNATIVES, f"0 to {MOST_ALTERNATIVES}")
        _check("repeat", self.repeat, self.repeat >= 0, "0 or more")
        for text in (self.model, *self.stop, *(part for message in self.messages for part in message)):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                place = f"character {error.start + 1} of {len(text):,}"
                raise InputError(f"request: {place} is half of a surrogate pair, expected text") from error

    @property
    def body(self) -> dict[str, Any]:
        """What is sent; what is left to the server does not stand in it."""
        given: dict[str, Any] = {
            "model": self.model,
            "messages": [message._asdict() for message in self.messages],
            "temperature": float(self.temperature),
            "top_p": float(self.top_p),
        }
        if self.top_logprobs is not None:
            given |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.stop:
            given["stop"] = list(self.stop)
        for name in ("seed", "max_completion_tokens", "reasoning_effort"):
            if getattr(self, name) is not None:
                given[name] = getattr(self, name)
        return given

    @property
    def text(self) -> str:
        """The JSON that is sent."""
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":"))

    @property
    def key(self) -> str:
        """The identity of the request, 64 hexadecimal digits: its whole content and `repeat`, no server address."""
        return hashlib.sha256(f"{self.repeat}\n{self.text}".encode()).hexdigest()

    def with_twice_the_limit(self) -> Request:
        """The same request with twice the token limit; the request itself if it leaves the limit to the server."""
        budget = self.max_completion_tokens
        return self if budget is None else replace(self, max_completion_tokens=2 * budget)


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost, over all their attempts; summed by `+`.

    Tokens are those that servers reported; `uncounted` is how many answers came without a report, so that a total with
    some is a lower bound. attempts: HTTP requests. cached_calls: calls among `calls` that the cache answered; their tokens
    and times are those of the first time. latency_ms: time on the wire, without queueing and without waits between attempts.
    """

    calls: int = 0
    cached_calls: int = 0
    attempts: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    uncounted: int = 0
    latency_ms: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.cached_calls + other.cached_calls,
            self.attempts + other.attempts,
            self.tool_calls + other.tool_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.uncounted + other.uncounted,
            self.latency_ms + other.latency_ms,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with content.

    reasoning is "" where none came. usage: what the call cost over all its attempts, the first time it was asked. logprobs:
    None where they were not asked for. request: the JSON that was answered (its budget may be twice the one asked for);
    raw: the JSON that answered it.
    """

    content: str
    reasoning: str
    finish_reason: str
    usage: Usage
    logprobs: tuple[TokenLogprob, ...] | None
    request: str
    raw: str
    cached: bool = False

    @property
    def latency_ms(self) -> float:
        return self.usage.latency_ms

    @property
    def attempts(self) -> int:
        return self.usage.attempts

    @property
    def spent(self) -> Usage:
        """What was spent on it this time: nothing but the call itself where the cache answered."""
        return Usage(calls=1, cached_calls=1) if self.cached else self.usage


def _check(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"request: {name} is {value!r}, expected {expected}")
