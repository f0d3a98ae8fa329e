"""The calls of one row to a model: each is recorded, and a question whose answer cannot be read is
asked once more."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from core.base.errors import DeskError
from core.base.net.transport import read_aside
from core.base.types import Call, Flag, Pair, RowResult, TraceEvent
from core.evidence.label_view import LabelView
from core.llm import answers
from core.llm.answers import AnswerSchema, Unread
from core.llm.errors import ModelError
from core.llm.kept_answer import TokenCount, TokenCounter, kept_answer
from core.llm.logprobs import letter_probabilities
from core.llm.messages import MAX_TOP_LOGPROBS, Message, Reply, Request, Usage
from core.methods.base import Context, RowFailed
from core.methods.coded_names import REWRITTEN
from core.methods.prompts import fill, prompt_text, with_form

if TYPE_CHECKING:
    from core.llm.client import Client

T = TypeVar("T")
Messages = tuple[Message, ...]
Reader = Callable[[Reply], T | Unread]
ReAsk = Callable[[Unread], str]


# of a question whose answer cannot be read
FALLBACK = {"de": Flag.DE_FALLBACK, "dir": Flag.DIR_FALLBACK}


class NoBaseRates(DeskError):
    """An answer cannot be read, and the label view holds no labelled rows whose rates could stand
    in for it."""


@dataclass(frozen=True, slots=True)
class CallSpec:
    """How one call is made, and the stage and role of the trace event that it leads to.

    max_tokens: limit of the answer, reasoning included. effort: reasoning effort, "" leaves it to
    the server. logprobs: whether to ask for log-probabilities. temperature, top_p: of sampling.
    schema: of the JSON object that the answer has to be; None for any text.
    """

    stage: str
    role: str
    seed: int
    max_tokens: int
    effort: str = ""
    logprobs: bool = False
    temperature: float = 1.0
    top_p: float = 1.0
    schema: AnswerSchema | None = None


@dataclass(frozen=True, slots=True)
class ReadAnswer(Generic[T]):
    """The value that was read from the last reply, or why none could be (Unread); rejected: the
    reply before it."""

    value: T | Unread
    reply: Reply
    rejected: tuple[TraceEvent, ...] = ()


class RowConversation:
    """Makes the calls of one row and records them in the order in which they began."""

    def __init__(self, context: Context, pair: Pair) -> None:
        self._context = context
        # else a model would be shown the names that were to be hidden from it
        assert context.naming is not None or context.options.get("names") not in REWRITTEN
        self._names = context.naming.of_row(pair) if context.naming is not None else None
        self._calls: list[Call | None] = []
        self._is_counted = True

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call that has ended, grouped by stage and role.

        Groups stand in the order of their first calls, which does not depend on which of several
        concurrent answers arrives first.
        """
        ended = [call for call in self._calls if call is not None]
        place: dict[tuple[str, str], int] = {}
        stages: dict[str, int] = {}
        for call in ended:
            stages.setdefault(call.stage, len(stages))
            place.setdefault((call.stage, call.role), len(place))
        return tuple(
            sorted(ended, key=lambda call: (stages[call.stage], place[call.stage, call.role]))
        )

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens of all calls and attempts, None if the server did not count
        them all."""
        if not self._is_counted:
            return None
        return sum(call.prompt_tokens + call.completion_tokens for call in self.calls)

    async def ask(self, spec: CallSpec, messages: Messages) -> Reply:
        """Return one reply. Raise what the client raises; the call is recorded in either case."""
        return self._read_names(await self._send(spec, self._request(spec, messages)))

    async def ask_once(self, spec: CallSpec, messages: Messages) -> Reply:
        """Return one reply that all rows of the run with the same request share, also those that
        ask before it is there.

        The row that asks first makes the call; every other one records it as answered by the cache,
        so that a row's calls do not depend on which row was first. A failure is raised in all rows
        that wait for it, and the next row asks again.
        """
        request = self._request(spec, messages)
        pending: dict[str, asyncio.Future[Reply]] = self._context.notes.setdefault(
            "shared replies", {}
        )
        if request.key in pending:
            place = self._reserve()
            reply = await asyncio.shield(pending[request.key])
            self._is_counted &= not reply.usage.uncounted
            self._calls[place] = replace(
                await _call(spec, request, reply.usage, reply.request, reply.raw), cached=True
            )
            return self._read_names(reply)
        shared = pending[request.key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._send(spec, request)
        except BaseException as error:
            del pending[request.key]
            if isinstance(error, Exception):
                shared.set_exception(error)
                shared.exception()  # as nobody may wait for it
            else:
                shared.cancel()
            raise
        shared.set_result(reply)
        return self._read_names(reply)

    def _read_names(self, reply: Reply) -> Reply:
        """Return a reply with the row's own names in place of those shown to the model; its record
        keeps the original."""
        return (
            reply
            if self._names is None
            else replace(reply, content=self._names.decode(reply.content))
        )

    def _request(self, spec: CallSpec, messages: Messages) -> Request:
        if self._names is not None:
            messages = tuple(
                message._replace(content=self._names.encode(message.content))
                for message in messages
            )
        request = Request(
            self._context.model,
            messages,
            seed=spec.seed,
            temperature=spec.temperature,
            top_p=spec.top_p,
            max_completion_tokens=spec.max_tokens,
            reasoning_effort=spec.effort or None,
            top_logprobs=MAX_TOP_LOGPROBS if spec.logprobs else None,
            repeat=self._context.repeat,
            response_format=spec.schema.response_format if spec.schema else "",
        )
        return self._client.prepare(request)

    @property
    def _client(self) -> Client:
        client = self._context.client
        assert client is not None  # which the worker gives to a method that needs a model
        return client

    def _reserve(self) -> int:
        """Return the place of a call that begins."""
        self._calls.append(None)
        return len(self._calls) - 1

    async def _send(self, spec: CallSpec, request: Request) -> Reply:
        place, feed = self._reserve(), self._context.feed
        on_words = feed.begin_call(place, spec.stage, spec.role, spec.seed) if feed else None
        try:
            reply = await self._client.complete(request, on_words)
        except ModelError as error:
            failed = await _call(
                spec, request, error.usage, error.request or request.text, error.raw
            )
            self._calls[place] = replace(failed, error=f"{type(error).__name__}: {error}")
            if feed:
                feed.fail_call(place, str(error))
            raise
        self._is_counted &= not reply.usage.uncounted
        if feed:
            feed.end_call(place, reply)
        self._calls[place] = replace(
            await _call(spec, request, reply.usage, reply.request, reply.raw), cached=reply.cached
        )
        return reply

    async def read(
        self, spec: CallSpec, messages: Messages, reader: Reader[T], re_ask: ReAsk
    ) -> ReadAnswer[T]:
        """Asks, and reads the reply with `reader`; if that fails, asks what `re_ask` writes and
        reads once more."""
        reply = await self.ask(spec, messages)
        value = reader(reply)
        if not isinstance(value, Unread):
            self._note_read(spec, value)
            return ReadAnswer(value, reply)
        rejected = event_of(spec, "rejected", reply, why=value.reason)
        if self._context.feed:
            self._context.feed.add(
                "rejected", stage=spec.stage, role=spec.role, seed=spec.seed, why=value.reason
            )
        again = (
            *messages,
            Message("assistant", reply.content),
            Message("user", with_form(re_ask(value), spec.schema)),
        )
        reply = await self.ask(spec, again)
        value = reader(reply)
        self._note_read(spec, value)
        return ReadAnswer(value, reply, (rejected,))

    def _note_read(self, spec: CallSpec, value: object) -> None:
        """Send the number in an answer to the row's watchers."""
        if self._context.feed and isinstance(value, float | Unread):
            p = value if isinstance(value, float) else None
            self._context.feed.add("read", stage=spec.stage, role=spec.role, seed=spec.seed, p=p)


class ConversationMethod(ABC):
    """A method that has one conversation with a model for each row."""

    needs_model = True

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        """Return the prediction of one row. Raise RowFailed with the calls that were made."""
        conversation = RowConversation(context, pair)
        return await raise_with_calls(conversation, self.predict_in(conversation, pair, context))

    @abstractmethod
    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Return the prediction of one row, with every call made in `conversation`."""


async def raise_with_calls(conversation: RowConversation, work: Awaitable[T]) -> T:
    """Return the result of the work on a row. Raise RowFailed, with the calls that were made, for
    any failure."""
    try:
        return await work
    except Exception as error:
        raise RowFailed(error, conversation.calls) from error


async def system_tokens(context: Context, prompts: Callable[[], Sequence[str]]) -> TokenCount:
    """Return the tokens of the longest of a run's system prompts, counted once a run."""
    assert context.client is not None
    async with context.notes.setdefault("counting", asyncio.Lock()):
        if "system_tokens" not in context.notes:
            counter = TokenCounter(context.client, context.model)
            context.notes["system_tokens"] = await counter.count(max(prompts(), key=len))
    counted: TokenCount = context.notes["system_tokens"]
    return counted


def read_probability(reply: Reply) -> float | Unread:
    """Return the probability that an answer states, in [0, 1]."""
    return answers.read_probability(reply.content)


def read_letters(letters: Sequence[str]) -> Reader[dict[str, float]]:
    """Return a reader of each letter's probability from log-probabilities, which the call has to
    ask for."""

    def read(reply: Reply) -> dict[str, float] | Unread:
        found = letter_probabilities(reply.logprobs or (), letters, reply.content)
        return found if isinstance(found, Unread) else dict(found.probabilities)

    return read


def ask_probability_again(problem: Unread) -> str:
    """Return the second request for a probability, with the reason why the first answer was
    rejected."""
    return fill(prompt_text("reask_prob"), reason=problem.reason)


def ask_letter_again(problem: Unread, letters: Sequence[str]) -> str:
    """Return the second request for a letter, with the reason why the first answer was rejected."""
    return fill(prompt_text("reask_letter"), reason=problem.reason, letters=", ".join(letters))


def event_of(spec: CallSpec, kind: str, reply: Reply, **meta: object) -> TraceEvent:
    """Return a reply as a trace event; tokens are those of prompt and completion over all
    attempts."""
    tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
    return TraceEvent(
        spec.stage, spec.role, kind, reply.content, tokens, round(reply.latency_ms, 1), meta
    )


async def gather_all(*work: Awaitable[T]) -> list[T]:
    """Return the results of independent tasks, run concurrently and all to their end, so that every
    call is counted.

    Raise the first failure, in the order given, after all tasks have ended.
    """
    if len(work) == 1:
        return [await work[0]]  # without a task of its own
    ended = await asyncio.gather(*work, return_exceptions=True)
    for result in ended:
        if isinstance(result, BaseException):
            raise result
    return [result for result in ended if not isinstance(result, BaseException)]


def base_rates(view: LabelView, pair: Pair) -> tuple[float, float]:
    """Return P(DE) and P(up | DE) among the labelled rows in view. Raise NoBaseRates if one of them
    is undefined there."""
    return base_rate(view, pair, "de"), base_rate(view, pair, "dir")


def base_rate(view: LabelView, pair: Pair, stage: Literal["de", "dir"]) -> float:
    """Return P(DE) or P(up | DE) among the labelled rows in view. Raise NoBaseRates if it is
    undefined there."""
    rate = view.counts.p_de if stage == "de" else view.counts.p_up_given_de
    if rate is None:
        raise NoBaseRates(
            f"{pair.pair_id}: the answer cannot be read and {len(view):,} labelled rows are in"
            " view, expected some of each label"
        )
    return rate


async def _call(spec: CallSpec, request: Request, usage: Usage, sent: str, raw: str) -> Call:
    return Call(
        key=request.key,
        stage=spec.stage,
        role=spec.role,
        request=sent,
        # in a thread where it is long, so that other rows have their turn
        reply=await read_aside(kept_answer, raw),
        cached=False,
        attempts=usage.attempts,
        latency_ms=usage.latency_ms,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )
