"""A local HTTP server for fakes: tests and demos use it; no registry and no command imports it."""

from __future__ import annotations

import asyncio
import json
import queue
import socket
import ssl
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import h11

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request; the names of headers are in lower case. at: monotonic time of its last byte, in seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """A response; its content type is JSON unless the headers name another."""

    status: int
    content: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RawResponse:
    """Bytes that are sent unchanged, whether they are HTTP or not; then the connection is closed, or reset.

    parts: sent one after the other, with pause_s before each but the first.
    """

    parts: Iterable[bytes]
    pause_s: float = 0.0
    reset: bool = False


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """Server-sent events of status 200, sent one after the other with pause_s before each but the first."""

    parts: Iterable[bytes]
    pause_s: float = 0.0


Response = ServerResponse | RawResponse | StreamedResponse
Answer = Callable[[ReceivedRequest, asyncio.StreamReader], Awaitable[Response | None]]


def json_response(status: int, content: object, *headers: tuple[str, str]) -> ServerResponse:
    """Return a response of JSON."""
    return ServerResponse(status, json.dumps(content).encode(), headers)


@contextmanager
def serve_in_thread(
    answer: Answer, name: str, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Run a server in a separate thread until the block ends; yield its address, without a slash at the end.

    port: 0 for any that is free. tls: with the server's certificate, for https.
    """
    server = LoopbackServer(answer, tls)
    addresses = queue.SimpleQueue()
    thread = threading.Thread(
        target=lambda: asyncio.run(server.run(port, addresses.put)), name=name, daemon=True
    )
    thread.start()
    address = addresses.get(timeout=10)
    try:
        yield address
    finally:
        server.stop()
        thread.join()


class LoopbackServer:
    """A server on one port of this machine. answer: makes the response; None closes the connection without one."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._answer, self._tls = answer, tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, port: int, started: Callable[[str], None]) -> None:
        """Serve until `stop`. port: 0 takes a free one. started: called with the address, without a slash at the end."""
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(
            self._start_conversation, HOST, port, backlog=1024, ssl=self._tls
        )
        scheme = "https" if self._tls else "http"
        started(f"{scheme}://{HOST}:{server.sockets[0].getsockname()[1]}")
        try:
            await self._stopped.wait()
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def stop(self) -> None:
        """End `run`; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)

    def _start_conversation(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until either side closes it."""
        http = h11.Connection(h11.SERVER)
        try:
            while (request := await _read_request(http, reader)) is not None:
                response = await self._answer(request, reader)
                if response is None:
                    return None
                if isinstance(response, RawResponse):
                    return await _send_raw(response, writer)
                if isinstance(response, StreamedResponse):
                    await _send_streamed(http, response, writer)
                else:
                    writer.write(_encode(http, response))
                await writer.drain()
                if http.our_state is h11.MUST_CLOSE:
                    return None
                http.start_next_cycle()
        except (h11.RemoteProtocolError, ConnectionError):
            return None
        finally:
            writer.close()


async def _send_raw(response: RawResponse, writer: asyncio.StreamWriter) -> None:
    """Send the bytes until the client leaves."""
    for i, part in enumerate(response.parts):
        if i:
            await asyncio.sleep(response.pause_s)
        writer.write(part)
        await writer.drain()
    if response.reset:
        # A connection that does not linger is reset when it is closed.
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()


async def _send_streamed(
    http: h11.Connection, response: StreamedResponse, writer: asyncio.StreamWriter
) -> None:
    """Send the events in chunks, until the client leaves."""
    headers = [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]
    writer.write(http.send(h11.Response(status_code=200, headers=headers)) or b"")
    for i, part in enumerate(response.parts):
        if i and response.pause_s:
            await asyncio.sleep(response.pause_s)
        writer.write(http.send(h11.Data(data=part)) or b"")
        await writer.drain()
    writer.write(http.send(h11.EndOfMessage()) or b"")


async def _read_request(
    http: h11.Connection, reader: asyncio.StreamReader
) -> ReceivedRequest | None:
    """Return the next request; None if the client has closed the connection."""
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
            headers = {
                name.decode("ascii"): value.decode("latin-1") for name, value in request.headers
            }
            return ReceivedRequest(
                request.method.decode("ascii"),
                request.target.decode("ascii"),
                headers,
                body,
                time.monotonic(),
            )
        else:
            return None


def _encode(http: h11.Connection, response: ServerResponse) -> bytes:
    headers = [("Content-Length", str(len(response.content))), *response.headers]
    if not any(name.lower() == "content-type" for name, _ in response.headers):
        headers.insert(0, ("Content-Type", "application/json"))
    events = (
        h11.Response(status_code=response.status, headers=headers),
        h11.Data(data=response.content),
        h11.EndOfMessage(),
    )
    return b"".join(http.send(event) or b"" for event in events)
