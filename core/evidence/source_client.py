"""The one client for public sources: cached on disk, polite, and never a failure for an answer."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from core.evidence.errors import SourceError, SourceGarbled, SourceOffline, SourceRefused, SourceSilent
from core.evidence.source_transport import Fault, Wire
from core.evidence.sources import Request, Site, SourceSettings, is_askable
from core.net.rate_limit import RateLimit, Sleep
from core.net.response_cache import CachedResponse, ResponseCache

T = TypeVar("T")
Mode = Literal["live", "offline"]
Literature = Literal["keyword", "passage"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One kind of question that a site answers about several names at once.

    alone: the request that asks about one name by itself, under which its answer is kept. fetch: the answers about
    several, each a text of its own, None or left out where the site has nothing. most: names a request.
    """

    site: Site
    alone: Callable[[str], Request]
    fetch: Callable[[SourceClient, Sequence[str]], Awaitable[Mapping[str, str | None]]]
    most: int = 1


class SourceClient:
    """The client of one worker, for one event loop; `async with` closes its connections and ends what is under way.

    mode: "offline" answers from the cache and opens no connection. literature: how abstracts are to be read. A source
    that tells a version is asked for it once, before its first other request.
    """

    def __init__(
        self,
        net: SourceSettings,
        mode: Mode = "live",
        literature: Literature = "passage",
        *,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.net, self.mode, self.literature = net, mode, literature
        self.perts: tuple[str, ...] = ()
        self.genes: tuple[str, ...] = ()
        self.shelf = ResponseCache(net.cache) if net.cache else None
        self._rng, self._sleep = rng or random.Random(), sleep
        self._wires: dict[str, Wire] = {}
        self._versions: dict[str, asyncio.Task[str]] = {}
        self._under_way: dict[str, asyncio.Task[Mapping[str, CachedResponse]]] = {}
        self._unshelved: dict[str, CachedResponse] = {}  # what the file could not take
        self._left_alone: dict[str, float] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        tasks: list[asyncio.Task[Any]] = [*self._under_way.values(), *self._versions.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for wire in self._wires.values():
            await wire.close()
        if self.shelf is not None:
            self.shelf.close()

    def expect(self, perts: Iterable[str], genes: Iterable[str]) -> None:
        """Tell which symbols the run will ask about, so that many are asked for at once."""
        self.perts, self.genes = (tuple(dict.fromkeys(filter(is_askable, symbols))) for symbols in (perts, genes))

    async def one(self, batch: Batch, name: str, expected: Iterable[str] = ()) -> CachedResponse:
        """The answer about one name; those expected that are not in the cache are asked for along with it.

        Raises SourceOffline where the cache lacks it and nobody may be asked, and other errors below SourceError.
        """
        return (await self.many(batch, [name], expected))[name]

    async def many(self, batch: Batch, names: Sequence[str], expected: Iterable[str] = ()) -> dict[str, CachedResponse]:
        """The answers about several names, as `one`."""
        found = {name: self._kept(batch, name) for name in names}
        missing = [name for name, kept in found.items() if kept is None]
        if missing and self.mode == "offline":
            raise SourceOffline(f"{batch.site.title}: not in the cache, and this run asks nobody")
        fresh = [name for name in missing if self._key(batch, name) not in self._under_way]
        if fresh:
            self._begin(batch, [*fresh, *self._foreseen(batch, fresh, expected)])
        tasks = {name: self._under_way[self._key(batch, name)] for name in missing}
        brought = {name: (await asyncio.shield(task))[name] for name, task in tasks.items()}
        return {name: kept if kept is not None else brought[name] for name, kept in found.items()}

    async def ask(self, site: Site, request: Request, read: Callable[[str], T]) -> T | None:
        """What `read` makes of the text of an answer, None where there is nothing; waits, asks again, raises SourceError.

        read: raises ValueError for what cannot be an answer. Nothing is looked up or kept.
        """
        failed = 0
        while True:
            self._refuse_left_alone(site)
            outcome = await self._wire(site).exchange(request, read)
            if not isinstance(outcome, Fault):
                return outcome
            failed += 1
            await self._after(site, outcome, failed)

    async def _after(self, site: Site, fault: Fault, failed: int) -> None:
        """Wait for another attempt; raises where that would not help or is one too many."""
        net, where = self.net, site.title  # not its address: errors are stored and passed on
        asked = fault.wait_s
        if asked is not None and asked > net.longest_wait_s:
            self._left_alone[site.name] = asyncio.get_running_loop().time() + asked
            self._refuse_left_alone(site)
        doubled = min(net.longest_backoff_s, math.ldexp(net.backoff_s, min(failed - 1, 60))) * self._rng.uniform(0.5, 1.0)
        wait = doubled if asked is None else asked + self._rng.random() * net.backoff_s
        if fault.busy:
            self._wire(site).pace.hold(wait)
        if not fault.passing or failed > net.retries:
            times = f"; gave up after {failed} attempts" if failed > 1 else ""
            raise fault.kind(f"{where}: {fault.message}, expected an answer{times}")
        if not fault.busy:  # else the whole source waits
            await self._sleep(wait)

    def _refuse_left_alone(self, site: Site) -> None:
        left = self._left_alone.get(site.name, 0.0) - asyncio.get_running_loop().time()
        if left > 0:
            raise SourceSilent(
                f"{site.title}: asks to be left alone for {left:,.0f} s, expected at most {self.net.longest_wait_s:,.0f}"
            )

    def _wire(self, site: Site) -> Wire:
        if site.name not in self._wires:
            pace = RateLimit(site.name, site.rate(self.net), site.serial, self.shelf, self._sleep)
            self._wires[site.name] = Wire(site, self.net, pace)
        return self._wires[site.name]

    def _key(self, batch: Batch, name: str) -> str:
        return batch.site.key(self.net, batch.alone(name))

    def _kept(self, batch: Batch, name: str) -> CachedResponse | None:
        key = self._key(batch, name)
        return self._unshelved.get(key) or (self.shelf.get(key) if self.shelf else None)

    def _foreseen(self, batch: Batch, wanted: Sequence[str], expected: Iterable[str]) -> list[str]:
        """Those expected that are neither in the cache nor under way, as many as fit into a request."""
        found: list[str] = []
        for name in dict.fromkeys(expected):
            if len(wanted) + len(found) >= batch.most:
                break
            if name not in wanted and self._key(batch, name) not in self._under_way and self._kept(batch, name) is None:
                found.append(name)
        return found

    def _begin(self, batch: Batch, names: Sequence[str]) -> None:
        """Ask for names that nobody has asked for; what is under way goes on when those who wait for it are gone."""
        for start in range(0, len(names), batch.most):
            together = names[start : start + batch.most]
            keys = [self._key(batch, name) for name in together]
            task = _begun(self._bring(batch, together))
            self._under_way.update(dict.fromkeys(keys, task))
            task.add_done_callback(partial(self._ended, keys))

    def _ended(self, keys: Sequence[str], _: object) -> None:
        for key in keys:
            self._under_way.pop(key, None)

    async def _bring(self, batch: Batch, names: Sequence[str]) -> Mapping[str, CachedResponse]:
        version = await self._version(batch.site)
        bodies = await batch.fetch(self, names)
        now = datetime.now(UTC)
        found = {name: CachedResponse(bodies.get(name), version, now) for name in names}
        for name, kept in found.items():
            key = self._key(batch, name)
            if self.shelf is None or not self.shelf.put(key, kept):
                self._unshelved[key] = kept
        return found

    async def _version(self, site: Site) -> str:
        if site.name not in self._versions:
            self._versions[site.name] = _begun(self._ask_version(site))
        task = self._versions[site.name]
        try:
            return await asyncio.shield(task)
        except SourceError:
            if self._versions.get(site.name) is task:
                del self._versions[site.name]  # asked again before the next request
            raise

    async def _ask_version(self, site: Site) -> str:
        """The version of a source, "" where it tells none."""
        if site.version is None:
            return ""
        try:
            return await self.ask(site, site.version, site.read_version) or ""
        except (SourceRefused, SourceGarbled):
            return ""


def _begun(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task of its own, whose failure is not reported as lost where nobody waits for it any more."""
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


def source_of(site: Site, *kept: CachedResponse) -> str:
    """What an answer made from these names as its source: the site, its versions, and when it was asked."""
    versions = ", ".join(sorted({one.version for one in kept} - {""}))
    days = sorted({f"{one.retrieved_at:%Y-%m-%d}" for one in kept})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{site.title}{f' {versions}' if versions else ''}, retrieved {when}"
