"""A run's budget of tokens: what a call may cost is reserved before it is sent, so that no more is
spent than was allowed, but for one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from core.llm.messages import Request, estimate_tokens


class TokensSpent(asyncio.CancelledError):
    """Nothing is left for the next call of a row, which ends unfinished and can be asked again."""


class CallBudget:
    """The budget of all calls of a client, for one event loop.

    left: returns how many tokens may still be spent, None for any number.
    """

    def __init__(self, left: Callable[[], int | None]) -> None:
        self._left = left
        self._reserved: list[int] = []  # of the calls under way
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def is_spent(self) -> bool:
        """Whether no further call may begin."""
        left = self._left()
        return left is not None and left <= 0

    @asynccontextmanager
    async def reserve(self, tokens: int) -> AsyncIterator[None]:
        """Wait until this cost fits into what is left; a call on its own may begin as long as
        anything is left. Raise TokensSpent once nothing is."""
        while (
            (left := self._left()) is not None
            and self._reserved
            and sum(self._reserved) + tokens > left
        ):
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        if self.is_spent:
            raise TokensSpent
        self._reserved.append(tokens)
        try:
            yield
        finally:
            self._reserved.remove(tokens)
            for waiting in self._waiting:
                if not waiting.done():  # of a call that was cancelled meanwhile
                    waiting.set_result(None)
            self._waiting.clear()


def most_tokens(request: Request, text: str) -> int:
    """Return about how many tokens a request costs at most: those of its text, and its limit."""
    return estimate_tokens(text) + (request.max_completion_tokens or 0)
