"""A model server that is hostile: each of its modes, the first part of the path, answers in a way of its own.

`python -m tests.hostile_server` serves in a process of its own, and prints its address.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from tests.fakes.faults import bomb
from tests.fakes.http_server import (
    LoopbackServer,
    RawResponse,
    ReceivedRequest,
    Response,
    ServerResponse,
    json_response,
    serve_in_thread,
)

MODEL = "m"
_MB = 1_000_000
_PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
_DONE = b"data: [DONE]\n\n"
_X = b"x" * 65_536
OPEN = set()  # responses that are being sent


def whole(text: str = "Answer: A") -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    return {"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}


def chunk(delta: Any, finish_reason: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, **more}
    return (
        b"data: "
        + json.dumps(
            {"object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}
        ).encode()
        + b"\n\n"
    )


Body = Callable[[], Iterable[bytes]]  # of an answer, piece by piece


def events(*parts: bytes) -> Body:
    """A stream of these events, then its end."""
    return lambda: [_STREAM, *parts, _DONE]


def cut(*parts: bytes) -> Body:
    """A stream that breaks off behind these events."""
    return lambda: [_STREAM, *parts]


def endless(part: bytes, head: bytes = _STREAM) -> Body:
    """A stream of the same, without an end."""
    return lambda: itertools.chain([head], itertools.repeat(part))


def _data(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def _tiny_chunks() -> Iterator[bytes]:
    yield _STREAM
    one = b'data: {"choices":[{"delta":{"content":"a"},"logprobs":{"content":[1]}}]}\n'
    yield from itertools.repeat(one * 1000, 400)
    yield chunk({}, "stop") + _DONE


def _giant_line() -> Iterator[bytes]:
    yield _STREAM + b'data: {"choices":[{"delta":{"content":"'
    yield from itertools.repeat(b"x" * _MB, 300)


@cache
def _bomb_of_chunks() -> bytes:
    return gzip.compress(b'data: {"choices":[{"delta":{"content":"a"}}]}\n' * 2_000_000)


def _zipped(head: bytes, content: bytes) -> list[bytes]:
    return [head.removesuffix(b"\r\n") + b"Content-Encoding: gzip\r\n\r\n", content]


# In a stream: what is right, broken in one place, or without an end. A pause stands before each part but the first.
STREAMS = {
    "xss": events(
        chunk({"role": "assistant", "content": "<script>alert(1)</script> Answer: A"}),
        chunk({}, "stop"),
    ),
    "cronly": lambda: [
        _STREAM,
        chunk({"content": "Answer: A"}, "stop").replace(b"\n", b"\r"),
        b"data: [DONE]\r\r",
    ],
    "usagetype": events(
        chunk({"content": "Answer: A"}, "stop"),
        _data('{"choices":[],"usage":"lots"}'),
        _data('{"choices":[],"usage":{"total_tokens":-5,"prompt_tokens":1e400}}'),
    ),
    "nan": events(
        _data(
            '{"choices":[{"delta":{"content":"Answer: A"},"finish_reason":"stop","logprobs":{"content":[{"logprob":NaN}]}}]}'
        )
    ),
    "surrogate": events(
        _data(
            '{"choices":[{"index":0,"delta":{"content":"\\ud800 Answer: A"},"finish_reason":"stop"}]}'
        )
    ),
    "index": events(
        chunk({"content": "A"}, index="x"), chunk({"content": "A"}, "stop", index=-(10**30))
    ),
    "tiny": _tiny_chunks,
    "afterdone": lambda: itertools.chain(
        [_STREAM, chunk({"content": "Answer: A"}, "stop") + _DONE], itertools.repeat(b": ping\n\n")
    ),
    "utf8": events(b'data: {"choices":[{"index":0,"delta":{"content":"\xff\xfe\xc3"}}]}\n\n'),
    "midjson": cut(chunk({"content": "hi"}), b'data: {"choices":[{"del'),
    "miderror": events(
        chunk({"content": "hi"}),
        _data('{"error":{"message":"out of memory at /secret sk-KEY123","code":500}}'),
    ),
    "eventerror": cut(chunk({"content": "hi"}), b'event: error\ndata: {"message":"boom"}\n\n'),
    "types": events(
        _data('{"choices":[{"index":0,"delta":{"content":{"a":1}}}]}'), _data('{"choices":"x"}')
    ),
    "choicesdict": events(_data('{"choices":{"a":1}}')),
    "choicesint": events(_data('{"choices":5}')),
    "null": events(_data("null")),
    "empty": cut(),
    "doneonly": events(),
    "deep": events(b"data: " + b"[" * 100_000 + b"\n\n"),
    "deepvalue": events(
        b'data: {"choices":[{"delta":{"x":' + b"[" * 900 + b"]" * 900 + b"}}]}\n\n"
    ),
    "manychoices": events(
        _data(
            json.dumps(
                {"choices": [{"index": i, "delta": {"content": "A"}} for i in range(100_000)]}
            )
        )
    ),
    "choicesinturn": lambda: itertools.chain(
        [_STREAM], (chunk({"content": "A"}, index=i) for i in range(1_000_000))
    ),
    "newnames": lambda: itertools.chain(
        [_STREAM], (chunk({f"n{i}": i}) for i in range(10_000_000))
    ),
    "giantline": _giant_line,
    "giantcomment": endless(_X, _STREAM + b": "),
    "bomb": lambda: _zipped(_STREAM, bomb(b"data: ", 400 * _MB)),
    "chunkbomb": lambda: _zipped(_STREAM, _bomb_of_chunks()),
    "endless": endless(chunk({"content": "word "}) * 50),
    "endlesslogprobs": endless(
        chunk({"content": ""}, logprobs={"content": [{"token": "a", "logprob": -1.0}] * 500})
    ),
    "endlessempty": endless(chunk({"content": ""}) * 50),
    "endlessroles": endless(chunk({"role": "assistant"}) * 50),
}
SLOW = {
    "comments": (0.02, endless(b": ping\n\n")),
    "drip": (0.02, endless(b"d")),
    "emptydeltas": (0.02, endless(chunk({"content": ""}))),
    "roledeltas": (0.02, endless(chunk({"role": "assistant"}))),
    "datadrip": (0.02, endless(b"x", _STREAM + b'data: {"choices":[{"delta":{"content":"')),
}
# Whether a stream is asked for or not.
BODIES = {
    "hugebody": lambda: RawResponse(
        itertools.chain([_PLAIN + b"\r\n" + b'{"choices": "'], itertools.repeat(_X, 80_000))
    ),
    "bodybomb": lambda: RawResponse(_zipped(_PLAIN + b"\r\n", bomb(b'{"choices": "', 400 * _MB))),
    "longcontent": lambda: json_response(200, whole("word " * 1_400_000)),
    "manytokens": lambda: json_response(
        200,
        whole()
        | {
            "choices": [
                {
                    **whole()["choices"][0],
                    "logprobs": {"content": [{"token": "a", "logprob": -1.0}] * 100_000},
                }
            ]
        },
    ),
    "hugeerror": lambda: RawResponse(
        itertools.chain(
            [_PLAIN.replace(b"200 OK", b"500 No") + b"\r\n" + b'{"error": "'],
            itertools.repeat(_X, 80_000),
        )
    ),
    "headers": lambda: RawResponse(
        itertools.chain([_PLAIN], (b"X-%d: %s\r\n" % (i, b"y" * 4_000) for i in itertools.count()))
    ),
    "longheader": lambda: RawResponse(itertools.chain([_PLAIN + b"X: "], itertools.repeat(_X))),
    "headerdrip": lambda: RawResponse(
        itertools.chain([_PLAIN + b"X: "], itertools.repeat(b"y")), pause_s=0.02
    ),
    "continues": lambda: RawResponse(itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)),
    "trailers": lambda: RawResponse(
        itertools.chain(
            [_PLAIN + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"],
            (b"X-%d: %s\r\n" % (i, b"y" * 4_000) for i in itertools.count()),
        )
    ),
    "extensions": lambda: RawResponse(
        itertools.chain([_PLAIN + b"Transfer-Encoding: chunked\r\n\r\n2;"], itertools.repeat(_X))
    ),
    "zerochunks": lambda: RawResponse(
        itertools.chain(
            [_PLAIN + b"Transfer-Encoding: chunked\r\n\r\n"], itertools.repeat(b"1\r\n \r\n" * 1000)
        )
    ),
    "bodydrip": lambda: RawResponse(
        itertools.chain([_PLAIN + b"\r\n"], itertools.repeat(b"{")), pause_s=0.02
    ),
}
MODES = (*STREAMS, *SLOW, *BODIES)
RIGHT = (
    "xss",
    "cronly",
    "usagetype",
    "nan",
    "surrogate",
    "tiny",
    "afterdone",
    "manytokens",
)  # answers that can be read
HEAVY = (  # which take seconds of processor time
    *(
        "tiny",
        "newnames",
        "bomb",
        "chunkbomb",
        "endless",
        "endlesslogprobs",
        "endlessempty",
        "endlessroles",
        "giantcomment",
    ),
    *(
        "hugebody",
        "bodybomb",
        "longcontent",
        "manytokens",
        "hugeerror",
        "continues",
        "zerochunks",
        "extensions",
    ),
)


def respond(mode: str, is_stream: bool) -> Response:
    """The response of a mode to a request for a completion."""
    if mode in BODIES:
        return BODIES[mode]()
    if not is_stream:
        return json_response(200, whole())
    pause_s, parts = SLOW.get(mode) or (0.0, STREAMS[mode])
    return RawResponse(parts(), pause_s=pause_s)


class _Open:
    """The parts of a response; its number stands in OPEN until all are sent, or the client has left."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        OPEN.add(id(self))

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._parts
        finally:
            OPEN.discard(id(self))


async def _answer(request: ReceivedRequest, _: asyncio.StreamReader) -> Response:
    mode, _, rest = request.path.lstrip("/").partition("/")
    if rest.endswith("/models"):
        if mode == "models":
            return BODIES["hugebody"]()
        return json_response(
            200, {"object": "list", "data": [{"id": MODEL, "max_model_len": 32_768}]}
        )
    if not rest.endswith("/chat/completions") or mode not in MODES:
        return ServerResponse(404, b"{}")
    response = respond(mode, bool(json.loads(request.body).get("stream")))
    return (
        replace(response, parts=_Open(response.parts))
        if isinstance(response, RawResponse)
        else response
    )


@contextmanager
def serving() -> Iterator[str]:
    """Serves in a thread; gives the address, to which a mode and /v1 are added."""
    with serve_in_thread(_answer, "hostile") as address:
        yield address


if __name__ == "__main__":
    asyncio.run(LoopbackServer(_answer).run(0, lambda address: print(address, flush=True)))
