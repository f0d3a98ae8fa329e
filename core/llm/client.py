"""The model client: limited concurrency, retries, a second attempt for a truncated answer, and the
reply cache."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, Self

from core.base.log import LOGGER
from core.base.net.retry import Fault, GiveUp, Sleep
from core.base.net.transport import read_aside
from core.llm.call_budget import CallBudget, most_tokens
from core.llm.completion import (
    Answer,
    AnswerFault,
    cost_of,
    describe_truncation,
    fault_of_ending,
    fault_of_length,
    read_scrubbed,
)
from core.llm.endpoint import CONCURRENCY, Endpoint, Method, ModelTransport
from core.llm.errors import (
    ERROR_OF_FAULT,
    ModelError,
    NoLogprobs,
    Refused,
    Truncated,
    describe_remedy,
    fewer_logprobs,
    refuses_logprobs,
)
from core.llm.logprobs import is_missing
from core.llm.messages import Outcome, Reply, Request, TokenLogprob, Usage, estimate_tokens
from core.llm.streaming import (
    CHAT,
    OnWords,
    Server,
    Servers,
    Words,
    are_one_model,
    refuses_streams,
    send_streamed,
    whole_answer,
)

_LEFT_OUT = "an answer came without them"
_ENOUGH_WITHOUT = 3  # answers that lack the log-probabilities, so that no more are asked for
_MOST_KEPT = 100_000  # characters of an invalid answer that are saved with the row


class Replies(Protocol):
    """Where replies are kept by the key of their request, such as a `ReplyCache`."""

    def get(self, key: str) -> Reply | None: ...
    def put(self, key: str, reply: Reply) -> None: ...


@dataclass(slots=True)
class _Call:
    """The state of one call: the request to send next, the server asked last, who hears the words
    as they come, the cost so far, the failed attempts, and the last raw answer."""

    request: Request
    text: str
    address: str
    on_words: OnWords | None = None
    usage: Usage = field(default_factory=Usage)
    failures: int = 0
    raw: str = ""

    def error(self, kind: type[ModelError], message: str, meaning: str = "") -> ModelError:
        raw = self.raw
        if len(raw) > _MOST_KEPT:
            raw = f"{raw[:_MOST_KEPT]}… ({len(raw):,} characters in all)"
        return kind(message, self.usage, self.text if self.usage.attempts else "", raw, meaning)


class Client:
    """A client of one model server, or of several, for one event loop; `async with` closes its
    connections.

    concurrency: the most requests at the same time. cache: where replies are stored; None sends
    every request. rng: draws the jitter of waits. sleep: waits for so many seconds. servers: asked
    instead of the endpoint's one server (see `ServerPool`); access, time limits and retries are the
    endpoint's.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        concurrency: int = CONCURRENCY,
        cache: Replies | None = None,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
        servers: Servers | None = None,
    ) -> None:
        self.endpoint, self.cache = endpoint, cache
        self.servers: Servers = servers or ModelTransport(endpoint, concurrency)
        self._policy = endpoint.retry_policy
        self.slots = asyncio.Semaphore(concurrency)
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._models_with_logprobs: set[str] = set()
        self._answers_without_logprobs: Counter[str] = Counter()
        self._most_logprobs: dict[str, int] = {}
        self._reasons_without_logprobs: dict[str, str] = {}
        # called before a request is sent and with what came of it
        self.on_call: Callable[[Outcome], object] = lambda _: None
        self.budget: CallBudget | None = None  # for what `on_call` counts
        self._logged_models: set[tuple[str, str]] = set()
        # that answered instead of the one that was asked for → how often
        self.other_models: Counter[str] = Counter()
        self._refuses_streams = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.servers.close()

    async def complete(self, request: Request, on_words: OnWords | None = None) -> Reply:
        """Return the reply to a request, from the cache if possible.

        on_words: called with the words of a streamed answer as they arrive; the reply is the same,
        and a cached one comes in one piece. It must not raise. Raise one of the errors below
        ModelError; a failed call leaves nothing in the cache.
        """
        cached = self.cache.get(request.key) if self.cache else None
        if cached is not None:
            self.record_model(self.endpoint.base_url, request.model, cached.model)
            return cached
        sent = self._within_known_limits(request)
        call = _Call(sent, sent.text, self.endpoint.base_url, on_words)
        reason = self._reasons_without_logprobs.get(call.request.model)
        if reason is not None and call.request.top_logprobs is not None:
            raise self._no_logprobs_error(call, reason)
        answer = await self._request_answer(call)
        if answer.is_all_thinking:
            answer = await self._request_answer(call)  # a longer limit would not help
        elif not answer.is_complete:
            answer = await self._request_with_twice_the_limit(
                call, describe_truncation(call.address, answer, request.max_completion_tokens)
            )
        if not answer.is_complete or answer.content is None:
            raise call.error(
                Truncated, describe_truncation(call.address, answer, request.max_completion_tokens)
            )
        logprobs = self._require_logprobs(call, answer)
        reply = Reply(
            answer.content,
            answer.reasoning,
            answer.finish_reason,
            call.usage,
            logprobs,
            call.text,
            call.raw,
            model=answer.model,
        )
        self.keep(request.key, reply)
        return reply

    def prepare(self, request: Request) -> Request:
        """Return the request with the endpoint's settings applied; its key is computed from it."""
        return self.endpoint.calls.apply(request)

    def keep(self, key: str, reply: Reply) -> None:
        """Store the reply to the request of this key; one with broken log-probabilities is
        requested again the next time."""
        if self.cache and not any(is_missing(token.logprob) for token in reply.logprobs or ()):
            self.cache.put(key, reply)

    async def fetch(
        self, method: Method, url: str, body: str | None = None, *, beside: bool = False
    ) -> str | Fault:
        """Return the answer to any other request, sent once.

        url: a path below the endpoint's, a path beside its /v1, or a full address.
        """
        async with self.slots, self.servers.choose() as server:
            root = server.address.rstrip("/").removesuffix("/v1") if beside else ""
            return await server.send(method, f"{root}{url}", body)

    def _within_known_limits(self, request: Request) -> Request:
        """Return the request, limited to the number of log-probabilities that its model is known to
        give here."""
        most = self._most_logprobs.get(request.model)
        if most is None or request.top_logprobs is None or request.top_logprobs <= most:
            return request
        return replace(request, top_logprobs=most)

    async def _request_with_twice_the_limit(self, call: _Call, truncation: str) -> Answer:
        """Return the second attempt after a truncated answer; `truncation` describes that answer,
        for the error."""
        call.request = call.request.with_twice_the_limit()
        call.text = call.request.text
        try:
            return await self._request_answer(call)
        except Refused as refusal:
            raise call.error(
                Truncated, f"{truncation}; twice the budget was refused: {refusal}"
            ) from None

    async def _request_answer(self, call: _Call) -> Answer:
        """Return the next readable answer; the cost of every attempt is added to the call."""
        while True:
            outcome = await self._attempt(call)
            if isinstance(outcome, Answer):
                return outcome
            if self._ask_for_fewer_logprobs(call, outcome):
                continue
            call.failures += 1
            reason = self._policy.reason_to_give_up(outcome, call.failures)
            if reason is not None:
                raise self._error_of(call, outcome, reason)
            await self._sleep(self._policy.wait_s(outcome, call.failures, self._rng))

    def _ask_for_fewer_logprobs(self, call: _Call, fault: Fault) -> bool:
        """Lowers the number of log-probabilities of a call to what the server allows, if that is
        why it refused; remembers it."""
        asked, model = call.request.top_logprobs, call.request.model
        fewer = fewer_logprobs(fault, asked) if refuses_logprobs(fault) else None
        if asked is None or fewer is None:
            return False
        self._most_logprobs[model] = min(fewer, self._most_logprobs.get(model, fewer))
        LOGGER.warning(
            "%s: asked for %d log-probabilities a token, goes on with %d",
            call.address,
            asked,
            fewer,
        )
        call.request = replace(call.request, top_logprobs=fewer)
        call.text = call.request.text
        return True

    async def _attempt(self, call: _Call) -> Answer | Fault:
        cost = most_tokens(call.request, call.text) if self.budget else 0
        async with (
            self.budget.reserve(cost) if self.budget else nullcontext(),
            self.slots,
            self.servers.choose() as server,
        ):
            start = time.perf_counter()
            most = self.endpoint.max_answer_bytes(call.request)
            call.address = server.address
            self.on_call("asked")
            text = await self._send(server, call, most)
            call.usage += Usage(attempts=1, latency_ms=1000 * (time.perf_counter() - start))
            answer: Answer | Fault = (
                text if isinstance(text, Fault) else await self._read(call, text)
            )
            call.raw = text.raw if isinstance(text, Fault) else call.raw
            paid = cost_of(answer)
            call.usage += paid if isinstance(paid, Usage) else Usage()
            self.on_call(paid)
            outcome = server.record(answer)
        if isinstance(outcome, Answer):
            self.record_model(call.address, call.request.model, outcome.model)
        return outcome

    async def _read(self, call: _Call, text: str) -> Answer | AnswerFault:
        """Return the answer in the body of a response, with an estimate of its tokens if the server
        counts none."""
        try:
            call.raw, answer = await read_aside(
                partial(read_scrubbed, scrub=self.endpoint.access.scrub), whole_answer(text)
            )
        except ValueError as error:
            call.raw, answer = text, AnswerFault("malformed", str(error), retryable=True)
        if answer.usage.uncounted:
            written = (
                (answer.content or "") + answer.reasoning if isinstance(answer, Answer) else ""
            )
            answer = replace(
                answer,
                usage=replace(answer.usage, estimated_tokens=estimate_tokens(call.text, written)),
            )
        if isinstance(answer, AnswerFault):
            return answer
        if answer.is_too_long:
            return fault_of_length(answer.usage)
        return fault_of_ending(answer) or answer

    async def _send(self, server: Server, call: _Call, most: int) -> str | Fault:
        """Send a call's request, as a stream if `on_words` is set and the server has not refused
        streams."""
        on_words, attempt = call.on_words, call.usage.attempts + 1
        if on_words is not None and not self._refuses_streams:

            def say(words: Words) -> None:
                on_words(words._replace(attempt=attempt))

            text = await send_streamed(server, call.request, most, say, self.endpoint.access.scrub)
            self._refuses_streams = refuses_streams(text)
            if not self._refuses_streams:
                return text
        return await server.send("POST", CHAT, call.text, most)

    def record_model(self, address: str, asked: str, answered: str) -> None:
        """Log once that a server answers with another model name than requested, and count answers
        of another model.

        This is not an error, because servers answer for aliases with the name of a version. The raw
        answer with the name is saved with every call. If one name starts with the other, both mean
        the same model.
        """
        if not are_one_model(asked, answered):
            self.other_models[answered] += 1
        if answered not in ("", asked) and (asked, answered) not in self._logged_models:
            self._logged_models.add((asked, answered))
            LOGGER.warning("%s: asked for %s, answered as %s", address, asked, answered)

    def _error_of(self, call: _Call, fault: Fault, reason: GiveUp) -> ModelError:
        """Return the error of a call that is abandoned for this reason."""
        kind = ERROR_OF_FAULT[fault.kind]
        where = f"{call.address}: {fault.message}"
        if reason == "wait too long":
            longest = f"{self.endpoint.longest_wait_s:,.0f}"
            return call.error(
                kind, f"{where}, asks to wait {fault.wait_s:,.0f} s, expected at most {longest}"
            )
        if reason == "no retries left":
            attempts = f"{call.usage.attempts} attempt{'s' * (call.usage.attempts > 1)}"
            return call.error(kind, f"{where}, expected a completion; gave up after {attempts}")
        if call.request.top_logprobs is not None and refuses_logprobs(fault):
            self._reasons_without_logprobs[call.request.model] = fault.message
            return self._no_logprobs_error(call, fault.message)
        advice = describe_remedy(fault, call.request) if kind is Refused else ""
        message = (
            f"{where}, expected a completion of {call.request.model}{advice and f'; {advice}'}"
        )
        return call.error(kind, message, fault.meaning)

    def _require_logprobs(self, call: _Call, answer: Answer) -> tuple[TokenLogprob, ...] | None:
        """Return the answer's log-probabilities if the request asks for them. Raise NoLogprobs if
        the answer has none."""
        if call.request.top_logprobs is None:
            return None
        model = call.request.model
        if answer.logprobs is None:
            # A few answers without them condemn no server that gives them with others.
            self._answers_without_logprobs[model] += 1
            if (
                self._answers_without_logprobs[model] >= _ENOUGH_WITHOUT
                and model not in self._models_with_logprobs
            ):
                self._reasons_without_logprobs[model] = _LEFT_OUT
            raise self._no_logprobs_error(call, _LEFT_OUT)
        self._models_with_logprobs.add(model)
        self._reasons_without_logprobs.pop(model, None)
        return answer.logprobs

    def _no_logprobs_error(self, call: _Call, reason: str) -> ModelError:
        model = call.request.model
        message = (
            f"{call.address}: no log-probabilities of {model} ({reason}), expected them with every"
            " token"
        )
        return call.error(NoLogprobs, message)
