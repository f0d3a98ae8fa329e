"""How fast a source may be asked: by every coroutine of this process, and by every process that shares the cache."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from core.net.response_cache import LONGEST_WAIT_S, ResponseCache

Sleep = Callable[[float], Awaitable[object]]
MARGIN = 1.05  # what a request loses or gains on its way shall not put one too many into a second
_LOOK_S = 0.05


class Slot(NamedTuple):
    """claim: to await just before a request is written. written: to call just after; it lets the next in line come up."""

    claim: Callable[[], Awaitable[None]]
    written: Callable[[], None]


class RateLimit:
    """The rate of one source. serial: whether it also answers one request before it is sent another."""

    def __init__(
        self, source: str, per_s: float, serial: bool, shelf: ResponseCache | None, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.source, self.serial = source, serial
        self._apart_s = MARGIN / per_s
        self._shelf, self._sleep = shelf, sleep
        self._line = asyncio.Lock()
        self._next = 0.0  # of this process alone; all there is where the file cannot be used

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Slot]:
        """First in line, and the next slot is near: time to connect. For a serial source the next comes up after the block."""
        await self._line.acquire()
        waiting = True

        def let_next() -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                self._line.release()

        def written() -> None:
            self.hold(self._apart_s)  # from now on: what was held up on its way out is followed later
            if not self.serial:
                let_next()

        try:
            await self._until(self._coming)
            if self.serial and self._shelf is not None:
                async with _alone(Path(f"{self._shelf.path}.{self.source}.lock"), self._sleep):
                    yield Slot(self._claim, written)
            else:
                yield Slot(self._claim, written)
        finally:
            let_next()

    def hold(self, seconds: float) -> None:
        """Let nobody ask the source for so long."""
        now = time.time()
        self._next = max(self._next, now + seconds)
        if self._shelf is not None:
            self._shelf.hold(self.source, now, now + seconds)

    async def _claim(self) -> None:
        """Take the next slot when it comes. It is dated when it is taken, so that one who wakes late is followed late."""

        def take(now: float) -> float:
            until = now + self._apart_s
            at = self._own(now)
            if at <= now and self._shelf is not None:
                at = self._shelf.claim(self.source, now, until)
            if at <= now:
                self._next = until
            return at

        await self._until(take)

    def _coming(self, now: float) -> float:
        return max(self._own(now), now if self._shelf is None else self._shelf.coming(self.source, now))

    def _own(self, now: float) -> float:
        return self._next if self._next <= now + LONGEST_WAIT_S else now  # else the clock was set back

    async def _until(self, slot: Callable[[float], float]) -> None:
        """Wait until the slot has come."""
        while (at := slot(now := time.time())) > now:
            await self._sleep(at - now)


@asynccontextmanager
async def _alone(path: Path, sleep: Sleep) -> AsyncIterator[None]:
    """Only one process at a time; where no file can be made, each for itself."""
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            await sleep(_LOOK_S)
        except OSError:
            break
        else:
            break
    try:
        yield
    finally:
        lock.release()
