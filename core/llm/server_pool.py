"""Several model servers behind one client: each request goes to the one with the fewest in flight; those that fail rest.

A server is asked for its models as soon as a connection to it fails, and rests if it does not answer, or after 3 faults in
succession. Rests grow from 1 to 30 s, until a request is answered; after each the server is checked before it is used again.
What a server serves has to be what the first one in the list serves that could be used; one that differs is refused by name.
While none can be used, requests wait. Answers to requests that a silent server holds are given up, and asked for elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from core.errors import AddressRefused, InputError
from core.llm.endpoint import Endpoint, ModelTransport
from core.llm.health import Health, check_health, list_models
from core.llm.pooled_server import TIMES, PooledServer, PoolTimes
from core.llm.server_addresses import ServerStatus, describe_difference
from core.net.addresses import names_file, read_addresses
from core.net.retry import Fault

Say = Callable[[str], object]

_MOST_FAULTS = 3  # in succession, before a server rests
_OF_THE_SERVER = frozenset({401, 403, 404})  # refusals that another server may not share: a wrong key, no such model


class ServerPool:
    """The servers of a run, for one event loop.

    servers: addresses, or the file that is read again whenever it changes (see `read_addresses`). endpoint: key, limits and
    retries of each server. model: what each has to serve. connections: the most to each. say: takes a line about what happens
    to a server. Raises InputError if there is no usable address, AddressRefused if none of them may be asked.
    """

    def __init__(
        self,
        servers: str,
        endpoint: Endpoint,
        model: str,
        *,
        connections: int,
        say: Say = lambda _: None,
        times: PoolTimes = TIMES,
    ) -> None:
        self._text, self._endpoint, self._model = servers, endpoint, model
        self._connections, self._say, self._times = connections, say, times
        self._servers: dict[str, PooledServer] = {}
        self._reference: tuple[str, Health] | None = None
        self._some_ready = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        self._n_waiting = 0
        self._waiting_since: float | None = None
        self._unreadable = ""
        self._unlisted: dict[str, str] = {}  # address → why it may not be asked
        for address in read_addresses(servers):
            self._add(address)
        if not self._servers:
            raise AddressRefused("; ".join(self._unlisted.values()))

    async def close(self) -> None:
        """End the watch and close the connections."""
        tasks = [task for task in (self._watcher, *(server.check for server in self._servers.values())) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in self._servers.values():
            self._say(f"server {server.address}: {server.done:,} answers, {server.failed:,} faults, {server.tokens:,} tokens")
            await server.transport.close()

    @property
    def statuses(self) -> tuple[ServerStatus, ...]:
        """The current status of each server."""
        unlisted = (ServerStatus(address, "refused", problem=why) for address, why in self._unlisted.items())
        return (*(server.status for server in self._servers.values()), *unlisted)

    @property
    def waited_s(self) -> float:
        """The time that requests have waited for a server, in seconds; 0 if none waits."""
        return 0.0 if self._waiting_since is None else time.monotonic() - self._waiting_since

    @property
    def notice(self) -> str:
        """The reason why requests wait; "" if they do not."""
        if self._waiting_since is None:
            return ""
        return f"waiting for a server, none of {len(self._servers)} can be used: {self.describe_problems()}"

    def describe_problems(self) -> str:
        """Return why each server that cannot be used cannot."""
        return "; ".join(f"{server.address}: {server.problem}" for server in self._servers.values() if server.problem)

    @asynccontextmanager
    async def choose(self) -> AsyncIterator[PooledServer]:
        """The ready server with the fewest requests in flight, of equals the one with the fewest answers; waits for one."""
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        if self._watcher.done():
            self._watcher.result()  # raises the error that ended it
        server = await self._wait_for_ready()
        if not server.in_flight:
            server.heard_at = time.monotonic()
        server.in_flight += 1
        try:
            yield server
        finally:
            server.in_flight -= 1

    async def _wait_for_ready(self) -> PooledServer:
        self._n_waiting += 1
        try:
            while not (ready := [server for server in self._servers.values() if server.state == "ready"]):
                self._some_ready.clear()
                await self._some_ready.wait()
                if self._watcher is not None and self._watcher.done():
                    self._watcher.result()
        finally:
            self._n_waiting -= 1
        return min(ready, key=lambda server: (server.in_flight, server.done))

    def _add(self, address: str) -> bool:
        """Add a server and return whether requests to it are allowed; report the first time that they are not."""
        refusal = self._endpoint.access.refusal(address)
        if refusal:
            if address not in self._unlisted:
                self._say(f"server {address}: refused: {refusal}")
            self._unlisted[address] = refusal
            return False
        self._unlisted.pop(address, None)
        endpoint = replace(self._endpoint, base_url=address)
        self._servers[address] = PooledServer(endpoint, ModelTransport(endpoint, self._connections), self._take_fault)
        return True

    async def _watch(self) -> None:
        """Check the servers at first, then looks after them until the pool is closed."""
        try:
            self._begin_checks()
            while True:
                now = time.monotonic()
                await self._read_file_again()
                for server in list(self._servers.values()):
                    server.sample(now)
                    await self._look_after(server, now)
                self._note_waiting(now)
                await asyncio.sleep(self._times.watch_s)
        finally:
            self._some_ready.set()

    def _begin_checks(self) -> None:
        """Check all servers at once, and compare them in the order of their list until one can be used. So the same server
        determines the model, whichever answers faster.
        """

        async def check(server: PooledServer, earlier: asyncio.Task[None] | None) -> None:
            health = await self._health_of(server)
            if earlier is not None and self._reference is None:
                await asyncio.wait({earlier})
            self._admit(server, health)

        earlier = None
        for server in self._servers.values():
            earlier = server.check = asyncio.create_task(check(server, earlier))

    async def _health_of(self, server: PooledServer) -> Health:
        return await check_health(server.endpoint, self._model, self._times.check_s)

    def _admit(self, server: PooledServer, health: Health) -> None:
        """Make a checked server ready, refuses it, or sends it to rest."""
        if server.state == "leaving":
            return
        at, reference = self._reference or ("", health)
        difference = describe_difference(health, self._model, reference, at) if health.reachable and health.models else ""
        if difference:
            self._refuse(server, difference)
        elif health.problem:
            self._rest(server, health.problem.removeprefix(f"{server.address}: ").partition(", expected a list of models")[0])
        else:
            self._reference = self._reference or (server.address, health)
            self._make_ready(server)

    def _make_ready(self, server: PooledServer) -> None:
        if server.problem or not server.done:
            self._say(f"server {server.address}: ready{', after ' + server.problem if server.problem else ''}")
        server.state, server.problem, server.faults = "ready", "", 0
        server.heard_at = time.monotonic()
        self._some_ready.set()

    def _rest(self, server: PooledServer, problem: str) -> None:
        """Let a server rest; report it the first time and when the reason changes."""
        if problem != server.problem:
            self._say(f"server {server.address}: rests: {problem}")
        server.until = time.monotonic() + min(self._times.longest_rest_s, self._times.rest_s * 2 ** min(server.rests, 30))
        server.rests += 1
        server.state, server.problem = "resting", problem

    def _refuse(self, server: PooledServer, difference: str) -> None:
        if server.state != "refused" and server.problem != difference:
            self._say(f"server {server.address}: refused: {difference}")
        server.state, server.problem = "refused", difference
        server.until = time.monotonic() + self._times.longest_rest_s  # another server may be started at this address

    def _take_fault(self, server: PooledServer, fault: Fault) -> Fault:
        """Decide the consequence of a fault for its server."""
        own = fault.status in _OF_THE_SERVER or (fault.status is not None and 300 <= fault.status < 400)
        if own or (fault.status is None and fault.kind == "unanswered"):
            if server.state == "ready":
                server.faults += 1
                self._ask_for_models(server, fault.message)
            return replace(fault, retryable=True)
        if fault.retryable and fault.status != 429:
            server.faults += 1
            if server.faults >= _MOST_FAULTS and server.state == "ready":
                self._rest(server, f"{server.faults} faults in succession, the last: {fault.message}")
        return fault

    def _ask_for_models(self, server: PooledServer, problem: str) -> None:
        """Use a server again if it lists the model at once, and lets it rest otherwise, or after too many faults."""

        async def ask() -> None:
            found = await list_models(server.endpoint, self._times.check_s)
            if server.state != "checking":
                return
            if found.reachable and found.models and self._model not in found.models and self._reference is not None:
                self._refuse(server, describe_difference(found, self._model, self._reference[1], self._reference[0]))
            elif found.problem or server.faults >= _MOST_FAULTS:
                self._rest(server, problem)
            else:
                server.state, server.heard_at = "ready", time.monotonic()
                self._some_ready.set()

        server.state = "checking"
        server.check = asyncio.create_task(ask())

    def _check_again(self, server: PooledServer) -> None:
        """Check a server after its rest. If it is silent a second time, its requests go elsewhere."""

        async def check() -> None:
            health = await self._health_of(server)
            if not health.reachable and server.in_flight:
                server.give_up_requests()
            self._admit(server, health)

        server.state = "checking"
        server.check = asyncio.create_task(check())

    async def _look_after(self, server: PooledServer, now: float) -> None:
        """Check a server whose rest is over or that is silent; closes one that has left."""
        if server.check is not None and server.check.done():
            server.check.result()  # raises an error that nobody foresaw
            server.check = None
        if server.state == "leaving":
            if not server.in_flight:
                del self._servers[server.address]
                await server.transport.close()
                self._say(f"server {server.address}: left after {server.done:,} answers")
        elif server.check is None and server.state in ("resting", "refused", "checking") and now >= server.until:
            self._check_again(server)
        elif server.state == "ready" and server.in_flight and now - server.heard_at > self._times.silence_s:
            server.heard_at = now
            self._ask_for_models(server, f"no answer for {self._times.silence_s:g} s, nor a list of its models")

    def _note_waiting(self, now: float) -> None:
        """Say when requests begin to wait for a server, and when they go on."""
        is_ready = any(server.state == "ready" for server in self._servers.values())
        if is_ready or not self._n_waiting:
            if is_ready and self._waiting_since is not None:
                self._say(f"goes on after {now - self._waiting_since:,.0f} s without a server")
            self._waiting_since = None
        elif self._waiting_since is None and all(server.problem for server in self._servers.values()):
            self._waiting_since = now
            self._say(self.notice)

    async def _read_file_again(self) -> None:
        """Add new servers in the file, and release removed ones."""
        if not names_file(self._text):
            return
        try:
            wanted = await asyncio.to_thread(read_addresses, self._text)
        except InputError as error:
            if str(error) != self._unreadable:
                self._unreadable = str(error)
                self._say(f"{error}; the servers stay")
            return
        self._unreadable = ""
        for address in wanted:
            if address not in self._servers:
                if self._add(address):
                    self._say(f"server {address}: joins")
            elif self._servers[address].state == "leaving":
                self._servers[address].state = "checking"
        self._unlisted = {address: why for address, why in self._unlisted.items() if address in wanted}
        for address, server in self._servers.items():
            if address not in wanted and server.state != "leaving":
                server.state, server.problem = "leaving", "its address was taken away"
                self._say(f"server {address}: leaves")
