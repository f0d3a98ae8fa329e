"""One HTTP exchange with a server: a response, or a typed fault. Nothing is repeated here.

Every exchange has a time limit for the whole answer and a size limit. Redirects are not followed, and no proxy stands
between this machine and itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from core.net.addresses import is_local
from core.net.retry import BUSY, is_retryable, retry_after_s

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Request, Response

MAX_BYTES = 256 << 20  # 20 log-probabilities of 100,000 tokens take half of it


class HttpResponse(NamedTuple):
    """The answer to a request; the names of headers ignore case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """An exchange that failed.

    kind: unanswered (no answer, or one that asks to come back later), refused, or malformed. retryable: whether sending
    the request again may help. status: None if no answer came. wait_s: how long the server asks to wait, None if it does
    not say. raw: the text of the answer, without secrets.
    """

    kind: Literal["unanswered", "refused", "malformed"]
    message: str
    retryable: bool = False
    status: int | None = None
    wait_s: float | None = None
    raw: str = ""

    @property
    def busy(self) -> bool:
        """Whether the server asks for fewer requests."""
        return self.status in BUSY


class ConnectionFailed(Exception):
    """The connection could not be made, or broke; the text says why."""


class TooLong(Exception):
    """The answer is longer than allowed; the text says how much is allowed."""


async def exchange(send: Callable[[asyncio.Timeout], Awaitable[HttpResponse]], timeout_s: float) -> HttpResponse | Fault:
    """The response that `send` returns, whatever its status; a fault if no whole response came in time.

    send: gets the running time limit, which it may reschedule, and raises ConnectionFailed or TooLong.
    """
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await send(limit)
    except TimeoutError:
        return Fault("unanswered", f"no answer within {timeout_s:g} s", retryable=True)
    except ConnectionFailed as error:
        return Fault("unanswered", f"the connection failed ({error})", retryable=True)
    except TooLong as error:
        return Fault("malformed", f"an answer of more than {error} bytes")


def fault_of_status(response: HttpResponse, detail: str = "", raw: str = "") -> Fault:
    """The fault that a response without success stands for; `detail` follows the status in its message."""
    status = response.status
    if 300 <= status < 400:
        return Fault("refused", f"HTTP {status}, a redirect, which is not followed", status=status, raw=raw)
    retryable = is_retryable(status)
    wait_s = retry_after_s(response.headers, time.time()) if retryable else None
    return Fault("unanswered" if retryable else "refused", f"HTTP {status}{detail}", retryable, status, wait_s, raw)


def open_http_client(
    address: str, *, max_bytes: int = MAX_BYTES, base: type[AsyncClient] | None = None, **options: Any
) -> AsyncClient:
    """An HTTP client for one server and one event loop.

    max_bytes: the most that an answer may hold, after decompression; TooLong is raised beyond. base: the class of the
    client, httpx2's own by default. options: as of that class.
    """
    import httpx2

    timeout = options.pop("timeout", None)  # a whole answer is timed in `exchange`
    kind = _with_size_limit(base or httpx2.AsyncClient, max_bytes)
    return kind(timeout=timeout, follow_redirects=False, trust_env=not is_local(address), **options)


async def send_request(client: AsyncClient, method: str, url: str, **options: Any) -> HttpResponse:
    """The response to one request. Raises ConnectionFailed, which names the kind of the error and holds no text of others.

    options: as of the client's `request`.
    """
    import httpx2

    try:
        response = await client.request(method, url, **options)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ConnectionFailed(type(error).__name__) from None
    return HttpResponse(response.status_code, response.headers, response.content)


def _with_size_limit(base: type[AsyncClient], max_bytes: int) -> type[AsyncClient]:
    """The class of a client that reads no more than so many bytes of an answer."""

    class LimitedClient(base):  # type: ignore[misc, valid-type]
        async def send(self, request: Request, *, stream: bool = False, **options: Any) -> Response:
            response: Response = await super().send(request, stream=True, **options)
            if stream:
                return response
            try:
                return await _read_limited(response, max_bytes)
            finally:
                await response.aclose()

    return LimitedClient


async def _read_limited(response: Response, max_bytes: int) -> Response:
    """The response with its whole content. Raises TooLong if that is larger than allowed."""
    import httpx2

    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) <= max_bytes and "content-encoding" not in response.headers:
        await response.aread()
        return response
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > max_bytes:
            raise TooLong(f"{max_bytes:,}")
    headers = [(name, value) for name, value in response.headers.multi_items() if name != "content-encoding"]
    return httpx2.Response(
        response.status_code, headers=headers, content=bytes(content), request=response.request, extensions=response.extensions
    )
