"""Asking a language model: capped concurrency, retries, the second try for a cut answer, and the cache."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from core.errors import InputError
from core.llm.answers import Answer, read_answer
from core.llm.endpoint import Endpoint
from core.llm.errors import Malformed, ModelError, NoLogprobs, Refused, Truncated
from core.llm.logprobs import is_missing
from core.llm.messages import Reply, Request, TokenLogprob, Usage
from core.llm.reply_cache import ReplyCache
from core.llm.transport import Fault, Wire

CONCURRENCY = 16  # a cap, not a target: vLLM queues without bound instead of answering 429

Sleep = Callable[[float], Awaitable[object]]
_ABOUT_LOGPROBS = re.compile(r"log[\s_-]?prob", re.IGNORECASE)


@dataclass(slots=True)
class _Call:
    """How one call stands: what is sent next, what its attempts cost, how many of them failed, what came last."""

    request: Request
    text: str
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    failed: int = 0
    raw: str = ""

    def error(self, kind: type[ModelError], message: str) -> ModelError:
        return kind(message, self.usage, self.text if self.usage.attempts else "", self.raw)


class Client:
    """A client of one server, for one event loop; `async with` closes its connections.

    concurrency: how many requests may be under way at once. cache: where replies are kept; None asks the server every
    time. rng: draws the jitter of waits. sleep: how to wait.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        concurrency: int = CONCURRENCY,
        cache: ReplyCache | None = None,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        if concurrency < 1:
            raise InputError(f"client: concurrency is {concurrency}, expected 1 or more")
        self.endpoint, self.cache = endpoint, cache
        self._wire = Wire(endpoint, concurrency)
        self._free = asyncio.Semaphore(concurrency)
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._gave_logprobs: set[str] = set()
        self._no_logprobs: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        await self._wire.close()

    async def complete(self, request: Request) -> Reply:
        """The reply to a request, from the cache where it lies there.

        Raises an error below ModelError, each with its cause, and leaves nothing in the cache then.
        """
        found = self.cache.get(request.key) if self.cache else None
        if found is not None:
            return found
        reply = await self._ask(request)
        if self.cache and _worth_keeping(reply):
            self.cache.put(request.key, reply)
        return reply

    async def fetch(self, method: Literal["GET", "POST"], url: str, body: str | None = None) -> str | Fault:
        """One other exchange with the server, once: for what is asked beside completions."""
        async with self._free:
            return await self._wire.send(method, url, body)

    async def _ask(self, request: Request) -> Reply:
        call = _Call(request, request.text)
        self._refuse_known(call)
        answer = await self._answer(call)
        if not answer.is_whole:
            answer = await self._with_twice_the_budget(call, self._truncated(answer, request))
        if not answer.is_whole or answer.content is None:
            raise call.error(Truncated, self._truncated(answer, request))
        logprobs = self._logprobs(call, answer)
        return Reply(answer.content, answer.reasoning, answer.finish_reason, call.usage, logprobs, call.text, call.raw)

    async def _with_twice_the_budget(self, call: _Call, cut: str) -> Answer:
        """The second try of an answer that was cut; `cut` says how, should the server refuse the larger budget."""
        call.request = call.request.with_twice_the_budget()
        call.text = call.request.text
        try:
            return await self._answer(call)
        except Refused as refusal:
            raise call.error(Truncated, f"{cut}; twice the budget was refused: {refusal}") from None

    async def _answer(self, call: _Call) -> Answer:
        """The next answer that can be read; its cost and those of the attempts before it are added to the call."""
        while True:
            outcome = await self._attempt(call)
            if isinstance(outcome, Answer):
                call.usage += outcome.usage
                return outcome
            call.failed += 1
            self._give_up(call, outcome)
            await self._sleep(self._wait_s(outcome, call.failed))

    async def _attempt(self, call: _Call) -> Answer | Fault:
        async with self._free:
            start = time.perf_counter()
            found = await self._wire.send("POST", "/chat/completions", call.text)
            call.usage += Usage(attempts=1, latency_ms=1000 * (time.perf_counter() - start))
        call.raw = found.raw if isinstance(found, Fault) else found
        if isinstance(found, Fault):
            return found
        answer = read_answer(found)
        return answer if isinstance(answer, Answer) else Fault(Malformed, answer, passing=True)

    def _give_up(self, call: _Call, fault: Fault) -> None:
        """Raises where another attempt would not help or is one too many."""
        said, where = fault.message, self.endpoint.base_url
        if not fault.passing:
            if call.request.top_logprobs is not None and about_logprobs(fault):
                self._no_logprobs[call.request.model] = said
                self._refuse_known(call)
            raise call.error(fault.kind, f"{where}: {said}, expected a completion of {call.request.model}")
        if fault.wait_s is not None and fault.wait_s > self.endpoint.longest_wait_s:
            asked = f"asks to wait {fault.wait_s:,.0f} s, expected at most {self.endpoint.longest_wait_s:,.0f}"
            raise call.error(fault.kind, f"{where}: {said}, {asked}")
        if call.failed > self.endpoint.retries:
            times = f"{call.usage.attempts} attempts" if call.usage.attempts > 1 else "1 attempt"
            raise call.error(fault.kind, f"{where}: {said}, expected a completion; gave up after {times}")

    def _wait_s(self, fault: Fault, failed: int) -> float:
        """What the server asks for and up to one first back-off on top; else doubling, each time half to all of it."""
        if fault.wait_s is not None:
            return fault.wait_s + self._rng.random() * self.endpoint.backoff_s
        longest = min(self.endpoint.longest_backoff_s, math.ldexp(self.endpoint.backoff_s, min(failed - 1, 60)))
        return longest * self._rng.uniform(0.5, 1.0)

    def _logprobs(self, call: _Call, answer: Answer) -> tuple[TokenLogprob, ...] | None:
        if call.request.top_logprobs is None:
            return None
        model = call.request.model
        if answer.logprobs is None:
            # One answer without does not condemn a server that has given them before.
            if model not in self._gave_logprobs:
                self._no_logprobs[model] = "an answer came without them"
            raise call.error(NoLogprobs, self._without_logprobs(model, "an answer came without them"))
        self._gave_logprobs.add(model)
        return answer.logprobs

    def _refuse_known(self, call: _Call) -> None:
        """Raises where the request wants log-probabilities from a server that is known to give none."""
        said = self._no_logprobs.get(call.request.model)
        if said is not None and call.request.top_logprobs is not None:
            raise call.error(NoLogprobs, self._without_logprobs(call.request.model, said))

    def _without_logprobs(self, model: str, said: str) -> str:
        return f"{self.endpoint.base_url}: no log-probabilities of {model} ({said}), expected them with every token"

    def _truncated(self, answer: Answer, request: Request) -> str:
        budget = request.max_completion_tokens
        limit = "the server's own limit" if budget is None else f"{budget:,} tokens, and {2 * budget:,}"
        what = f"cut after {len(answer.content):,} characters" if answer.content else "no content"
        return f"{self.endpoint.base_url}: {what} (finish_reason {answer.finish_reason!r}), expected an answer within {limit}"


def about_logprobs(fault: Fault) -> bool:
    """Whether a server refuses log-probabilities."""
    return fault.kind is Refused and _ABOUT_LOGPROBS.search(fault.message) is not None


def _worth_keeping(reply: Reply) -> bool:
    """Replies whose log-probabilities came out broken are asked for again the next time."""
    return not any(is_missing(token.logprob) for token in reply.logprobs or ())
