"""Several model servers behind one client: each request goes to the one with the fewest in flight.

A server that fails rests, and is checked before it is used again. It has to serve what the first
usable one in the list serves; one that differs is refused by name. While none can be used, requests
wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal

from core.base.errors import AddressRefused, InputError
from core.base.net.addresses import names_file, read_addresses
from core.base.net.retry import Fault
from core.llm.completion import Answer
from core.llm.endpoint import Endpoint, ModelTransport, ServerState
from core.llm.health import Health, check_health, describe_difference
from core.llm.messages import Outcome, Usage

Say = Callable[[str], object]
REST_S, LONGEST_REST_S = 1.0, 30.0  # the first rest of a server; each after it is twice as long
# for each request of a check; between two looks at the servers and the file of addresses
CHECK_S, WATCH_S = 20.0, 0.25
MAX_FAULTS = 3  # in succession, before a server that answers rests
OWN_REFUSALS = frozenset({401, 403, 404})  # a wrong key, no such model: another server may answer


class PooledServer(ModelTransport):
    """The connections to one server of a pool, and its state."""

    def __init__(self, endpoint: Endpoint, connections: int, say: Say) -> None:
        super().__init__(endpoint, connections)
        self.now, self._say = ServerState(endpoint.base_url), say
        self.faults = self._rests = 0  # in succession
        self.rests_until = 0.0
        self.check: asyncio.Task[None] | None = None

    def record(self, outcome: Answer | Fault) -> Answer | Fault:
        """Count what came of a request. Return a fault that other servers may not have as one worth
        a retry."""
        if isinstance(outcome, Answer):
            self.count(outcome.usage)
            return outcome
        self.count("failed")
        status = outcome.status
        self.faults += outcome.retryable and status != 429
        no_answer = status is None and outcome.kind == "unanswered"
        is_own = no_answer or status in OWN_REFUSALS or 300 <= (status or 0) < 400
        if self.now.state == "ready" and is_own:
            self.rest(outcome.message)
        elif self.now.state == "ready" and self.faults >= MAX_FAULTS:
            self.rest(f"{self.faults} faults in succession, the last: {outcome.message}")
        return replace(outcome, retryable=outcome.retryable or is_own)

    def count(self, cost: Outcome) -> None:
        """Count an answer of this cost, or a failure."""
        if isinstance(cost, Usage):
            self.now.done += 1
            self.now.tokens += cost.prompt_tokens + cost.completion_tokens
            self.faults = self._rests = 0
        elif cost == "failed":
            self.now.failed += 1

    def rest(self, problem: str, state: Literal["resting", "refused"] = "resting") -> None:
        """Take no requests for a while, longer after each rest without an answer."""
        if problem != self.now.problem:
            self._say(f"server {self.address}: {state}: {problem}")
        self.now.state, self.now.problem = state, problem
        self.rests_until = time.monotonic() + min(
            LONGEST_REST_S, REST_S * 2 ** min(self._rests, 30)
        )
        self._rests += 1


class ServerPool:
    """The servers of a run. servers: addresses, or the file that lists them. endpoint: key and
    limits of each. say: takes a line about each event. Raises InputError without a usable address,
    AddressRefused if one may not be asked."""

    def __init__(
        self, servers: str, endpoint: Endpoint, model: str, connections: int, say: Say
    ) -> None:
        self._text, self._endpoint, self._model = servers, endpoint, model
        self._connections, self._say = connections, say
        self._servers: dict[str, PooledServer] = {}
        self._left: list[PooledServer] = []
        self._first: tuple[str, Health] | None = None  # the first server that could be used
        self._watcher: asyncio.Task[None] | None = None
        self._some_ready = asyncio.Event()
        self._n_waiting, self._waiting_since = 0, 0.0
        self._unreadable = ""  # why the file cannot be read, as it was said
        self._use(read_addresses(servers))

    def _use(self, addresses: Sequence[str]) -> None:
        """Send requests to these servers from now on, to new ones once they are checked."""
        for address in addresses:
            if address not in self._servers:
                endpoint = replace(self._endpoint, base_url=address)
                self._servers[address] = PooledServer(endpoint, self._connections, self._say)
        for address in set(self._servers) - set(addresses):
            self._left.append(self._servers.pop(address))
            self._say(f"server {address}: leaves")

    async def close(self) -> None:
        """End the watch and close the connections."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
        for server in (*self._servers.values(), *self._left):
            self._say(
                f"server {server.address}: {server.now.done:,} answers, {server.now.failed:,}"
                " faults"
            )
            await server.close()

    @property
    def states(self) -> tuple[ServerState, ...]:
        return tuple(replace(server.now) for server in self._servers.values())

    @property
    def waited_s(self) -> float:
        """Seconds for which requests have waited for a server; 0 if none waits."""
        return time.monotonic() - self._waiting_since if self._waiting_since else 0.0

    @property
    def notice(self) -> str:
        """The reason why requests wait; "" if they do not."""
        problems = "; ".join(f"{now.address}: {now.problem}" for now in self.states)
        return (
            f"waiting for a server, none of {len(self._servers)} can be used: {problems}"
            if self._waiting_since
            else ""
        )

    @asynccontextmanager
    async def choose(self) -> AsyncIterator[PooledServer]:
        """The ready server with the fewest requests in flight, of equals the one with the fewest
        answers; wait for one."""
        self._watcher = self._watcher or asyncio.create_task(self._watch())
        server = await self._wait_for_ready(self._watcher)
        server.now.in_flight += 1
        try:
            yield server
        finally:
            server.now.in_flight -= 1

    async def _wait_for_ready(self, watcher: asyncio.Task[None]) -> PooledServer:
        self._n_waiting += 1
        try:
            while not (
                ready := [each for each in self._servers.values() if each.now.state == "ready"]
            ):
                self._some_ready.clear()
                if watcher.done():
                    watcher.result()  # raises the error that ended it
                await self._some_ready.wait()
        finally:
            self._n_waiting -= 1
        return min(ready, key=lambda server: (server.now.in_flight, server.now.done))

    async def _watch(self) -> None:
        """Check new servers and those whose rest is over, and read the file again, until the pool
        is closed."""
        try:
            async with asyncio.TaskGroup() as checks:
                while True:
                    earlier = None
                    for server in self._servers.values():
                        is_over = (
                            server.now.state != "ready" and time.monotonic() >= server.rests_until
                        )
                        if is_over and (server.check is None or server.check.done()):
                            server.check = earlier = checks.create_task(
                                self._check(server, earlier)
                            )
                    # Say when requests begin to wait for a server, and when they go on.
                    if not self._n_waiting or any(now.state == "ready" for now in self.states):
                        if self._waiting_since:
                            self._say(f"goes on after {self.waited_s:,.0f} s without a server")
                        self._waiting_since = 0.0
                    elif not self._waiting_since and all(now.problem for now in self.states):
                        self._waiting_since = time.monotonic()
                        self._say(self.notice)
                    await asyncio.sleep(WATCH_S)
                    if names_file(self._text):
                        await self._read_file_again()
        finally:
            self._some_ready.set()

    async def _check(self, server: PooledServer, earlier: asyncio.Task[None] | None) -> None:
        """Make a server ready, refuse it, or let it rest, by what it serves."""
        health = await check_health(server.endpoint, self._model, CHECK_S)
        if earlier is not None and self._first is None:
            await asyncio.wait({earlier})  # the first in the list decides, whichever answers faster
        address, first = self._first or ("", health)
        differs = (
            health.reachable
            and health.models
            and describe_difference(health, self._model, first, address)
        )
        if differs:
            server.rest(differs, "refused")
        elif health.problem:
            server.rest(
                health.problem.removeprefix(f"{server.address}: ").partition(", expected a list")[0]
            )
        else:
            self._first = self._first or (server.address, health)
            if server.now.problem or not server.now.done:
                self._say(
                    f"server {server.address}:"
                    f" ready{server.now.problem and f', after {server.now.problem}'}"
                )
            server.now.state, server.now.problem, server.faults = "ready", "", 0
            self._some_ready.set()

    async def _read_file_again(self) -> None:
        try:
            self._use(await asyncio.to_thread(read_addresses, self._text))
            self._unreadable = ""
        except (InputError, AddressRefused) as error:
            if str(error) != self._unreadable:
                self._unreadable = str(error)
                self._say(f"{error}; the servers stay")
