"""One of several model servers: its requests, its answers, its state, and the retry policy."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.llm.answers import Answer, cost_of
from core.llm.endpoint import Endpoint, Method, ModelTransport
from core.llm.messages import Usage
from core.llm.server_addresses import ServerState, ServerStatus
from core.net.retry import Fault
from core.net.transport import OnPart

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PoolTimes:
    """The patience of a pool, in seconds.

    rest_s, longest_rest_s: of the first rest and the longest. check_s: for each request of a check. silence_s: a server that
    holds requests and answers none for so long is checked. watch_s: between two looks at the servers and the file of addresses.
    """

    rest_s: float = 1.0
    longest_rest_s: float = 30.0
    check_s: float = 20.0
    silence_s: float = 30.0
    watch_s: float = 0.25


TIMES = PoolTimes()


@dataclass(slots=True, eq=False)
class PooledServer:
    """One server of a pool, and its state. faults: in succession. rests: since its last answer.

    until: when its rest ends, in monotonic seconds. heard_at: when an answer or a part of a stream came last, or a request while
    it had none. check: the one that is under way. sending: the exchanges that are under way.
    """

    endpoint: Endpoint
    transport: ModelTransport
    on_fault: Callable[[PooledServer, Fault], Fault]
    state: ServerState = "checking"
    problem: str = ""
    in_flight: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    faults: int = 0
    rests: int = 0
    until: float = 0.0
    heard_at: float = 0.0
    check: asyncio.Task[None] | None = None
    sending: set[asyncio.Future[Any]] = field(default_factory=set)
    _samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=120))

    @property
    def address(self) -> str:
        return self.endpoint.base_url

    async def send(
        self, method: Method, url: str, body: str | None = None, max_bytes: int | None = None, on_part: OnPart | None = None
    ) -> str | Fault:
        """Send as `ModelTransport` does; return a retryable fault once the server is known to be lost."""

        def hear(part: bytes) -> bool:
            self.heard_at = time.monotonic()
            return on_part is not None and on_part(part)

        return await self.wait_for(
            asyncio.ensure_future(self.transport.send(method, url, body, max_bytes, hear if on_part else None))
        )

    async def wait_for(self, exchange: asyncio.Future[T]) -> T | Fault:
        """Return the outcome of an exchange with this server in any process.

        Cancel it and return a retryable fault once the server is known to be lost.
        """
        self.sending.add(exchange)
        try:
            await asyncio.wait({exchange})
        finally:
            self.sending.discard(exchange)
            exchange.cancel()
        if exchange.cancelled():
            return Fault("unanswered", f"the server is gone ({self.problem}), its answer was not waited for", retryable=True)
        return exchange.result()

    def give_up_requests(self) -> None:
        """End the wait for every answer of this server."""
        for sending in self.sending:
            sending.cancel()

    def record(self, outcome: Answer | Fault) -> Answer | Fault:
        """Count what came of a request. Return a refusal that is this server's own as a fault to be retried elsewhere."""
        if not isinstance(outcome, Fault) or outcome.status is not None:
            self.heard_at = time.monotonic()
        if isinstance(outcome, Fault):
            self.failed += 1
            cost = cost_of(outcome)
            self.tokens += cost.prompt_tokens + cost.completion_tokens if isinstance(cost, Usage) else 0
            return self.on_fault(self, outcome)
        self.done += 1
        self.tokens += outcome.usage.prompt_tokens + outcome.usage.completion_tokens
        self.faults = self.rests = 0
        return outcome

    def sample(self, now: float) -> None:
        """Notes how many tokens there are, for the rate."""
        self._samples.append((now, self.tokens))

    @property
    def status(self) -> ServerStatus:
        """The current status of the server."""
        first, last = (self._samples[0], self._samples[-1]) if self._samples else ((0.0, 0), (0.0, 0))
        rate = (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else 0.0
        counts = (self.in_flight, self.done, self.failed, self.tokens, rate)
        return ServerStatus(self.address, self.state, *counts, "" if self.state == "ready" else self.problem)
