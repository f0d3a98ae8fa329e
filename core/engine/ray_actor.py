"""Predicts rows in a process of a Ray cluster. The process receives its input from the run's worker and returns everything to it.

Messages travel in lists, as pickled bytes; each list has the messages collected while the last one was in transit.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from core.engine.row_prediction import describe_traceback, predict_row
from core.errors import InputError
from core.llm.endpoint import Endpoint
from core.llm.remote_client import Answered, CallMessage, RemoteClient
from core.methods.base import Context, RowMethod
from core.types import Failed, Pair, RowResult
from core.version import describe as describe_version

MOST_BYTES = 1 << 22  # of finished rows in one list, if there are several


@dataclass(frozen=True, slots=True)
class SharedWork:
    """What all rows of a run have in common; without client, and shared by all processes of a node."""

    method: RowMethod
    context: Context


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The call options for model servers.

    They include the key, so `RowActor.begin` takes them: Ray's records store an actor's constructor arguments as long as the
    cluster lives, but not those of its methods.
    """

    endpoint: Endpoint
    concurrency: int
    is_cached: bool


@dataclass(frozen=True, slots=True)
class PredictRow:
    """Asks for a row's prediction."""

    pair: Pair


@dataclass(frozen=True, slots=True)
class FinishedRow:
    """A row's result or failure, pickled."""

    pair_id: str
    row: bytes


@dataclass(frozen=True, slots=True)
class UnforeseenError:
    """A row's error that no room expects: its kind, its text, and its traceback."""

    pair_id: str
    kind: str
    text: str
    traceback: str


ToActor = PredictRow | Answered
FromActor = FinishedRow | UnforeseenError | CallMessage


class RowActor:
    """Predicts the rows that `deliver` brings; `collect` fetches what came of them."""

    def __init__(self, work: SharedWork) -> None:
        self._method, self._context = work.method, work.context
        self._scrub: Callable[[str], str] = str
        self._outbox: list[FromActor] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: RemoteClient | None = None

    async def begin(self, calls: CallSettings | None) -> str:
        """Get ready; return which code runs here. calls: None if no model is asked."""
        self._filled = asyncio.Event()
        if calls is not None:
            self._scrub = calls.endpoint.scrub
            self._client = RemoteClient(calls.endpoint, calls.concurrency, self, is_cached=calls.is_cached)
            self._context = replace(self._context, client=self._client)
        return describe_version()

    async def deliver(self, data: bytes) -> None:
        """Take rows to predict, and answer to what this process asked."""
        messages: list[ToActor] = pickle.loads(data)
        for message in messages:
            if isinstance(message, PredictRow):
                task = asyncio.create_task(self._predict(message.pair))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif self._client is not None:
                self._client.take(message)

    async def collect(self) -> bytes:
        """Return the messages to the worker, as soon as there are any; a few million bytes at most, unless one row is larger."""
        await self._filled.wait()
        n_bytes, number = 0, 0
        for message in self._outbox:
            n_bytes += len(message.row) if isinstance(message, FinishedRow) else 0
            if number and n_bytes > MOST_BYTES:
                break
            number += 1
        messages, self._outbox = self._outbox[:number], self._outbox[number:]
        if not self._outbox:
            self._filled.clear()
        return pickle.dumps(messages)

    def tell(self, message: FromActor) -> None:
        """Send a message to the worker with the next list."""
        self._outbox.append(message)
        self._filled.set()

    async def _predict(self, pair: Pair) -> None:
        row = await predict_row(self._method, pair, self._context, self._tell_unforeseen, self._scrub)
        self.tell(FinishedRow(pair.pair_id, _pickle_row(row, pair)))

    def _tell_unforeseen(self, pair_id: str, error: BaseException) -> None:
        self.tell(UnforeseenError(pair_id, type(error).__name__, str(error), describe_traceback(error)))


def _pickle_row(row: RowResult | Failed, pair: Pair) -> bytes:
    """Return a row as bytes; its failure if it cannot be pickled."""
    try:
        return pickle.dumps(row)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        message = f"row {pair.pair_id!r}: cannot be sent to the worker ({error}), expected plain data"
        return pickle.dumps(Failed(pair.pair_id, InputError.__name__, message))


def read_messages(data: bytes) -> list[Any]:
    """Return the messages in a list as `collect` returns it."""
    messages: list[Any] = pickle.loads(data)
    return messages
