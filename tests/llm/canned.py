"""A loopback server that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, AnyStr

from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import ModelError
from core.llm.messages import Message, Reply, Request
from core.llm.streaming import Words

KEY = "sk-open-sesame/9"
ASK = Request("m", (Message("user", "A, B or C?"),), max_completion_tokens=100)


@dataclass(frozen=True)
class Canned:
    """One answer; a body that is no string goes out as JSON."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """One request; number counts from 0."""

    number: int
    path: str
    key: str | None
    body: Any


def completion(
    content: str | None = "A", finish_reason: str = "stop", **more: Any
) -> dict[str, Any]:
    """The JSON of a completion with 3 prompt and 2 completion tokens; more: further fields of its choice."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, **more}
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


@contextmanager
def serving(answer: Callable[[Asked], Canned]) -> Iterator[tuple[str, list[Asked]]]:
    """The server's address under /v1, and the requests that it gets."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"] or 0))
            asked.append(
                Asked(
                    len(asked),
                    self.path,
                    self.headers["Authorization"],
                    json.loads(content or b"null"),
                )
            )
            given = answer(asked[-1])
            body = (given.body if isinstance(given.body, str) else json.dumps(given.body)).encode()
            self.send_response_only(given.status)
            for name, value in {"Content-Length": str(len(body)), **given.headers}.items():
                self.send_header(name, value)
            with contextlib.suppress(ConnectionError):  # of a client that did not wait
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cut(text: AnyStr, seed: int) -> list[AnyStr]:
    """A text in ten pieces."""
    places = sorted(random.Random(seed).choices(range(len(text) + 1), k=9))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def outcomes(
    url: str,
    requests: list[Request],
    heard: list[Words] | None = None,
    concurrency: int = 16,
    **limits: Any,
) -> list[Reply | ModelError]:
    """The outcome of each request, asked for as a stream if somebody hears."""

    async def one(client: Client, request: Request) -> Reply | ModelError:
        try:
            return await client.complete(request, None if heard is None else heard.append)
        except ModelError as error:
            return error

    async def ask() -> list[Reply | ModelError]:
        endpoint = Endpoint(url, **{"backoff_s": 0.001, **limits})
        async with Client(endpoint, concurrency=concurrency) as client:
            return await asyncio.gather(*(one(client, request) for request in requests))

    return asyncio.run(ask())
