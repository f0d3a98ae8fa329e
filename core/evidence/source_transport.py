"""One HTTP exchange with a public source: what it says, or what went wrong. Nothing is repeated here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from core import __version__
from core.evidence.errors import SourceError, SourceGarbled, SourceRefused, SourceSilent
from core.evidence.sources import Request, Site, SourceSettings, is_local
from core.net.rate_limit import RateLimit, Slot
from core.net.retry import retry_after_s

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
PASSING = frozenset({408, 425, 429})
_BUSY = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Fault:
    """An exchange that brought nothing.

    passing: asking again may help. busy: the source wants to be left alone; wait_s: for how long, where it says so.
    """

    kind: type[SourceError]
    message: str
    passing: bool = False
    busy: bool = False
    wait_s: float | None = None


class _TooLong(Exception):
    """An answer is longer than allowed."""


class Wire:
    """Connections to one source, kept open; for one event loop. None is opened before the first exchange."""

    def __init__(self, site: Site, net: SourceSettings, pace: RateLimit) -> None:
        self.site, self.net, self.pace = site, net, pace
        self._client: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def exchange(self, request: Request, read: Callable[[str], T]) -> T | Fault | None:
        """What `read` makes of the text of a 200 answer; None for a 404 where the site may lack it. A ValueError is a fault."""
        import httpx

        try:
            status, headers, content = await self._send(request)
        except TimeoutError:
            return Fault(SourceSilent, f"no answer within {self.net.timeout_s:g} s", passing=True)
        except httpx.HTTPError as error:
            return Fault(SourceSilent, f"the connection failed ({type(error).__name__})", passing=True)
        except _TooLong:
            return Fault(SourceGarbled, f"an answer of more than {self.net.most_bytes:,} bytes")
        if status == 404 and request.may_lack:
            return None
        if status != 200:
            return _of_status(status, headers)
        try:
            return read(self.net.scrub(content.decode("utf-8")))
        except ValueError as error:
            return Fault(
                SourceGarbled, f"an answer that is not what {self.site.title} sends ({type(error).__name__})", passing=True
            )

    async def _send(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        client = self._opened()
        params = {**request.params, **self.site.about_asker(self.net)}
        content = bytearray()
        async with (
            self.pace.turn() as turn,
            asyncio.timeout(self.net.timeout_s) as limit,
            client.stream(
                request.method,
                f"{self.site.address(self.net)}/{request.path}",
                params=params if request.method == "GET" else None,
                data=params if request.method == "POST" else None,
                extensions={"trace": _paced(turn, limit, self.net.timeout_s)},
            ) as response,
        ):
            if response.status_code == 200:
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > self.net.most_bytes:
                        raise _TooLong
        return response.status_code, response.headers, bytes(content)

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            by = f" (mailto:{self.net.contact})" if self.net.contact else ""
            self._client = httpx.AsyncClient(
                headers={"User-Agent": f"PerturbDesk/{__version__}{by}"},
                timeout=None,  # a whole answer is timed
                follow_redirects=False,
                trust_env=not is_local(self.site.address(self.net)),
            )
        return self._client


def _paced(turn: Slot, limit: asyncio.Timeout, timeout_s: float) -> Callable[[str, object], Awaitable[None]]:
    """Waits for the source's next slot when the connection stands, so that making one does not push requests together."""

    async def trace(event: str, _: object) -> None:
        if event.endswith("send_request_headers.started"):
            limit.reschedule(None)
            await turn.claim()
            limit.reschedule(asyncio.get_running_loop().time() + timeout_s)
        elif event.endswith("send_request_body.complete"):
            turn.written()

    return trace


def _of_status(status: int, headers: Mapping[str, str]) -> Fault:
    if 300 <= status < 400:
        return Fault(SourceRefused, f"HTTP {status}, a redirect, which is not followed")
    passing = status in PASSING or status >= 500
    wait = retry_after_s(headers, time.time()) if passing else None
    return Fault(SourceSilent if passing else SourceRefused, f"HTTP {status}", passing, status in _BUSY, wait)
