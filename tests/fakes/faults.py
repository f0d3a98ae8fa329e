"""The faults of the scripted server: which request gets which one, and what the server sends then."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

from tests.fakes.http_server import RawResponse, Response, ServerResponse, json_response

_DRIP_S = 0.05  # between two bytes
HUGE_BYTES = 50_000_000  # of a huge answer, and of a bomb when it is decompressed
_PART = b"x" * (1 << 16)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
_OPENING = b'{"choices": [{"message": {"content": "'
_WAITS = ("1e9", "-5", "soon", "nan", "", "9" * 5_000, "Mon, 01 Jan 1990 00:00:00 GMT")
_USAGES = (-1, "many", 1e308, math.nan, 10**20, None, [1])
_NO_LOGPROBS = (math.nan, -math.inf, -9999.0, None)


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of chat requests that get each fault, in [0, 1].

    Refused for now: error (500), unavailable (503), busy (429 with Retry-After), busy_silent (429 without), busy_absurd (429
    with a Retry-After that is far away, negative, past or no number), redirect (302).
    No answer: dropped (closed without one), reset (in the middle of it), hang (none until the client leaves), drip (a byte
    at a time).
    Not HTTP: wrong_length (longer than what comes), bad_chunks, bomb (50 MB compressed to 50 kB), huge (50 MB).
    Not an answer: half (of the JSON), null, html, deep (nested 100,000 times), big_integer (of 5,000 digits), bad_utf8,
    no_choices (an empty list).
    Answers that lack something: empty (null content), not_finite (log-probabilities of NaN, −Infinity, −9999 or null),
    no_logprobs, wrong_format (text without an answer), absurd_usage, other_model (under another name than was asked for).
    """

    error: float = 0.0
    busy: float = 0.0
    dropped: float = 0.0
    half: float = 0.0
    empty: float = 0.0
    hang: float = 0.0
    not_finite: float = 0.0
    wrong_format: float = 0.0
    unavailable: float = 0.0
    busy_silent: float = 0.0
    busy_absurd: float = 0.0
    redirect: float = 0.0
    reset: float = 0.0
    drip: float = 0.0
    wrong_length: float = 0.0
    bad_chunks: float = 0.0
    bomb: float = 0.0
    huge: float = 0.0
    null: float = 0.0
    html: float = 0.0
    deep: float = 0.0
    big_integer: float = 0.0
    bad_utf8: float = 0.0
    no_choices: float = 0.0
    no_logprobs: float = 0.0
    absurd_usage: float = 0.0
    other_model: float = 0.0

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all faults."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def each(cls, rate: float, *names: str) -> Self:
        """Return these faults, by default all, with the same share."""
        return cls(**dict.fromkeys(names or cls.names(), rate))


COUNTED = frozenset(
    {"", "empty", "not_finite", "no_logprobs", "wrong_format", "other_model"}
)  # answers with readable tokens
UNBROKEN = COUNTED | {"no_choices", "absurd_usage"}  # sent as they are made


def draw_fault(faults: Faults, seed: int, body: bytes, attempt: int) -> str:
    """Return the name of the fault of a request at its `attempt`-th arrival, "" for none."""
    digest = hashlib.sha256(f"{seed} {attempt} ".encode() + body).digest()
    left = int.from_bytes(digest[:7]) / 2**56
    for name in Faults.names():
        left -= getattr(faults, name)
        if left < 0:
            return name
    return ""


def damage(answer: dict[str, Any], fault: str, draw: float) -> dict[str, Any]:
    """Return the JSON of a completion with what the fault changes in it. draw: in [0, 1), chooses between variants."""
    [choice] = answer["choices"]
    match fault:
        case "empty":
            choice["message"]["content"] = None
        case "no_choices":
            answer["choices"] = []
        case "no_logprobs":
            choice["logprobs"] = None
        case "not_finite" if choice["logprobs"]:
            for token in choice["logprobs"]["content"]:
                for entry in (token, *token["top_logprobs"]):
                    entry["logprob"] = _pick(_NO_LOGPROBS, draw)
        case "absurd_usage":
            absurd = _pick(_USAGES, draw)
            answer["usage"] = {
                "prompt_tokens": absurd,
                "completion_tokens": absurd,
                "total_tokens": absurd,
            }
        case "other_model":
            answer["model"] = f"{answer['model']}-2026-11"
    return answer


def respond(content: bytes, fault: str, draw: float, retry_after_s: float) -> Response | None:
    """Return what is sent instead of the bytes of an answer or a stream, or those as they are; None closes the connection."""
    refused = _REFUSALS.get(fault)
    if refused is not None:
        waits = {"busy": f"{retry_after_s:g}", "busy_absurd": _pick(_WAITS, draw)}
        headers = (("Retry-After", waits[fault]),) if fault in waits else ()
        return json_response(
            refused, {"error": {"message": f"Scripted: {fault}.", "code": refused}}, *headers
        )
    if fault == "drip":
        return RawResponse(_with_length(content, len(content)), pause_s=_DRIP_S)
    make = _BROKEN.get(fault)
    return ServerResponse(200, content) if make is None else make(content)


def _pick(variants: tuple[Any, ...], draw: float) -> Any:
    return variants[int(len(variants) * draw)]


def _with_length(content: bytes, length: int) -> Iterator[bytes]:
    """Yield a response that claims a length, byte by byte after its head."""
    yield _HEAD + b"Content-Length: %d\r\n\r\n" % length
    yield from (content[i : i + 1] for i in range(len(content)))


def _huge_parts() -> Iterator[bytes]:
    yield _HEAD + b"Content-Length: %d\r\n\r\n" % (HUGE_BYTES + len(_OPENING)) + _OPENING
    yield from (_PART for _ in range(HUGE_BYTES // len(_PART)))


@cache
def bomb(opening: bytes, n_bytes: int) -> bytes:
    """So many bytes behind an opening, as gzip packs them."""
    compress = zlib.compressobj(9, wbits=31)
    parts = [
        compress.compress(opening),
        *(compress.compress(_PART) for _ in range(n_bytes // len(_PART))),
    ]
    return b"".join([*parts, compress.flush()])


def _redirect() -> ServerResponse:
    return ServerResponse(
        302, b"", (("Location", "http://127.0.0.1:9/login?next=/v1/chat/completions"),)
    )


_REFUSALS = {
    "error": 500,
    "unavailable": 503,
    "busy": 429,
    "busy_silent": 429,
    "busy_absurd": 429,
}
_BROKEN = {
    "hang": lambda _: None,
    "dropped": lambda _: None,
    "redirect": lambda _: _redirect(),
    "reset": lambda content: RawResponse(
        [_HEAD + b"Content-Length: %d\r\n\r\n" % len(content) + content[: len(content) // 2]],
        reset=True,
    ),
    "wrong_length": lambda content: RawResponse(
        [_HEAD + b"Content-Length: %d\r\n\r\n" % (len(content) + 9) + content]
    ),
    "bad_chunks": lambda content: RawResponse(
        [_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + content]
    ),
    "bomb": lambda _: ServerResponse(
        200, bomb(_OPENING, HUGE_BYTES), (("Content-Encoding", "gzip"),)
    ),
    "huge": lambda _: RawResponse(_huge_parts()),
    "half": lambda content: ServerResponse(200, content[: len(content) // 2]),
    "null": lambda _: ServerResponse(200, b"null"),
    "html": lambda _: ServerResponse(
        200, b"<!DOCTYPE html><title>Log in</title>", (("Content-Type", "text/html"),)
    ),
    "deep": lambda _: ServerResponse(200, b'{"choices": ' + b"[" * 100_000),
    "big_integer": lambda content: ServerResponse(
        200, b'{"created": ' + b"9" * 5_000 + b", " + content[1:]
    ),
    "bad_utf8": lambda content: ServerResponse(200, content.replace(b'"id": "', b'"id": "\xff', 1)),
}
