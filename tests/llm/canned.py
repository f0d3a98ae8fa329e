"""A loopback server that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from core.llm.messages import Message, Request

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


def completion(content: str | None = "A", finish_reason: str = "stop", **more: Any) -> dict[str, Any]:
    """The JSON of a completion with 3 prompt and 2 completion tokens; more: further fields of its choice."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, **more}
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


@contextmanager
def serving(answer: Callable[[Asked], Canned]) -> Iterator[tuple[str, list[Asked]]]:
    """The server's address under /v1, and the requests that it gets."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"] or 0))
            asked.append(Asked(len(asked), self.path, self.headers["Authorization"], json.loads(content or b"null")))
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
