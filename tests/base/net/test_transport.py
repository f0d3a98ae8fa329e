"""One HTTP exchange: time limit, size limit, redirects, proxies, and typed faults."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time

import pytest

from core.base.errors import AddressRefused
from core.base.net import transport
from core.base.net.retry import Fault
from core.base.net.server_access import ServerAccess
from core.base.net.transport import (
    MAX_ERROR_BYTES,
    ConnectionFailed,
    HttpResponse,
    exchange,
    fault_of_status,
    open_http_client,
    send_prepared,
    send_request,
)
from tests.fakes.http_server import (
    RawResponse,
    ReceivedRequest,
    Response,
    ServerResponse,
    json_response,
    serve_in_thread,
)

HEAD = b"HTTP/1.1 200 OK\r\n"


async def answer(request: ReceivedRequest, reader: asyncio.StreamReader) -> Response | None:
    if request.path == "/hang":
        await reader.read()
        return None
    if request.path == "/moved":
        return ServerResponse(302, b"", (("Location", "/small"),))
    if request.path == "/bomb":
        return ServerResponse(200, gzip.compress(b" " * 100_000), (("Content-Encoding", "gzip"),))
    if request.path == "/endless":  # chunks for ever, whatever the length says
        parts = itertools.chain(
            [HEAD + b"Transfer-Encoding: chunked\r\n\r\n"],
            itertools.repeat(b"5\r\nsmall\r\n" * 1_000),
        )
        return RawResponse(parts)
    if request.path == "/empty-blocks":  # compressed bytes without end that decompress to nothing
        head = (
            HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b"")[:10]
        )
        return RawResponse(
            itertools.chain([head], itertools.repeat(b"\x00\x00\x00\xff\xff" * 1_000))
        )
    if request.path == "/drip":
        return RawResponse(
            itertools.chain([HEAD + b"Connection: close\r\n\r\n"], itertools.repeat(b" ")),
            pause_s=0.02,
        )
    if request.path == "/endless-error":
        return RawResponse(
            itertools.chain(
                [b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n"], itertools.repeat(b"x" * 10_000)
            )
        )
    if request.path == "/odd-header":
        return RawResponse([HEAD + "X-Other: größer\r\nContent-Length: 5\r\n\r\nsmall".encode()])
    if request.path == "/compressed":
        return ServerResponse(
            200, gzip.compress(b"small"), (("Content-Encoding", "gzip"), ("X-Other", "kept"))
        )
    return ServerResponse(200, b"small", (("X-Other", "kept"),))


def get(
    address: str, path: str, max_bytes: int = 1_000, timeout_s: float = 5.0
) -> HttpResponse | Fault:
    """The outcome of one GET request."""

    async def once() -> HttpResponse | Fault:
        async with open_http_client(address) as client:

            async def send(_: asyncio.Timeout) -> HttpResponse:
                return await send_request(client, "GET", f"{address}{path}", max_bytes)

            return await exchange(send, timeout_s)

    return asyncio.run(once())


@pytest.mark.parametrize("path", ["/small", "/compressed"])
def test_an_answer(path: str) -> None:
    with serve_in_thread(answer, "test") as address:
        response = get(address, path)
    assert isinstance(response, HttpResponse)
    assert (response.status, response.content, response.headers["x-other"]) == (
        200,
        b"small",
        "kept",
    )


def test_a_redirect_is_not_followed() -> None:
    with serve_in_thread(answer, "test") as address:
        response = get(address, "/moved")
    assert isinstance(response, HttpResponse)
    assert fault_of_status(response) == Fault(
        "refused", "HTTP 302, a redirect, which is not followed", status=302
    )
    where = fault_of_status(response, " to /small")
    assert where.message == "HTTP 302, a redirect to /small, which is not followed"


def test_an_answer_is_cut_at_the_size_limit_after_decompression() -> None:
    with serve_in_thread(answer, "test") as address:
        assert get(address, "/bomb") == Fault("malformed", "an answer of more than 1,000 bytes")
        assert get(address, "/small", max_bytes=4) == Fault(
            "malformed", "an answer of more than 4 bytes"
        )


@pytest.mark.parametrize("path", ["/endless", "/empty-blocks"])
def test_an_answer_without_end_is_cut_while_it_arrives(path: str) -> None:
    with serve_in_thread(answer, "test") as address:
        assert get(address, path, timeout_s=30.0) == Fault(
            "malformed", "an answer of more than 1,000 bytes"
        )


def test_a_header_in_another_alphabet_does_no_harm() -> None:
    with serve_in_thread(answer, "test") as address:
        response = get(address, "/odd-header")
    assert isinstance(response, HttpResponse)
    assert response.content == b"small"


def test_the_whole_answer_has_a_time_limit() -> None:
    with serve_in_thread(answer, "test") as address:
        assert get(address, "/hang", timeout_s=0.1) == Fault(
            "unanswered", "no answer within 0.1 s", retryable=True
        )


def test_a_failed_connection_is_retryable() -> None:
    async def send(_):
        raise ConnectionFailed("refused")

    assert asyncio.run(exchange(send, 1.0)) == Fault(
        "unanswered", "the connection failed (refused)", retryable=True
    )


def test_no_proxy_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serve_in_thread(answer, "test") as address:
        assert isinstance(get(address, "/small"), HttpResponse)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_faults_that_pass(status: int) -> None:
    fault = fault_of_status(HttpResponse(status, {"retry-after": "3"}, b""), " (why)", "raw")
    assert fault == Fault("unanswered", f"HTTP {status} (why)", True, status, 3.0, "raw")
    assert status not in (429, 500, 503) or fault.busy == (status != 500)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_faults_that_stay(status: int) -> None:
    fault = fault_of_status(HttpResponse(status, {"retry-after": "3"}, b""), " (why)", "raw")
    assert fault == Fault("refused", f"HTTP {status} (why)", status=status, raw="raw")
    assert not fault.busy


async def _send_with(
    access: ServerAccess, address: str, path: str = "", **headers: str
) -> HttpResponse:
    async with open_http_client(address, access) as client:
        return await send_request(client, "GET", path or f"{address}/v1/models", headers=headers)


def test_a_request_gets_the_key_of_its_address_and_nothing_else_that_tells_who_asks() -> None:
    seen = []

    async def answer(request, _):
        seen.append(request)
        return json_response(200, {})

    told = {
        "Authorization": "Bearer sk-of-somebody",
        "OpenAI-Organization": "org",
        "OpenAI-Project": "project",
    }
    with serve_in_thread(answer, "listens") as one, serve_in_thread(answer, "listens") as other:
        access = ServerAccess.of(one, "sk-its-own-key")
        for address in (one, other):
            asyncio.run(_send_with(access, address, **told))
        with pytest.raises(ConnectionFailed, match="UnsupportedProtocol"):
            asyncio.run(_send_with(access, one, f"{other}/v1/models"))
    assert [request.headers.get("authorization") for request in seen] == [
        "Bearer sk-its-own-key",
        None,
    ]
    assert not any(name.startswith("openai-") for request in seen for name in request.headers)


def test_no_client_is_opened_for_a_server_that_may_not_be_asked() -> None:
    with pytest.raises(AddressRefused):
        open_http_client("http://127.0.0.1:9/v1", ServerAccess(only_listed=True))


@pytest.mark.soak
def test_an_answer_that_began_and_does_not_end_is_not_worth_a_retry() -> None:
    with serve_in_thread(answer, "test") as address:
        silent = get(address, "/hang", timeout_s=0.1)
        begun = get(address, "/drip", timeout_s=2.0)  # in which it begins, on a busy machine too
    assert silent == Fault("unanswered", "no answer within 0.1 s", retryable=True)
    assert isinstance(begun, Fault)
    assert (begun.kind, begun.retryable, begun.began) == ("unanswered", False, True)
    assert begun.message.startswith("no answer within 2 s, but ")


def test_of_an_error_the_beginning_is_read() -> None:
    with serve_in_thread(answer, "test") as address:
        response = get(address, "/endless-error", max_bytes=1 << 20)
    assert isinstance(response, HttpResponse)
    assert (response.status, len(response.content)) == (500, MAX_ERROR_BYTES)


def test_an_answer_that_is_always_there_lets_others_run() -> None:
    """Others run between the parts of an answer that is small in transit and large when it is decompressed."""

    async def count(address):
        turns = 0

        async def turn():
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        def take(_):
            seen.append(turns)
            time.sleep(0.001)
            return False

        async with open_http_client(address) as client:
            other = asyncio.create_task(turn())
            request = client.build_request("GET", f"{address}/bomb")
            await send_prepared(client, request, 1 << 20, take)
            other.cancel()
        return len(set(seen))

    seen = []
    with serve_in_thread(answer, "test") as address, pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "_PART_BYTES", 1_000)
        assert asyncio.run(count(address)) > 10
    assert len(seen) >= 100
