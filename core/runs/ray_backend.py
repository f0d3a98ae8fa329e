"""Predicts the rows of a run on a Ray cluster: batches of rows are Ray tasks, and this process is
Ray's driver.

Each batch has a client of its own and its share of the calls and tokens; it reads no cache. The
driver gathers dossiers, picks the server of a batch, counts its calls, and caches their answers.
Rows of a task that dies are sent again.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from core.base.environment import describe as describe_version
from core.base.errors import DeskError
from core.base.net.retry import Fault
from core.base.types import Evidence, Failed, FinishedRow, Pair
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.errors import Unanswered
from core.llm.messages import Outcome, Reply, Usage
from core.llm.server_pool import PooledServer
from core.llm.streaming import Server
from core.methods.base import Context, GathersDossier, RowMethod
from core.methods.row_feed import RowFeed
from core.runs.ray_cluster import Cluster, refuse_other_version
from core.runs.row_prediction import LogError, describe_traceback, predict_row
from core.runs.spec import ExecutionSettings

CALLS_A_BATCH = 16  # at once
# in a batch: more would be lost with it, fewer would leave more calls unused at its end
ROWS_A_CALL = 4
MAX_CHARACTERS = 300  # of Ray's own errors
MAX_LOSSES = 5  # of tasks that had a row: it may be what kills them

# of all batches, without a client; and the version of the driver's code
Work = tuple[RowMethod, Context, str]


@dataclass(frozen=True, slots=True)
class Reports:
    """What a backend tells its worker and asks of it.

    say: called with a line on each event. log_unforeseen, scrub: as in `predict_row`. tokens_left:
    returns how many tokens may still be spent, None for any number.
    """

    say: Callable[[str], object]
    log_unforeseen: LogError
    scrub: Callable[[str], str]
    tokens_left: Callable[[], int | None]


class Batch(NamedTuple):
    """Rows of one task, with its share of the limits. has_others: whether other servers may answer
    if this one does not."""

    pairs: tuple[Pair, ...]
    dossiers: Mapping[str, tuple[Evidence, ...]]
    at_once: int
    tokens: int | None
    endpoint: Endpoint | None = None
    has_others: bool = False


@dataclass(slots=True)
class Returned:
    """A row that comes back, with what the calls of its batch cost and answered since the last
    one."""

    row: FinishedRow | None = None
    costs: list[Outcome] = field(default_factory=list)
    replies: list[tuple[str, Reply]] = field(default_factory=list)
    other_models: Counter[str] = field(default_factory=Counter)
    # unforeseen: pair id, kind, text, traceback
    errors: list[tuple[str, str, str, str]] = field(default_factory=list)

    def get(self, _key: str) -> None:
        """Return no reply, as an empty reply cache does."""

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply for the driver's cache."""
        self.replies.append((key, reply))


def predict_batch(work: Work, batch: Batch) -> Iterator[Returned]:
    """Yield each finished row of a batch; rows beyond its tokens are left out."""
    method, context, version = work
    refuse_other_version(version)
    rows = _predict(method, context, batch)

    async def next_row() -> Returned | None:
        return await anext(rows, None)

    with asyncio.Runner() as runner:
        while (row := runner.run(next_row())) is not None:
            yield row


async def _predict(method: RowMethod, context: Context, batch: Batch) -> AsyncIterator[Returned]:
    todo, finished = deque(batch.pairs), asyncio.Queue[FinishedRow | None]()
    new, spent = Returned(), 0
    scrub = batch.endpoint.scrub if batch.endpoint else str
    client = (
        Client(batch.endpoint, concurrency=batch.at_once, cache=new) if batch.endpoint else None
    )
    context = replace(context, client=client, dossiers=batch.dossiers)

    def count(cost: Outcome) -> None:
        nonlocal spent
        new.costs.append(cost)
        if isinstance(cost, Usage):
            spent += cost.prompt_tokens + cost.completion_tokens + cost.estimated_tokens

    def log(pair_id: str, error: BaseException) -> None:
        new.errors.append((pair_id, type(error).__name__, str(error), describe_traceback(error)))

    async def predict_in_turn() -> None:
        while todo and (batch.tokens is None or spent < batch.tokens):
            row = await predict_row(method, todo.popleft(), context, log, scrub)
            if batch.has_others and isinstance(row, Failed) and row.kind == Unanswered.__name__:
                todo.clear()
            finished.put_nowait(row)

    async with client or nullcontext():
        if client is not None:
            client.on_call, client.other_models = count, new.other_models
        predicting = asyncio.gather(*(predict_in_turn() for _ in range(batch.at_once)))
        predicting.add_done_callback(lambda _: finished.put_nowait(None))
        while (row := await finished.get()) is not None:
            sent, new = replace(new, row=row), Returned()
            if client is not None:
                client.cache, client.other_models = new, new.other_models
            yield sent
        await predicting


@dataclass(slots=True, eq=False)
class _Row:
    """A row that is to be predicted."""

    pair: Pair
    dossier: tuple[Evidence, ...] | None
    finished: asyncio.Future[FinishedRow | None]

    def finish(self, result: FinishedRow | None) -> None:
        if not self.finished.done():
            self.finished.set_result(result)


class RayBackend:
    """The batches of one run. context: as for this process, whose client's cache and servers serve
    all batches."""

    def __init__(
        self, method: RowMethod, context: Context, settings: ExecutionSettings, reports: Reports
    ) -> None:
        self._method, self._context, self._settings, self._reports = (
            method,
            context,
            settings,
            reports,
        )
        self.rows_at_once = ROWS_A_CALL * settings.rows_in_flight
        self._queue = asyncio.Queue[_Row]()
        self._senders: list[asyncio.Task[None]] = []
        self._losses = Counter[str]()  # pair id → how many tasks died that had it
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._cluster = await asyncio.to_thread(Cluster, self._settings.ray_address)
        here = replace(self._context, client=None, components=None, web=None, notes={})
        try:
            self._work = await asyncio.to_thread(
                self._cluster.share, (self._method, here, describe_version())
            )
        except BaseException:
            await asyncio.to_thread(self._cluster.close)
            raise
        at_once = self._settings.rows_in_flight
        if self._context.client is not None:
            at_once = min(at_once, self._settings.concurrency)
        cpus = self._cluster.cpus()
        n_batches = min(at_once, max(len(cpus), math.ceil(at_once / CALLS_A_BATCH)))
        self._reports.say(
            f"ray: {n_batches:,} batches at a time on {len(cpus):,} nodes with {sum(cpus):,} CPUs"
        )
        for i in range(n_batches):
            sender = asyncio.create_task(self._send_in_turn((at_once + i) // n_batches))
            sender.add_done_callback(self._end)
            self._senders.append(sender)
        return self

    async def __aexit__(self, *_: object) -> None:
        for sender in self._senders:
            sender.cancel()
        await asyncio.gather(*self._senders, return_exceptions=True)
        await asyncio.to_thread(self._cluster.close)

    async def predict(self, pair: Pair, feed: RowFeed) -> FinishedRow | None:
        """Return the result of a row or its failure, None for one to be sent again. Raise the error
        that ended the work."""
        if self._failure is not None:
            raise self._failure
        dossier = None
        if self._context.web is not None and isinstance(self._method, GathersDossier):
            try:
                dossier = await self._method.dossier_of(pair, replace(self._context, feed=feed))
            except DeskError as error:
                return Failed(pair.pair_id, type(error).__name__, self._reports.scrub(str(error)))
        row = _Row(pair, dossier, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(row)
        return await row.finished

    async def _send_in_turn(self, at_once: int) -> None:
        """Send one batch after the other, each of the rows that wait; give back the rows that it
        leaves out."""
        client = self._context.client
        while True:
            rows = [await self._queue.get()]
            while not self._queue.empty() and len(rows) < self._most_rows(rows, at_once):
                rows.append(self._queue.get_nowait())
            async with client.servers.choose() if client else nullcontext() as server:
                out = {row.pair.pair_id: row for row in rows if not row.finished.done()}
                try:
                    await self._send(out, server, at_once)
                finally:
                    for row in out.values():
                        row.finish(None)

    def _most_rows(self, rows: list[_Row], at_once: int) -> int:
        """Return how many rows a batch may have: fewer if one of them was lost, so that what kills
        a task ends up alone."""
        losses = max(self._losses[row.pair.pair_id] for row in rows)
        return max(1, ROWS_A_CALL * at_once >> 2 * losses)

    async def _send(self, rows: dict[str, _Row], server: Server | None, at_once: int) -> None:
        """Send a batch, and take its rows out of `rows` as they come back. Raise the error of a
        task that cannot be run."""
        left = self._reports.tokens_left()
        tokens = None if left is None else max(1, left // len(self._senders))
        dossiers = {
            pair_id: row.dossier for pair_id, row in rows.items() if row.dossier is not None
        }
        batch = Batch(tuple(row.pair for row in rows.values()), dossiers, at_once, tokens)
        if self._context.client is not None and server is not None:
            endpoint, address = self._context.client.endpoint, server.address
            endpoint = replace(endpoint, base_url=address, access=endpoint.access.limit_to(address))
            batch = batch._replace(endpoint=endpoint, has_others=isinstance(server, PooledServer))
        errors = self._cluster.ray.exceptions
        try:
            async for reference in self._cluster.start_batch(predict_batch, self._work, batch):
                self._take(await reference, rows, server)
        except errors.RayTaskError as error:
            raise self._cluster.error_of(error) from error
        except errors.RayError as error:
            why = " ".join(str(error).split())[:MAX_CHARACTERS]
            self._reports.say(f"ray: a task died ({why}); {len(rows):,} rows are predicted again")
            for pair_id, row in rows.items():
                self._losses[pair_id] += 1
                if self._losses[pair_id] >= MAX_LOSSES:
                    message = f"{MAX_LOSSES} tasks died while they predicted it, the last: {why}"
                    row.finish(Failed(pair_id, "ProcessDied", message))

    def _take(self, returned: Returned, rows: dict[str, _Row], server: Server | None) -> None:
        """Count the calls of a batch, keep their answers, and finish the row; one without an answer
        is given back."""
        client, result = self._context.client, returned.row
        for pair_id, kind, text, traceback in returned.errors:
            error = type(kind, (Exception,), {})(text)
            error.add_note(traceback)
            self._reports.log_unforeseen(pair_id, error)
        if client is not None and server is not None:
            for key, reply in returned.replies:
                client.keep(key, reply)
            for cost in returned.costs:
                client.on_call(cost)
                server.count(cost)
            client.other_models.update(returned.other_models)
        if (
            isinstance(server, PooledServer)
            and isinstance(result, Failed)
            and result.kind == Unanswered.__name__
        ):
            server.record(Fault("unanswered", result.message))
        elif result is not None:
            rows.pop(result.pair_id).finish(result)

    def _end(self, sender: asyncio.Task[None]) -> None:
        """End the wait for every row if a sender failed."""
        self._failure = self._failure or (None if sender.cancelled() else sender.exception())
        while self._failure is not None and not self._queue.empty():
            row = self._queue.get_nowait()
            if not row.finished.done():
                row.finished.set_exception(self._failure)
