"""One HTTP exchange with a server: a response, or a typed fault. Nothing is repeated here.

Every exchange has a time limit for the whole answer and a size limit. Redirects are not followed, a
client asks no other server than its own, and no proxy stands between this machine and itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from core.base.net.addresses import is_local, origin_of
from core.base.net.retry import Fault, is_retryable, retry_after_s
from core.base.net.server_access import ServerAccess

if TYPE_CHECKING:
    import ssl

    from httpx2 import AsyncByteStream, AsyncClient, Request, Response

MAX_BYTES = 256 << 20
MAX_ERROR_BYTES = 64 << 10  # of an answer without success, whose rest is not read
T = TypeVar("T")
OnPart = Callable[[bytes], bool]
_PART_BYTES = 16 << 10
_SHORT = 1 << 16  # characters that are read in no time
_LONGEST_HOLD_S = 0.005  # for which an answer that comes fast keeps other tasks from running
# What the client of the openai package takes from arguments and from the environment.
BEARER = "Authorization"
_IDENTIFYING = (BEARER, "OpenAI-Organization", "OpenAI-Project")
_progress: ContextVar[_Progress | None] = ContextVar("progress", default=None)


class HttpResponse(NamedTuple):
    """The answer to a request; the names of headers ignore case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class ConnectionFailed(Exception):
    """The connection could not be made, or broke, or what came breaks HTTP; the text says why."""


class TooLong(Exception):
    """The answer is longer than allowed, in transit or decompressed; the text says how much is
    allowed."""


class FarTooLong(TooLong):
    """The answer exceeds the fixed limit: a line of a stream, or the text of a model."""


@dataclass(slots=True)
class _Progress:
    """How many bytes of an answer have come, in transit."""

    received: int = 0


async def exchange(
    send: Callable[[asyncio.Timeout], Awaitable[HttpResponse]], timeout_s: float
) -> HttpResponse | Fault:
    """Return the response that `send` returns, whatever its status; a fault if no whole response
    came in time.

    send: gets the running time limit, which it may reschedule, and raises ConnectionFailed or
    TooLong. An answer that began in time and did not end is not worth a retry: it would take as
    long again.
    """
    progress = _Progress()
    token = _progress.set(progress)
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await send(limit)
    except TimeoutError:
        if progress.received:
            return Fault(
                "unanswered",
                f"no answer within {timeout_s:g} s, but {progress.received:,} bytes of one",
                began=True,
            )
        return Fault("unanswered", f"no answer within {timeout_s:g} s", retryable=True)
    except ConnectionFailed as error:
        if problem := _certificate_problem(error):
            # asked again it would be the same, and nothing was sent
            return Fault("unanswered", f"the server's certificate is not trusted ({problem})")
        return Fault("unanswered", f"the connection failed ({error})", retryable=True)
    except TooLong as error:
        return Fault("malformed", f"an answer of more than {error}")
    finally:
        _progress.reset(token)


def _certificate_problem(error: BaseException | None) -> str:
    """Return what is wrong with a server's certificate, if that is behind an error; else ""."""
    while error is not None and not hasattr(error, "verify_message"):  # as ssl's error has
        error = error.__cause__ or error.__context__
    return "" if error is None else str(error.verify_message).rstrip(".")


def fault_of_status(response: HttpResponse, detail: str = "", raw: str = "") -> Fault:
    """Return the fault for an unsuccessful response; `detail` follows the status, or the redirect,
    in its message."""
    status = response.status
    if 300 <= status < 400:
        return Fault(
            "refused",
            f"HTTP {status}, a redirect{detail}, which is not followed",
            status=status,
            raw=raw,
        )
    retryable = is_retryable(status)
    wait_s = retry_after_s(response.headers, time.time()) if retryable else None
    return Fault(
        "unanswered" if retryable else "refused",
        f"HTTP {status}{detail}",
        retryable,
        status,
        wait_s,
        raw,
    )


def open_http_client(
    address: str,
    access: ServerAccess | None = None,
    *,
    key_header: str = BEARER,
    base: type[AsyncClient] | None = None,
    **options: Any,
) -> AsyncClient:
    """Return an HTTP client for one server and one event loop; `send_request` and `send_prepared`
    limit what it reads.

    access: gives each request the key of the address, and no other key; None for a server that
    takes none. key_header: the header that carries it. base: the class of the client, httpx2's own
    by default. options: as of that class. Raise AddressRefused for a server that may not be asked.
    """
    import httpx2

    key = None
    if access is not None:
        access.refuse_unlisted(address)
        key = access.key_for(address)
    timeout = options.pop("timeout", None)  # a whole answer is timed in `exchange`
    options.setdefault("verify", _trusted_certificates(trust_env=not is_local(address)))
    origin = origin_of(address)

    class BoundClient(base or httpx2.AsyncClient):  # type: ignore[misc]
        async def send(self, request: Request, *, stream: bool = False, **options: Any) -> Response:
            if origin_of(str(request.url).partition("?")[0]) != origin:
                raise httpx2.UnsupportedProtocol(f"a request to another server than {origin}")
            # else headers stay as they are; nowhere else does a request get a key
            if key is not None:
                for name in _IDENTIFYING:
                    request.headers.pop(name, None)
            if key:
                request.headers[key_header] = f"Bearer {key}" if key_header == BEARER else key
            response: Response = await super().send(request, stream=stream, **options)
            return response

    return BoundClient(
        timeout=timeout, follow_redirects=False, trust_env=not is_local(address), **options
    )


@cache
def _trusted_certificates(*, trust_env: bool) -> ssl.SSLContext:
    """Return the certificates that are trusted: read once, which takes longer than many a
    request."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=trust_env)


async def send_request(
    client: AsyncClient, method: str, url: str, max_bytes: int = MAX_BYTES, **options: Any
) -> HttpResponse:
    """Return the response to one request. Raise ConnectionFailed, which names the kind of the error
    and holds no text of others, and TooLong.

    max_bytes: as of `send_prepared`. options: as of the client's `build_request`.
    """
    import httpx2

    try:
        return await send_prepared(client, client.build_request(method, url, **options), max_bytes)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ConnectionFailed(type(error).__name__) from None


async def send_prepared(
    client: AsyncClient, request: Request, max_bytes: int, on_part: OnPart | None = None
) -> HttpResponse:
    """Return the response to a request; of one without success the beginning.

    max_bytes: the most that the answer may hold, in transit and after decompression; TooLong is
    raised as soon as more has come. on_part: takes each part of an answer of success as it comes,
    decompressed, instead of the content, which is not kept; returns whether it needs no more, and
    the rest is not read. It may raise TooLong. Raise HTTPError of httpx2 for any other failure.
    """
    import httpx2

    try:
        response = await client.send(request, stream=True)
        try:
            content = await _read_limited(response, max_bytes, on_part)
        finally:
            await response.aclose()
    except _other_errors() as error:
        raise httpx2.RemoteProtocolError(type(error).__name__) from error
    return HttpResponse(response.status_code, response.headers, content)


async def read_aside(read: Callable[[str], T], text: str) -> T:
    """Return the value of a function of a text; a long text is read in the thread, so that other
    tasks have their turn."""
    if len(text) <= _SHORT:
        return read(text)
    return await asyncio.get_running_loop().run_in_executor(_reader(), read, text)


@cache
def _reader() -> ThreadPoolExecutor:
    """Return one thread: several that parse at a time would keep Python to themselves for as long
    as all of them take."""
    return ThreadPoolExecutor(1, "long texts")


def _other_errors() -> tuple[type[Exception], ...]:
    """Return the errors besides those of httpx2 that an answer can cause: invalid HTTP, text or
    compression.

    The client of the openai package lets errors of aiohttp through, and httpx2 the end of a stream
    in TLS.
    """
    from aiohttp import ClientError
    from aiohttp.http_exceptions import HttpProcessingError
    from anyio import EndOfStream

    return (
        ClientError,
        HttpProcessingError,
        EndOfStream,
        ValueError,
        LookupError,
        OSError,
        EOFError,
        RecursionError,
        zlib.error,
    )


async def _read_limited(response: Response, max_bytes: int, on_part: OnPart | None) -> bytes:
    """Return the whole content of a response, or the beginning of it if that is no success; without
    what `on_part` took.

    Raise TooLong if there is more than allowed. What Content-Length says is not relied on.
    """
    response.stream = _limited_stream()(response.stream, max_bytes)
    buffer = bytearray()
    try:
        async with contextlib.aclosing(_parts_of(response, max_bytes)) as parts:
            on_part = on_part if response.is_success else None
            async for part in parts:
                if on_part is None:
                    buffer += part
                elif on_part(part):
                    break
                if not response.is_success and len(buffer) > MAX_ERROR_BYTES:
                    del buffer[MAX_ERROR_BYTES:]
                    break
        return bytes(buffer)
    finally:
        buffer.clear()  # an error keeps the variables of this function for a while


async def _parts_of(response: Response, max_bytes: int) -> AsyncGenerator[bytes]:
    """Yield the parts of an answer, decompressed. Raise TooLong after too many bytes.

    Lets other tasks run between them, which an answer that is always there before it is asked for,
    or is much larger than what is sent, would not.
    """
    received, began_at = 0, time.monotonic()
    async with contextlib.aclosing(response.aiter_bytes()) as parts:
        async for whole in parts:
            received += len(whole)
            if received > max_bytes:
                raise TooLong(f"{max_bytes:,} bytes")
            for start in range(0, len(whole), _PART_BYTES):
                yield whole[start : start + _PART_BYTES]
                if time.monotonic() - began_at > _LONGEST_HOLD_S:
                    await asyncio.sleep(0)
                    began_at = time.monotonic()


@cache
def _limited_stream() -> Callable[[Any, int], AsyncByteStream]:
    """Return the class that yields the compressed bytes of a stream as they come: decompressing may
    yield nothing. It raises TooLong after too many."""
    import httpx2

    class LimitedStream(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, max_bytes: int) -> None:
            self._stream, self._max_bytes = stream, max_bytes

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received, progress = 0, _progress.get()
            async for part in self._stream:
                received += len(part)
                if progress is not None:
                    progress.received = received
                if received > self._max_bytes:
                    raise TooLong(f"{self._max_bytes:,} bytes")
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    return LimitedStream
