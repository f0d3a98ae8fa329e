"""Lets clients in other processes (see `RemoteClient`) share the cache, the places and the servers of a client in this one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from core.llm.answers import Answer, cost_of
from core.llm.client import Client
from core.llm.messages import Reply
from core.llm.remote_client import Answered, CallMessage, EndExchange, EndSearch, FindReply, OtherModel, TakeServer
from core.net.retry import Fault

Tell = Callable[[Answered], object]


class SharedCalls:
    """A client shared by other processes, with the keys that each is asking for.

    The client's places are for all processes together; each request is counted (`Client.on_call`) before it is sent.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.being_asked: dict[str, asyncio.Future[None]] = {}

    def connect(self, tell: Tell) -> ConnectedProcess:
        """Return the object that answers the messages of one process. tell: takes its answers to that process."""
        return ConnectedProcess(self, tell)


class _Exchange(NamedTuple):
    """An exchange of the process with a server that was lent to it. is_call: whether it belongs into the spending log."""

    outcome: asyncio.Future[Answer | Fault | None]
    is_call: bool


class ConnectedProcess:
    """Answers the messages of one process; `close` releases its servers and keys, also after its death."""

    def __init__(self, shared: SharedCalls, tell: Tell) -> None:
        self._shared, self._tell = shared, tell
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._exchanges: dict[int, _Exchange] = {}
        self._keys: dict[int, str] = {}

    def take(self, message: CallMessage) -> None:
        """Take a message of the process, and answer it in time if it is a question."""
        match message:
            case FindReply(number, key):
                self._begin(number, self._find_reply(number, key))
            case TakeServer(number, is_call):
                self._begin(number, self._lend_server(number, is_call))
            case EndSearch(number, reply):
                self._cancel(number)
                self._end_search(number, reply)
            case EndExchange(number, outcome):
                self._end_exchange(number, outcome)
            case OtherModel(address, asked, answered):
                self._shared.client.record_model(address, asked, answered)

    def close(self) -> None:
        """Give back every server and key that the process holds."""
        for number in list(self._tasks):
            self._cancel(number)
        for number in list(self._keys):
            self._end_search(number, None)

    def _begin(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[number] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._end_task(number, done))

    def _end_task(self, number: int, task: asyncio.Task[None]) -> None:
        del self._tasks[number]
        failure = None if task.cancelled() else task.exception()
        if failure is not None:  # which fails the row, as it would in this process
            self._tell(Answered(number, RuntimeError(f"{type(failure).__name__}: {failure}")))

    def _cancel(self, number: int) -> None:
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()

    async def _find_reply(self, number: int, key: str) -> None:
        asked, cache = self._shared.being_asked, self._shared.client.cache
        while key in asked:
            await asyncio.shield(asked[key])
        reply = cache.get(key) if cache else None
        if reply is None:
            asked[key] = asyncio.get_running_loop().create_future()
            self._keys[number] = key
        self._tell(Answered(number, reply))

    def _end_search(self, number: int, reply: Reply | None) -> None:
        key = self._keys.pop(number, None)
        if key is None:
            return
        if reply is not None:
            self._shared.client.keep(key, reply)
        self._shared.being_asked.pop(key).set_result(None)

    def _end_exchange(self, number: int, outcome: Answer | Fault | None) -> None:
        """End an exchange. What it cost is counted at once: the row that made it may be finished by the next message."""
        exchange = self._exchanges.get(number)
        if exchange is not None and not exchange.outcome.done():
            if exchange.is_call:
                self._count(outcome)
            exchange.outcome.set_result(outcome)
        elif exchange is None and isinstance(outcome, Fault):
            # Its server was given up, and the process may have missed that: it waits until the fault is answered.
            self._tell(Answered(number, outcome))
        elif exchange is None:
            self._cancel(number)  # it waits for a server that is no longer needed

    def _count(self, outcome: Answer | Fault | None) -> None:
        if outcome is not None:
            self._shared.client.on_call(cost_of(outcome))

    async def _lend_server(self, number: int, is_call: bool) -> None:
        """Lends a server until its exchange has ended, or the server is known to be gone."""
        client = self._shared.client
        async with client.slots, client.servers.choose() as server:
            exchange = _Exchange(asyncio.get_running_loop().create_future(), is_call)
            self._exchanges[number] = exchange
            try:
                if is_call:
                    client.on_call("asked")
                self._tell(Answered(number, server.address))
                outcome = await server.wait_for(exchange.outcome)
            finally:
                del self._exchanges[number]
            if is_call and exchange.outcome.cancelled():  # the server was given up
                self._count(outcome)
            if is_call and outcome is not None:
                outcome = server.record(outcome)
        if isinstance(outcome, Fault):
            self._tell(Answered(number, outcome))
