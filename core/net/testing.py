"""An HTTP server on this machine alone, for the stand-ins that ship beside the real thing."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import h11

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came; the names of headers are in lower case.

    at: seconds on the clock that only runs forward, when its last byte was here.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """What goes out; a Content-Type among the headers takes the place of JSON's."""

    status: int
    content: bytes
    headers: tuple[tuple[str, str], ...] = ()


Answer = Callable[[ReceivedRequest, asyncio.StreamReader], Awaitable[ServerResponse | None]]


def json_response(status: int, content: object, *headers: tuple[str, str]) -> ServerResponse:
    """An answer of plain JSON."""
    return ServerResponse(status, json.dumps(content).encode(), headers)


@contextmanager
def serve_in_thread(answer: Answer, name: str) -> Iterator[str]:
    """The address of a server in a thread of its own, which is gone when the block ends."""
    server = LoopbackServer(answer)
    addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: asyncio.run(server.run(0, addresses.put)), name=name, daemon=True)
    thread.start()
    address = addresses.get(timeout=10)
    try:
        yield address
    finally:
        server.stop()
        thread.join()


class LoopbackServer:
    """One listening socket. answer: what goes out for a request; None ends the connection without an answer."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, port: int, started: Callable[[str], None]) -> None:
        """Serve until `stop`; port 0 takes a free one. `started` is told the address, without a slash at its end."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, HOST, port, backlog=1024)
        started(f"http://{HOST}:{server.sockets[0].getsockname()[1]}")
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


async def _receive(http: h11.Connection, reader: asyncio.StreamReader) -> ReceivedRequest | None:
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
            headers = {name.decode("ascii"): value.decode("latin-1") for name, value in request.headers}
            return ReceivedRequest(
                request.method.decode("ascii"), request.target.decode("ascii"), headers, body, time.monotonic()
            )
        else:
            return None


def _as_bytes(http: h11.Connection, answered: ServerResponse) -> bytes:
    headers = [("Content-Length", str(len(answered.content))), *answered.headers]
    if not any(name.lower() == "content-type" for name, _ in answered.headers):
        headers.insert(0, ("Content-Type", "application/json"))
    events = (h11.Response(status_code=answered.status, headers=headers), h11.Data(data=answered.content), h11.EndOfMessage())
    return b"".join(http.send(event) or b"" for event in events)
