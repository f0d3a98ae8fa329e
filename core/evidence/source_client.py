"""The client of public sources: cached on disk, polite, and with an error for every failure."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from core import __version__
from core.base.net.response_cache import CachedResponse, ResponseCache
from core.base.net.retry import MARGIN, Fault, RateLimit, Take
from core.base.net.transport import (
    HttpResponse,
    exchange,
    fault_of_status,
    open_http_client,
    send_request,
)
from core.evidence.sources import (
    ERROR_OF_FAULT,
    Site,
    SourceError,
    SourceGarbled,
    SourceOffline,
    SourceRefused,
    SourceRequest,
    SourceSettings,
    SourceSilent,
    is_askable,
)

if TYPE_CHECKING:
    from httpx2 import AsyncClient


T = TypeVar("T")
Mode = Literal["live", "offline"]
Literature = Literal["keyword", "passage"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One kind of question that a site answers for several names at once.

    request_for: the request about one name alone, which is the cache key of its answer. fetch: the
    answer texts by name; None or a missing name means that the site has nothing. max_names: the
    most names in one request.
    """

    site: Site
    request_for: Callable[[str], SourceRequest]
    fetch: Callable[[SourceClient, Sequence[str]], Awaitable[Mapping[str, str | None]]]
    max_names: int = 1


class SourceClient:
    """The client of one worker, for one event loop; `async with` cancels pending requests and
    closes the connections.

    mode: "offline" answers from the cache and opens no connection. literature: how abstracts are
    read. A source with a version is asked for it once, before the first other request.
    """

    def __init__(
        self, settings: SourceSettings, mode: Mode = "live", literature: Literature = "passage"
    ) -> None:
        self.settings, self.mode, self.literature = settings, mode, literature
        self.perts: tuple[str, ...] = ()
        self.genes: tuple[str, ...] = ()
        self.cache = ResponseCache(settings.cache) if settings.cache else None
        self._policy = settings.retry_policy
        self._rng = random.Random()
        self._transports: dict[str, SourceTransport] = {}
        self._versions: dict[str, asyncio.Task[str]] = {}
        self._pending: dict[str, asyncio.Task[Mapping[str, CachedResponse]]] = {}
        # answers that the cache file could not store
        self._uncached: dict[str, CachedResponse] = {}
        self._blocked_until: dict[str, float] = {}  # site → loop time

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks: list[asyncio.Task[Any]] = [*self._pending.values(), *self._versions.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for transport in self._transports.values():
            await transport.close()
        if self.cache is not None:
            self.cache.close()

    def expect(self, perts: Iterable[str], genes: Iterable[str]) -> None:
        """Set the symbols that the run will ask about, so that one request fetches many of them."""
        self.perts, self.genes = (
            tuple(dict.fromkeys(filter(is_askable, symbols))) for symbols in (perts, genes)
        )

    async def fetch_one(
        self, batch: Batch, name: str, expected: Iterable[str] = ()
    ) -> CachedResponse:
        """Return the answer about one name; expected names that are not in the cache are fetched in
        the same request.

        Raise SourceOffline if the cache lacks the answer and the mode is "offline", and other
        errors below SourceError.
        """
        return (await self.fetch_many(batch, [name], expected))[name]

    async def fetch_many(
        self, batch: Batch, names: Sequence[str], expected: Iterable[str] = ()
    ) -> dict[str, CachedResponse]:
        """Return the answers about several names, by name; see `fetch_one`."""
        cached = {name: self._from_cache(batch, name) for name in names}
        missing = [name for name, response in cached.items() if response is None]
        if missing and self.mode == "offline":
            raise SourceOffline(f"{batch.site.title}: not in the cache, and this run asks nobody")
        new = [name for name in missing if self._key(batch, name) not in self._pending]
        if new:
            # Expected names that are neither cached nor pending fill up the request.
            beside: list[str] = []
            for name in dict.fromkeys(expected):
                if len(new) + len(beside) >= batch.max_names:
                    break
                if (
                    name not in new
                    and self._key(batch, name) not in self._pending
                    and self._from_cache(batch, name) is None
                ):
                    beside.append(name)
            self._start_fetching(batch, [*new, *beside])
        tasks = {name: self._pending[self._key(batch, name)] for name in missing}
        fetched = {name: (await asyncio.shield(task))[name] for name, task in tasks.items()}
        return {
            name: fetched[name] if response is None else response
            for name, response in cached.items()
        }

    async def send(self, site: Site, request: SourceRequest, read: Callable[[str], T]) -> T | None:
        """Return what `read` makes of the text of the answer, None if the site has no entry;
        retried, but not cached.

        read: raises ValueError if the text is not what the site sends. Raise SourceError if no
        attempt succeeds.
        """
        failures = 0
        while True:
            self._check_not_blocked(site)
            outcome = await self._transport(site).send(request, read)
            if not isinstance(outcome, Fault):
                return outcome
            failures += 1
            reason = self._policy.reason_to_give_up(outcome, failures)
            if reason == "wait too long":
                self._blocked_until[site.name] = asyncio.get_running_loop().time() + (
                    outcome.wait_s or 0.0
                )
                self._check_not_blocked(site)
            wait_s = self._policy.wait_s(outcome, failures, self._rng)
            if outcome.busy:
                # every process that asks this source waits
                self._transport(site).rate_limit.block(wait_s)
            if reason is not None:
                attempts = f"; gave up after {failures} attempts" if failures > 1 else ""
                # The site's title, not its address: errors are stored and passed on.
                raise ERROR_OF_FAULT[outcome.kind](
                    f"{site.title}: {outcome.message}, expected an answer{attempts}"
                )
            if not outcome.busy:
                await asyncio.sleep(wait_s)

    def _check_not_blocked(self, site: Site) -> None:
        """Raise SourceSilent while a source that requested too long a wait is avoided."""
        left_s = self._blocked_until.get(site.name, 0.0) - asyncio.get_running_loop().time()
        if left_s > 0:
            longest = f"{self.settings.longest_wait_s:,.0f}"
            raise SourceSilent(
                f"{site.title}: asks to be left alone for {left_s:,.0f} s, expected at most"
                f" {longest}"
            )

    def _transport(self, site: Site) -> SourceTransport:
        if site.name not in self._transports:
            lease_s = self.settings.timeout_s + MARGIN
            rate_limit = RateLimit(
                site.name, site.rate(self.settings), site.serial, self.cache, lease_s=lease_s
            )
            self._transports[site.name] = SourceTransport(site, self.settings, rate_limit)
        return self._transports[site.name]

    def _key(self, batch: Batch, name: str) -> str:
        return batch.site.cache_key(self.settings, batch.request_for(name))

    def _from_cache(self, batch: Batch, name: str) -> CachedResponse | None:
        key = self._key(batch, name)
        return self._uncached.get(key) or (self.cache.get(key) if self.cache else None)

    def _start_fetching(self, batch: Batch, names: Sequence[str]) -> None:
        """Start tasks that fetch these names; they continue when their waiters are cancelled."""
        for start in range(0, len(names), batch.max_names):
            part = names[start : start + batch.max_names]
            keys = [self._key(batch, name) for name in part]
            task = _start(self._fetch_and_store(batch, part))
            self._pending.update(dict.fromkeys(keys, task))
            task.add_done_callback(partial(self._forget_pending, keys))

    def _forget_pending(self, keys: Sequence[str], _: object) -> None:
        for key in keys:
            self._pending.pop(key, None)

    async def _fetch_and_store(
        self, batch: Batch, names: Sequence[str]
    ) -> Mapping[str, CachedResponse]:
        version = await self._version(batch.site)
        bodies = await batch.fetch(self, names)
        now = datetime.now(UTC)
        responses = {name: CachedResponse(bodies.get(name), version, now) for name in names}
        for name, response in responses.items():
            key = self._key(batch, name)
            if self.cache is None or not self.cache.put(key, response):
                self._uncached[key] = response
        return responses

    async def _version(self, site: Site) -> str:
        """Return the version of a source, requested once; "" if it has none."""
        if site.name not in self._versions:
            self._versions[site.name] = _start(self._fetch_version(site))
        task = self._versions[site.name]
        try:
            return await asyncio.shield(task)
        except SourceError:
            if self._versions.get(site.name) is task:
                del self._versions[site.name]  # requested again before the next request
            raise

    async def _fetch_version(self, site: Site) -> str:
        if site.version is None:
            return ""
        try:
            return await self.send(site, site.version, site.read_version) or ""
        except (SourceRefused, SourceGarbled):
            return ""


def _start(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Return a task for this work; no warning is logged if it fails without waiters."""
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def describe_source(site: Site, *responses: CachedResponse) -> str:
    """Return the source of an answer made from these responses: the site, its versions, and the
    days of retrieval."""
    versions = ", ".join(sorted({response.version for response in responses} - {""}))
    days = sorted({f"{response.retrieved_at:%Y-%m-%d}" for response in responses})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{site.title}{f' {versions}' if versions else ''}, retrieved {when}"


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

    async def send(self, request: SourceRequest, read: Callable[[str], T]) -> T | Fault | None:
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
                headers={"User-Agent": f"PerturbDesk/{__version__}{contact}"},
            )

        async def trace(event: str, _: object) -> None:
            # Wait for a permit once the connection is made, right before the request is written;
            # this time does not count towards the time limit.
            if event.endswith("send_request_headers.started"):
                limit.reschedule(None)
                await take()
                limit.reschedule(asyncio.get_running_loop().time() + self.settings.timeout_s)

        return await send_request(
            self._client,
            request.method,
            f"{self.site.address(self.settings)}/{request.path}",
            self.settings.max_bytes,
            params=params if request.method == "GET" else None,
            data=params if request.method == "POST" else None,
            extensions={"trace": trace},
        )
