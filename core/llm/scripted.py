"""A server of the OpenAI protocol without a model behind it: for tests, the demo, and trying the settings of a run.

It listens on this machine alone, calls itself "scripted", answers a request the same way every time (scripted_text), and
fails as often and in the ways that its script says (scripted_replies): `python -m core.llm.scripted --port 8000`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import queue
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import h11

from core.llm.scripted_replies import MODEL, Faults, Script, completion, fault_of
from core.llm.scripted_text import Ask, ask_of, tokens

__all__ = ["MODEL", "Faults", "Script", "served", "serving"]

HOST = "127.0.0.1"
CHAT, MODELS, COUNTS, TOKENIZE = "/v1/chat/completions", "/v1/models", "/v1/counts", "/tokenize"


@contextmanager
def serving(script: Script | None = None) -> Iterator[str]:
    """The address (ending in /v1) of a server in a thread of its own, which is gone when the block ends."""
    server = _Server(script or Script())
    addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: asyncio.run(server.run(0, addresses.put)), name=MODEL, daemon=True)
    thread.start()
    base_url = addresses.get(timeout=10)
    try:
        yield base_url
    finally:
        server.stop()
        thread.join()


def served(base_url: str) -> dict[str, int]:
    """What a scripted server has served so far: requests by path, faults by name, and "most at once"."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{base_url}/counts", timeout=10) as answer:
        return dict(json.load(answer))


@dataclass(frozen=True, slots=True)
class _Asked:
    path: str
    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class _Answered:
    status: int
    content: bytes
    headers: tuple[tuple[str, str], ...] = ()


class _Server:
    """One listening socket, and what it has served."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.counts: Counter[str] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._at_work = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, port: int, started: Callable[[str], None]) -> None:
        """Serve until `stop`; port 0 takes a free one. `started` is told the address."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, HOST, port, backlog=1024)
        started(f"http://{HOST}:{server.sockets[0].getsockname()[1]}/v1")
        try:
            await self._ended.wait()
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def stop(self) -> None:
        """End `run`; from any thread."""
        self._loop.call_soon_threadsafe(self._ended.set)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until either side ends it."""
        http = h11.Connection(h11.SERVER)
        try:
            while (asked := await _receive(http, reader)) is not None:
                answered = await self._answer(asked, reader)
                if answered is None:
                    return
                writer.write(_as_bytes(http, answered))
                await writer.drain()
                if http.our_state is h11.MUST_CLOSE:
                    return
                http.start_next_cycle()
        except (h11.RemoteProtocolError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(self, asked: _Asked, reader: asyncio.StreamReader) -> _Answered | None:
        """What goes out; None ends the connection without an answer."""
        if asked.path == COUNTS:
            return _json(200, self.counts)
        self.counts[asked.path] += 1
        if self.script.api_key and asked.key != f"Bearer {self.script.api_key}":
            return _error(401, f"Incorrect API key provided: {asked.key.removeprefix('Bearer ')}.")
        if asked.path == MODELS:
            listed = {"id": MODEL, "object": "model", "owned_by": "perturbdesk", "max_model_len": self.script.max_model_len}
            return _json(200, {"object": "list", "data": [listed]})
        try:
            body = json.loads(asked.body)
            if asked.path == TOKENIZE and self.script.tokenizer:
                return _json(200, {"count": len(tokens(body["prompt"])), "max_model_len": self.script.max_model_len})
            if asked.path == CHAT:
                return await self._chat(asked, body, ask_of(body, self.script.seed), reader)
        except (ValueError, KeyError, TypeError):
            return _error(400, "The body is not the JSON of a request.")
        return _error(404, f"{asked.path} is not served.")

    async def _chat(self, asked: _Asked, body: dict[str, Any], ask: Ask, reader: asyncio.StreamReader) -> _Answered | None:
        if body["model"] != MODEL:
            return _error(404, f"The model `{body['model']}` does not exist, only `{MODEL}`.")
        if body.get("logprobs") and self.script.logprobs == "refused":
            return _error(400, "logprobs are not supported by this server.")
        budget = body.get("max_completion_tokens") or 1
        if len(tokens(ask.prompt)) + budget > self.script.max_model_len:
            return _error(400, f"This model's maximum context length is {self.script.max_model_len} tokens.")
        fault = fault_of(self.script, asked.body, self._seen[asked.body])
        self._seen[asked.body] += 1
        if fault:
            self.counts[fault] += 1
        self._at_work += 1
        self.counts["most at once"] = max(self._at_work, self.counts["most at once"])
        try:
            return await self._after_a_while(completion(self.script, ask, body, fault), fault, reader)
        finally:
            self._at_work -= 1

    async def _after_a_while(self, found: dict[str, Any], fault: str, reader: asyncio.StreamReader) -> _Answered | None:
        """The completion, or the fault that stands in its way."""
        await asyncio.sleep(self.script.delay_s)
        if fault == "hang":
            await reader.read()  # until the client leaves
        if fault in ("hang", "dropped"):
            return None
        if fault == "error":
            return _error(500, "A scripted error.")
        if fault == "busy":
            return _error(429, "Scripted to be busy.", ("Retry-After", f"{self.script.retry_after_s:g}"))
        content = json.dumps(found).encode()
        return _Answered(200, content[: len(content) // 2] if fault == "half" else content)


async def _receive(http: h11.Connection, reader: asyncio.StreamReader) -> _Asked | None:
    """The next request; None where the client has left."""
    request, body = None, b""
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(1 << 16))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            key = next((value for name, value in request.headers if name == b"authorization"), b"")
            return _Asked(request.target.decode("ascii"), key.decode("latin-1"), body)
        else:
            return None


def _as_bytes(http: h11.Connection, answered: _Answered) -> bytes:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(answered.content))), *answered.headers]
    events = (h11.Response(status_code=answered.status, headers=headers), h11.Data(data=answered.content), h11.EndOfMessage())
    return b"".join(http.send(event) or b"" for event in events)


def _json(status: int, content: object, *headers: tuple[str, str]) -> _Answered:
    return _Answered(status, json.dumps(content).encode(), headers)


def _error(status: int, message: str, *headers: tuple[str, str]) -> _Answered:
    return _json(status, {"error": {"message": message, "code": status}}, *headers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; the exit status."""
    parser = argparse.ArgumentParser("python -m core.llm.scripted", description="A server without a model, for trying things.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="how long each answer takes")
    parser.add_argument("--faults", type=float, default=0.0, metavar="SHARE", help="how often each fault occurs, 0 to 0.125")
    given = parser.parse_args(arguments)
    server = _Server(Script(seed=given.seed, faults=Faults.each(given.faults), delay_s=given.delay_ms / 1000))
    try:
        asyncio.run(server.run(given.port, lambda url: print(f"{MODEL}: {url} (no model answers there)", flush=True)))
    except OSError as error:
        print(f"port {given.port}: cannot be served ({error})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
