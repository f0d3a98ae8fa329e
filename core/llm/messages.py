"""A request to a language model, its reply, and its cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.types import JsonObject

MAX_TOP_LOGPROBS = 20
# of the longest answer, in the protocol's words
LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
Sampling = Literal[
    "temperature", "top_p", "seed", "reasoning_effort", "stop", "max_completion_tokens"
]  # optional parts
SAMPLING: tuple[Sampling, ...] = get_args(Sampling)
_BYTES_PER_TOKEN = 4


class Message(NamedTuple):
    """One turn of a chat; role is system, user or assistant."""

    role: str
    content: str


class TokenLogprob(NamedTuple):
    """A generated token, its log-probability, and the likeliest tokens in its place with theirs.

    The numbers are the server's: −inf, NaN and −9999 occur; null is NaN.
    """

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)  # without slots, so that text and key are made once
class Request:
    """A request for one chat completion.

    seed, max_completion_tokens, reasoning_effort: None leaves them to the server. top_logprobs: the
    number of alternatives to each token, 0 to 20; None asks for no log-probabilities. repeat:
    distinguishes equal requests that are all to be sent; it is not sent itself. extra_body:
    additional parameters, as a JSON object, or "". leave_out: names of SAMPLING that are not sent.
    limit_name: the server's name of max_completion_tokens. response_format: of the answer, as JSON,
    or "". Raises InputError for text that
    cannot be sent.
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
    extra_body: str = ""
    leave_out: tuple[str, ...] = ()
    limit_name: str = LIMIT_NAMES[0]
    response_format: str = ""

    def __post_init__(self) -> None:
        for text in (
            self.model,
            *self.stop,
            *(part for message in self.messages for part in message),
        ):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                character = f"character {error.start + 1} of {len(text):,}"
                raise InputError(
                    f"request: {character} is half of a surrogate pair, expected text"
                ) from error

    @property
    def body(self) -> JsonObject:
        """The JSON object that is sent; settings left to the server are not in it."""
        return self._body(self.limit_name)

    def _body(self, limit_name: str) -> JsonObject:
        body: JsonObject = {
            "model": self.model,
            "messages": [message._asdict() for message in self.messages],
            "temperature": float(self.temperature),
            "top_p": float(self.top_p),
        }
        if self.top_logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.stop:
            body["stop"] = list(self.stop)
        for name in ("seed", "max_completion_tokens", "reasoning_effort"):
            if getattr(self, name) is not None:
                body[limit_name if name == LIMIT_NAMES[0] else name] = getattr(self, name)
        if self.response_format:
            body["response_format"] = json.loads(self.response_format)
        for name in self.leave_out:
            body.pop(limit_name if name == LIMIT_NAMES[0] else name, None)
        return body | (json.loads(self.extra_body) if self.extra_body else {})

    @cached_property
    def text(self) -> str:
        """The JSON text that is sent."""
        return _as_text(self.body)

    @cached_property
    def key(self) -> str:
        """The identity of the request, 64 hexadecimal digits: of its whole content and `repeat`,
        not of the server, nor of what that calls the longest answer."""
        usual = LIMIT_NAMES[0]
        text = self.text if self.limit_name == usual else _as_text(self._body(usual))
        return sha256_of(f"{self.repeat}\n{text}")

    def with_twice_the_limit(self) -> Request:
        """Return the same request with twice the token limit; the request itself if it leaves the
        limit to the server."""
        limit = self.max_completion_tokens
        return self if limit is None else replace(self, max_completion_tokens=2 * limit)


def _as_text(body: JsonObject) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def estimate_tokens(*texts: str) -> int:
    """Return about how many tokens texts have, rounded up: a token holds some 4 bytes of English
    and of JSON."""
    return -(-sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of calls over all their attempts; `+` adds two costs.

    Tokens are those that servers reported. uncounted: answers without such a report; with any, the
    totals are lower bounds. attempts: HTTP requests. estimated_tokens: our own estimate of what the
    uncounted answers cost. latency_ms: time of the exchanges, without queueing and waits between
    attempts.
    """

    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    uncounted: int = 0
    latency_ms: float = 0.0
    estimated_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.attempts + other.attempts,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.uncounted + other.uncounted,
            self.latency_ms + other.latency_ms,
            self.estimated_tokens + other.estimated_tokens,
        )


# of a request: what its answer cost, that it is sent, or that it failed
Outcome = Usage | Literal["asked", "failed"]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with content.

    reasoning: "" if there is none. usage: the cost over all attempts, when the request was first
    sent. logprobs: None if they were not asked for. request: the JSON that was answered (its token
    limit may be twice the original one); raw: the JSON of the answer. model: its name according to
    the server, or "".
    """

    content: str
    reasoning: str
    finish_reason: str
    usage: Usage
    logprobs: tuple[TokenLogprob, ...] | None
    request: str
    raw: str
    cached: bool = False
    model: str = ""

    @property
    def latency_ms(self) -> float:
        return self.usage.latency_ms

    @property
    def attempts(self) -> int:
        return self.usage.attempts
