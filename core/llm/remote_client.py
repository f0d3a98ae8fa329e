"""A client in another process than the run's cache, spending log and servers: it sends its requests itself, and asks the process
that has those, by messages, for cached replies and for a server for each request. `SharedCalls` answers.

So whatever number of processes ask, no more requests than allowed are open at once, each goes to the server with the fewest in
flight, each is counted before it is sent, and every reply is in the cache before the row that asked for it is finished.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from core.llm.answers import Answer
from core.llm.client import Client
from core.llm.endpoint import Endpoint, Method, ModelTransport
from core.llm.messages import Reply, Request
from core.llm.streaming import OnWords
from core.net.retry import Fault
from core.net.transport import OnPart

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FindReply:
    """Asks for the cached reply to the request of this key. The answer is None if there is none and this client must ask a
    server. While another client asks the same, the answer is delayed.
    """

    number: int
    key: str


@dataclass(frozen=True, slots=True)
class EndSearch:
    """The end of a search that found nothing, by its number: a reply to store, or None."""

    number: int
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class TakeServer:
    """Asks for a server for one exchange; the answer is its address. is_call: whether it belongs into the spending log."""

    number: int
    is_call: bool = True


@dataclass(frozen=True, slots=True)
class EndExchange:
    """The result of the exchange with this number; None if nobody waits for it. A fault is answered by the same fault, which
    may be worth a retry now.
    """

    number: int
    outcome: Answer | Fault | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to the question of this number; a fault that nobody asked for says that the server of an exchange is gone."""

    number: int
    value: Any


@dataclass(frozen=True, slots=True)
class OtherModel:
    """Says that a server answered as another model than it was asked for."""

    address: str
    asked: str
    answered: str


CallMessage = FindReply | EndSearch | TakeServer | EndExchange | OtherModel


class Link(Protocol):
    """The way to the process that has the cache and the servers; messages arrive in the order in which they were sent."""

    def tell(self, message: CallMessage) -> None: ...


class _Questions:
    """Sends messages and waits for their answers. Numbers are this process's own, one for each search and exchange."""

    def __init__(self, link: Link) -> None:
        self.tell = link.tell
        self.next_number = itertools.count().__next__
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def ask(self, message: FindReply | TakeServer | EndExchange) -> Any:
        """Return the answer to a message."""
        answer = self.expect(message.number)
        self.tell(message)
        try:
            return await answer
        finally:
            if self._waiting.get(message.number) is answer:
                self.forget(message.number)

    def expect(self, number: int) -> asyncio.Future[Any]:
        """Return the future of the next answer under a number."""
        return self._waiting.setdefault(number, asyncio.get_running_loop().create_future())

    def forget(self, number: int) -> None:
        """Wait for no further answer under a number."""
        self._waiting.pop(number, None)

    def take(self, answered: Answered) -> None:
        """Pass an answer on; drop it without a waiter."""
        number, value = answered.number, answered.value
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if isinstance(value, Exception):
            waiting.set_exception(value)
            return
        waiting.set_result(value)
        if isinstance(value, str):  # a server's address; that it is gone may come before anybody reads this
            self._waiting[number] = asyncio.get_running_loop().create_future()


class _LentServer:
    """A server for one exchange."""

    def __init__(self, number: int, transport: ModelTransport, questions: _Questions) -> None:
        self._number, self._transport, self._questions = number, transport, questions
        self.has_ended = False

    @property
    def address(self) -> str:
        return self._transport.address

    async def send(
        self, method: Method, url: str, body: str | None = None, max_bytes: int | None = None, on_part: OnPart | None = None
    ) -> str | Fault:
        """Send as `ModelTransport` does; return a retryable fault once the server is known to be lost."""
        gone: asyncio.Future[Fault] = self._questions.expect(self._number)
        sending = asyncio.ensure_future(self._transport.send(method, url, body, max_bytes, on_part))
        either: set[asyncio.Future[Any]] = {sending, gone}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                self.has_ended = True
                return gone.result()
            text = sending.result()
            if not isinstance(text, Fault):
                return text
            self.has_ended = True
            fault: Fault = await self._questions.ask(EndExchange(self._number, text))
            return fault
        finally:
            sending.cancel()
            self._questions.forget(self._number)

    def record(self, outcome: Answer | Fault) -> Answer | Fault:
        """Return the outcome; the other process gets it too, without its text, unless it knows it."""
        if not self.has_ended:
            self.has_ended = True
            short = replace(outcome, content=None, reasoning="", logprobs=None) if isinstance(outcome, Answer) else outcome
            self._questions.tell(EndExchange(self._number, short))
        return outcome

    async def wait_for(self, exchange: asyncio.Future[T]) -> T | Fault:
        """Return the outcome of the exchange."""
        return await exchange


class _LentServers:
    """Servers that another process chooses, one for each exchange."""

    def __init__(self, endpoint: Endpoint, connections: int, questions: _Questions) -> None:
        self._endpoint, self._connections, self._questions = endpoint, connections, questions
        self._transports: dict[str, ModelTransport] = {}

    async def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            await transport.close()

    @asynccontextmanager
    async def choose(self, *, is_call: bool = True) -> AsyncIterator[_LentServer]:
        """Wait for a server, and give it back at the end."""
        number, server = self._questions.next_number(), None
        try:
            address = await self._questions.ask(TakeServer(number, is_call))
            server = _LentServer(number, self._transport(address), self._questions)
            yield server
        finally:
            self._questions.forget(number)
            if server is None or not server.has_ended:
                self._questions.tell(EndExchange(number))

    def _transport(self, address: str) -> ModelTransport:
        if address not in self._transports:
            self._transports[address] = ModelTransport(replace(self._endpoint, base_url=address), self._connections)
        return self._transports[address]


class RemoteClient(Client):
    """A client whose cache and servers are in the process at the other end of a link.

    endpoint: key, time limits and retries of every server. is_cached: whether there is a cache. `take` is to be given every
    answer that comes over the link.
    """

    def __init__(self, endpoint: Endpoint, concurrency: int, link: Link, *, is_cached: bool) -> None:
        self._questions, self._is_cached = _Questions(link), is_cached
        self._lent = _LentServers(endpoint, concurrency, self._questions)
        super().__init__(endpoint, concurrency=concurrency, servers=self._lent)

    def take(self, answered: Answered) -> None:
        """Take an answer from the link."""
        self._questions.take(answered)

    def record_model(self, address: str, asked: str, answered: str) -> None:
        """As of `Client`; the other process counts them, for all processes."""
        if answered != asked:
            self._questions.tell(OtherModel(address, asked, answered))

    async def complete(self, request: Request, on_words: OnWords | None = None) -> Reply:
        """As of `Client`; the cache is the other process's, and equal requests wait for one another."""
        if not self._is_cached:
            return await self._request_reply(request, on_words)
        number, reply = self._questions.next_number(), None
        found: Reply | None = None
        try:
            found = await self._questions.ask(FindReply(number, request.key))
            if found is not None:
                self.record_model(self.endpoint.base_url, request.model, found.model)
                return found
            reply = await self._request_reply(request, on_words)
            return reply
        finally:
            if found is None:
                self._questions.tell(EndSearch(number, reply))

    async def fetch(self, method: Method, url: str, body: str | None = None, *, beside: bool = False) -> str | Fault:
        """See `Client`."""
        async with self._lent.choose(is_call=False) as server:
            root = server.address.rstrip("/").removesuffix("/v1") if beside else ""
            return await server.send(method, f"{root}{url}", body)
