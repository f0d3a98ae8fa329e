"""How fast a server may be asked: by every coroutine of this process, and by every process that
shares the cache file.

A source that allows n requests a second has n permits. A request holds one from just before it is
written until a second after its answer has come. When it arrived between the two is unknown, and
need not be: two requests with the same permit arrive a second apart, so among n + 1 requests some
two do, however late a busy machine or a slow network delivers any of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from core.base.net.response_cache import MAX_WAIT_S, ResponseCache
from core.base.net.retry import Sleep

MARGIN = 1.05  # clocks of two machines need not run alike
Take = Callable[[], Awaitable[None]]


class RateLimit:
    """The rate of one source.

    per_s: requests a second. serial: whether each request must be answered before the next is sent.
    cache: the file through which processes share the rate; None or an unusable file leaves each
    process its own. lease_s: after which the permit of a process that died with a request is free
    again; longer than any request takes.
    """

    def __init__(
        self,
        source: str,
        per_s: float,
        serial: bool,
        cache: ResponseCache | None,
        sleep: Sleep = asyncio.sleep,
        lease_s: float = MAX_WAIT_S,
    ) -> None:
        self.source = source
        permits = 1 if serial else max(1, int(per_s))
        self._rest_s = MARGIN * permits / per_s if permits == 1 else MARGIN
        self._cache, self._sleep, self._lease_s = cache, sleep, lease_s
        self._line = asyncio.Semaphore(permits)
        self._free_at = [0.0] * permits  # of this process only, in seconds since 1970
        self._blocked_until = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Take]:
        """Wait until a permit is near, and give it back when the block ends, with the answer.

        Yield a function to be awaited right before a request is written: it waits for the permit.
        """
        taken: list[int] = []

        async def take() -> None:
            while (at := self._take(now := time.time(), taken)) > now:
                await self._sleep(at - now)

        async with self._line:
            try:
                while (at := self._next_at(now := time.time())) > now:
                    await self._sleep(at - now)
                yield take
            finally:
                for permit in taken:
                    free_at = time.time() + self._rest_s
                    self._free_at[permit] = free_at
                    if self._cache is not None:
                        self._cache.give_back(self.source, permit, free_at)

    def block(self, seconds: float) -> None:
        """Keep every process from asking the source for so many seconds."""
        now = time.time()
        self._blocked_until = max(self._blocked_until, now + seconds)
        if self._cache is not None:
            self._cache.block(self.source, now, now + seconds)

    def _take(self, now: float, taken: list[int]) -> float:
        """Take a permit that is free and add its number to `taken`; return `now`, or when to look
        again if none is free."""
        if (at := self._next_at(now)) > now:
            return at
        free = [
            number
            for number, free_at in enumerate(self._free_at)
            if not now < free_at <= now + MAX_WAIT_S
        ]
        number: int | None = free[0]
        if self._cache is not None:
            number, at = self._cache.take_permit(self.source, free, now, now + self._lease_s)
        if number is not None:
            self._free_at[number] = now + self._lease_s
            taken.append(number)
        return at

    def _next_at(self, now: float) -> float:
        """When a permit of this process may be free: `now`, or a later time."""
        # A time further ahead than any wait was noted before the clock was set back.
        waited = [
            free_at if now < free_at <= now + MAX_WAIT_S else now
            for free_at in (*self._free_at, self._blocked_until)
        ]
        return max(min(waited[:-1]), waited[-1])
