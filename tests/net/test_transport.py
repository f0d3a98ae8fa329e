"""One HTTP exchange: time limit, size limit, redirects, proxies, and typed faults."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from core.net.testing import ReceivedRequest, ServerResponse, serve_in_thread
from core.net.transport import ConnectionFailed, Fault, HttpResponse, exchange, fault_of_status, open_http_client


async def answer(request: ReceivedRequest, reader: asyncio.StreamReader) -> ServerResponse | None:
    if request.path == "/hang":
        await reader.read()
        return None
    if request.path == "/moved":
        return ServerResponse(302, b"", (("Location", "/small"),))
    if request.path == "/bomb":
        return ServerResponse(200, gzip.compress(b" " * 100_000), (("Content-Encoding", "gzip"),))
    if request.path == "/compressed":
        return ServerResponse(200, gzip.compress(b"small"), (("Content-Encoding", "gzip"), ("X-Other", "kept")))
    return ServerResponse(200, b"small", (("X-Other", "kept"),))


def get(address: str, path: str, max_bytes: int = 1_000, timeout_s: float = 5.0) -> HttpResponse | Fault:
    """The outcome of one GET request."""

    async def once() -> HttpResponse | Fault:
        async with open_http_client(address, max_bytes=max_bytes) as client:

            async def send(_: asyncio.Timeout) -> HttpResponse:
                response = await client.get(f"{address}{path}")
                return HttpResponse(response.status_code, response.headers, response.content)

            return await exchange(send, timeout_s)

    return asyncio.run(once())


@pytest.mark.parametrize("path", ["/small", "/compressed"])
def test_an_answer(path: str) -> None:
    with serve_in_thread(answer, "test") as address:
        response = get(address, path)
    assert isinstance(response, HttpResponse)
    assert (response.status, response.content, response.headers["x-other"]) == (200, b"small", "kept")


def test_a_redirect_is_not_followed() -> None:
    with serve_in_thread(answer, "test") as address:
        response = get(address, "/moved")
    assert isinstance(response, HttpResponse)
    assert fault_of_status(response) == Fault("refused", "HTTP 302, a redirect, which is not followed", status=302)


def test_an_answer_is_cut_at_the_size_limit_after_decompression() -> None:
    with serve_in_thread(answer, "test") as address:
        assert get(address, "/bomb") == Fault("malformed", "an answer of more than 1,000 bytes")
        assert get(address, "/small", max_bytes=4) == Fault("malformed", "an answer of more than 4 bytes")


def test_the_whole_answer_has_a_time_limit() -> None:
    with serve_in_thread(answer, "test") as address:
        assert get(address, "/hang", timeout_s=0.1) == Fault("unanswered", "no answer within 0.1 s", retryable=True)


def test_a_failed_connection_is_retryable() -> None:
    async def send(_: asyncio.Timeout) -> HttpResponse:
        raise ConnectionFailed("refused")

    assert asyncio.run(exchange(send, 1.0)) == Fault("unanswered", "the connection failed (refused)", retryable=True)


def test_no_proxy_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serve_in_thread(answer, "test") as address:
        assert isinstance(get(address, "/small"), HttpResponse)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Fault("refused", "HTTP 400 (why)", status=400, raw="raw")),
        (404, Fault("refused", "HTTP 404 (why)", status=404, raw="raw")),
        (429, Fault("unanswered", "HTTP 429 (why)", True, 429, 3.0, "raw")),
        (503, Fault("unanswered", "HTTP 503 (why)", True, 503, 3.0, "raw")),
    ],
)
def test_faults_by_status(status: int, expected: Fault) -> None:
    fault = fault_of_status(HttpResponse(status, {"retry-after": "3"}, b""), " (why)", "raw")
    assert fault == expected
    assert fault.busy == (status in (429, 503))
