"""One exchange with a public source at the rate that it allows: its answer, or a fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from core import __version__
from core.base.net.rate_limit import RateLimit, Take
from core.base.net.retry import Fault
from core.base.net.transport import (
    HttpResponse,
    exchange,
    fault_of_status,
    open_http_client,
    send_request,
)
from core.evidence.sources import Site, SourceRequest, SourceSettings

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Read = TypeVar("Read")
# characters: a longer text is parsed in a thread, so that it does not block the event loop
_LONG = 1 << 16


class SourceTransport:
    """Persistent connections to one source, for one event loop. The first is opened at the first
    exchange."""

    def __init__(self, site: Site, settings: SourceSettings, rate_limit: RateLimit) -> None:
        self.site, self.settings, self.rate_limit = site, settings, rate_limit
        self._client: AsyncClient | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def send(self, request: SourceRequest, read: Callable[[str], Read]) -> Read | Fault | None:
        """Return what `read` returns for the text of a 200 answer, None for a 404 if the request
        allows it, else a fault.

        A ValueError of `read` is a fault. No fault contains text from the source.
        """
        async with self.rate_limit.turn() as take:
            response = await exchange(partial(self._send, request, take), self.settings.timeout_s)
        if isinstance(response, Fault):
            return response
        if response.status == 404 and request.may_be_missing:
            return None
        if response.status != 200:
            return fault_of_status(response)
        try:
            text = self.settings.scrub(response.content.decode("utf-8"))
            return await asyncio.to_thread(read, text) if len(text) > _LONG else read(text)
        except ValueError as error:
            message = (
                f"an answer unlike those that {self.site.title} sends ({type(error).__name__})"
            )
            return Fault("malformed", message, retryable=True)

    async def _send(
        self, request: SourceRequest, take: Take, limit: asyncio.Timeout
    ) -> HttpResponse:
        params = {**request.params, **self.site.identify(self.settings)}
        if self._client is None:
            contact = f" (mailto:{self.settings.contact})" if self.settings.contact else ""
            self._client = open_http_client(
                self.site.address(self.settings),
                max_bytes=self.settings.max_bytes,
                headers={"User-Agent": f"PerturbDesk/{__version__}{contact}"},
            )
        return await send_request(
            self._client,
            request.method,
            f"{self.site.address(self.settings)}/{request.path}",
            params=params if request.method == "GET" else None,
            data=params if request.method == "POST" else None,
            extensions={"trace": _trace(take, limit, self.settings.timeout_s)},
        )


def _trace(
    take: Take, limit: asyncio.Timeout, timeout_s: float
) -> Callable[[str, object], Awaitable[None]]:
    """Return a trace hook that waits for a permit once the connection is made, right before the
    request is written.

    Time spent waiting for it does not count towards the time limit.
    """

    async def trace(event: str, _: object) -> None:
        if event.endswith("send_request_headers.started"):
            limit.reschedule(None)
            await take()
            limit.reschedule(asyncio.get_running_loop().time() + timeout_s)

    return trace
