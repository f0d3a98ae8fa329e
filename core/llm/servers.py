"""What a client asks of the servers behind it: one, or several of which one is chosen for each exchange."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from core.llm.answers import Answer
from core.llm.streaming import Sends
from core.net.retry import Fault

T = TypeVar("T")


class Server(Sends, Protocol):
    """A model server that was chosen for one exchange; `record` is told what came of it, and may make it worth a retry.
    `wait_for` waits for an exchange that another process makes, as long as the server is there."""

    @property
    def address(self) -> str: ...
    def record(self, outcome: Answer | Fault) -> Answer | Fault: ...
    async def wait_for(self, exchange: asyncio.Future[T]) -> T | Fault: ...


class Servers(Protocol):
    """Where a client sends its requests: one server, or several of which one is chosen for each exchange."""

    def choose(self) -> AbstractAsyncContextManager[Server]: ...
    async def close(self) -> None: ...


def are_one_model(asked: str, answered: str) -> bool:
    """Whether two names may be those of one model: equal but for who publishes it, or one of them with a version behind it."""
    one, other = (name.rpartition("/")[2].lower() for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)
