"""How fast a server may be asked: by every coroutine of this process, and by every process that shares the cache file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from core.net.response_cache import MAX_WAIT_S, ResponseCache
from core.net.retry import Sleep

MARGIN = 1.05  # requests that travel at different speeds must not put one too many into a second
_POLL_S = 0.05


class Slot(NamedTuple):
    """take: await it right before a request is written. release: call it right after; the next in line may then proceed."""

    take: Callable[[], Awaitable[None]]
    release: Callable[[], None]


class RateLimit:
    """The rate of one source.

    per_s: requests a second. serial: whether each request must be answered before the next is sent. cache: the file through
    which processes share the rate; None or an unusable file leaves each process its own.
    """

    def __init__(
        self, source: str, per_s: float, serial: bool, cache: ResponseCache | None, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.source, self.serial = source, serial
        self._interval_s = MARGIN / per_s
        self._cache, self._sleep = cache, sleep
        self._line = asyncio.Lock()
        self._next_slot = 0.0  # of this process only, in seconds since 1970

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Slot]:
        """Wait until this coroutine is first in line and the next slot has come; a serial source's turn lasts for the block."""
        await self._line.acquire()
        in_line = True

        def leave_line() -> None:
            nonlocal in_line
            if in_line:
                in_line = False
                self._line.release()

        def release() -> None:
            # Counted from when the request was really written: after a late one, the next must not come too soon.
            self.block(self._interval_s)
            if not self.serial:
                leave_line()

        try:
            await self._wait_until(self._next_slot_at)
            if self.serial and self._cache is not None:
                async with _one_process(Path(f"{self._cache.path}.{self.source}.lock"), self._sleep):
                    yield Slot(self._take, release)
            else:
                yield Slot(self._take, release)
        finally:
            leave_line()

    def block(self, seconds: float) -> None:
        """Keep every process from asking the source for so many seconds."""
        now = time.time()
        self._next_slot = max(self._next_slot, now + seconds)
        if self._cache is not None:
            self._cache.block(self.source, now, now + seconds)

    async def _take(self) -> None:
        """Wait for the next slot and take it. The next slot is counted from when it is taken, which may be late."""

        def try_to_take(now: float) -> float:
            until = now + self._interval_s
            at = self._own_next_slot(now)
            if at <= now and self._cache is not None:
                at = self._cache.take_slot(self.source, now, until)
            if at <= now:
                self._next_slot = until
            return at

        await self._wait_until(try_to_take)

    def _next_slot_at(self, now: float) -> float:
        return max(self._own_next_slot(now), now if self._cache is None else self._cache.next_slot(self.source, now))

    def _own_next_slot(self, now: float) -> float:
        return self._next_slot if self._next_slot <= now + MAX_WAIT_S else now  # beyond: the clock was set back

    async def _wait_until(self, slot_at: Callable[[float], float]) -> None:
        """Wait until the time that `slot_at(now)` gives is not in the future."""
        while (at := slot_at(now := time.time())) > now:
            await self._sleep(at - now)


@asynccontextmanager
async def _one_process(path: Path, sleep: Sleep) -> AsyncIterator[None]:
    """Let only one process into the block at a time; no process waits if the lock file cannot be made."""
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            await sleep(_POLL_S)
        except OSError:
            break
        else:
            break
    try:
        yield
    finally:
        lock.release()
