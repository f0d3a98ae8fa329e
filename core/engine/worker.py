"""The worker of a run: predicts the rows that its journal lacks, and leaves the run resumable whatever happens to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from core.engine.circuit_breaker import CircuitBreaker
from core.engine.dependencies import Dependencies, context_of, web_of
from core.engine.ingest import record_start
from core.engine.journal import Journal, RunFolder
from core.engine.row_codec import calls_tokens
from core.engine.run_reporter import RunReporter
from core.engine.run_state import Ending, State, Status, exclusive_lock, status_of, write_ending
from core.errors import DeskError, InputError, NotFound
from core.llm.client import Client
from core.llm.messages import Reply
from core.llm.reply_cache import ReplyCache
from core.log import LOGGER, record_error
from core.methods.base import BatchMethod, Context, RowFailed, RowMethod
from core.types import Failed, Pair, RowResult

_LEVELS = {"stopped": logging.ERROR, "interrupted": logging.WARNING, "crashed": logging.ERROR}  # in the workspace's log
_LOOK_S = 0.1  # between two looks at what the worker is told
_CHUNK = 256  # rows of a batch that are journalled at once


def work(folder: RunFolder, world: Dependencies) -> Status:
    """Predict the rows that are missing, until they are finished or something ends the work; what became of the run.

    SIGTERM and Ctrl-C end it cleanly where it runs in the main thread. Raises StateError where another worker has the run.
    """
    with exclusive_lock(folder):
        LOGGER.info("run %s: a worker starts", folder.run)
        asyncio.run(_Worker(folder, world).run())
        status = status_of(folder)
        LOGGER.log(_LEVELS.get(status.state, logging.INFO), "run %s: %s", folder.run, f"{status.state} {status.cause}".strip())
        return status


class _AskAnew(ReplyCache):
    """The response cache, without the answers that made rows fail; each of those is asked for once more."""

    def __init__(self, path: Path, suspect: set[str]) -> None:
        super().__init__(path)
        self._suspect = set(suspect)

    def get(self, key: str) -> Reply | None:
        if key in self._suspect:
            self._suspect.discard(key)
            return None
        return super().get(key)


class _Worker:
    def __init__(self, folder: RunFolder, world: Dependencies) -> None:
        self.folder, self.world = folder, world
        self.spec, self.how = folder.spec(), folder.how()
        self.endpoint = self.how.endpoint(world.api_key) if self.how.base_url else None
        self.scrub: Callable[[str], str] = self.endpoint.scrub if self.endpoint else str
        self.journal = Journal(folder, self.scrub)
        self.account = RunReporter(folder, world.store, self.journal.progress, len(self.spec.rows), self.scrub)
        self.ending: tuple[Ending, str] | None = None
        self.in_flight = 0
        self.spent = self.journal.progress.spent  # with the rows that wait to be journalled
        self.silence = CircuitBreaker(self.how.unanswered_limit)

    async def run(self) -> None:
        """Work until the end, and say how it ended."""
        self.go = asyncio.Event()
        self.go.set()
        self.out: asyncio.Queue[RowResult | Failed | None] = asyncio.Queue(2 * _CHUNK)
        self.written = asyncio.Event()
        self.lanes: list[asyncio.Task[None]] = []
        self.account.beat()
        self.folder.done.unlink(missing_ok=True)
        with self.journal, self._signals():
            self.account.say(f"begun: {self.account.missing:,} of {len(self.spec.rows):,} rows to predict")
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(self._keep())
                folder = group.create_task(self._fold())
                writer = group.create_task(self._write())
                await self._predict()
                await self.out.put(None)
                await writer
                self.written.set()
                await folder
                ending, cause = self.ending or ("done", "")
                await self.account.fold_at_last(ending, cause)
                keeper.cancel()
        write_ending(self.folder, ending, self.account.counts, len(self.spec.rows), cause)
        self.account.say(f"ended: {ending}{f' ({cause})' if cause else ''}")

    async def _predict(self) -> None:
        """Ask for every row that is missing. What the method or its surroundings lack stops the run with that cause."""
        try:
            await asyncio.to_thread(record_start, self.world.store, self.folder)
            async with self._context() as context:
                self.lanes = [asyncio.create_task(lane) for lane in self._lanes(context)]
                if self.ending is not None:  # told so before there was anything to cancel
                    self._cancel_lanes()
                if self.lanes:
                    await asyncio.wait(self.lanes)
        except DeskError as error:
            self._stop("stopped", str(error))
        for lane in self.lanes:
            failure = None if lane.cancelled() else lane.exception()
            if failure is not None:
                self.account.say(_traceback(failure))
                record_error(f"run {self.folder.run}", failure)
                self._stop("stopped", str(failure) if isinstance(failure, DeskError) else f"{type(failure).__name__}: {failure}")
        await self._let_go_of_held()

    def _lanes(self, context: Context) -> list[Coroutine[Any, Any, None]]:
        finished = self.journal.progress.finished
        todo = deque(pair for pair in context.pairs if pair.pair_id not in finished)
        method = self.world.method(self.spec.method)
        if isinstance(method, BatchMethod):
            return [self._batch(method, context, {pair.pair_id for pair in todo})] if todo else []
        if not isinstance(method, RowMethod):
            raise InputError(f"method {self.spec.method}: has neither predict_row nor predict_batch, expected one of them")
        return [self._lane(method, context, todo) for _ in range(min(self.how.rows_in_flight, len(todo)))]

    @contextlib.asynccontextmanager
    async def _context(self) -> AsyncIterator[Context]:
        method = self.world.method(self.spec.method)
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client()) if method.needs_model else None
            web = web_of(self.world, self.spec)
            if web is not None:
                await stack.enter_async_context(web)
            yield await asyncio.to_thread(context_of, self.world, self.spec, method, client, web)

    def _client(self) -> Client:
        if self.endpoint is None:
            raise InputError(f"method {self.spec.method}: needs a model server, got none; give its address")
        path = self.world.cache if self.how.cached else None
        cache = None if path is None else _AskAnew(path, self.journal.progress.suspect)
        return Client(self.endpoint, concurrency=self.how.concurrency, cache=cache)

    async def _lane(self, method: RowMethod, context: Context, todo: deque[Pair]) -> None:
        """Ask for one row after the other."""
        while True:
            await self.go.wait()
            if not todo or self.ending is not None:
                return
            budget = self.how.token_budget
            if budget is not None and self.spent >= budget:
                self._stop("budget", f"{self.spent:,} tokens are spent, {budget:,} were allowed")
                return
            pair = todo.popleft()
            self.in_flight += 1
            row = await self._row(method, context, pair)
            self.in_flight -= 1
            await self._finish(row)

    async def _row(self, method: RowMethod, context: Context, pair: Pair) -> RowResult | Failed:
        """The result of a row, or its failure: no error of one row ends the run."""
        task = asyncio.ensure_future(method.predict_row(pair, context))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if task.cancelled():
            return Failed(pair.pair_id, "Cancelled", f"{self.spec.method} gave up this row without a cause")
        error = task.exception()
        if error is None:
            return _of_row(task.result(), pair)
        calls = error.calls if isinstance(error, RowFailed) else ()
        cause = error.cause if isinstance(error, RowFailed) else error
        if not isinstance(cause, DeskError):
            self.account.say(f"row {pair.pair_id}:\n{_traceback(cause)}")
        return Failed(pair.pair_id, type(cause).__name__, self.scrub(str(cause)), calls)

    async def _batch(self, method: BatchMethod, context: Context, missing: set[str]) -> None:
        """All rows at once, in a thread; those that are missing are journalled, in order."""
        await self.go.wait()
        results = await asyncio.to_thread(method.predict_batch, context.pairs, context)
        if [result.prediction.pair_id for result in results] != [pair.pair_id for pair in context.pairs]:
            raise InputError(f"method {self.spec.method}: gave other rows than it was asked for, expected one each, in order")
        for result in results:
            await self.go.wait()
            if result.prediction.pair_id in missing:
                await self.out.put(result)

    async def _finish(self, row: RowResult | Failed) -> None:
        self.spent += calls_tokens(row.calls, spent=True)
        for ready in self.silence.after(row):
            await self.out.put(ready)
        if self.silence.too_long:
            self._stop("stopped", f"{self.silence.count} rows in succession without an answer: {self.silence.last}")

    async def _let_go_of_held(self) -> None:
        """Rows to which nobody answered are failures where others were answered; else the run stops and they stay missing."""
        if self.ending is not None and self.ending[0] != "budget":
            return
        if self.silence.count and not self.silence.broken:
            self._stop("stopped", f"nobody answered: {self.silence.last}")
            return
        for row in self.silence.release():
            await self.out.put(row)

    def _stop(self, ending: Ending, cause: str) -> None:
        """End the work; but for a spent budget, without waiting for the rows in flight. The first cause stands."""
        if self.ending is None:
            self.ending = (ending, self.scrub(cause))
        self.go.set()
        if ending != "budget":
            self._cancel_lanes()

    def _cancel_lanes(self) -> None:
        mine = asyncio.current_task()
        for lane in self.lanes:
            if lane is not mine:
                lane.cancel()

    async def _write(self) -> None:
        """Journal what is finished, as much at once as came together while the last was written."""
        while True:
            entries = [await self.out.get()]
            while not self.out.empty():
                entries.append(self.out.get_nowait())
            rows = [entry for entry in entries if entry is not None]
            if rows:
                await asyncio.to_thread(self.journal.append, rows)
            if len(rows) < len(entries):
                return

    async def _keep(self) -> None:
        """Beat, and do what the worker is told."""
        beaten = 0.0
        while True:
            self._obey()
            if time.monotonic() - beaten >= self.world.beat_s:
                self.account.beat()
                beaten = time.monotonic()
            await asyncio.sleep(_LOOK_S)

    def _obey(self) -> None:
        command = self.folder.command()
        if command == "cancel":
            self._stop("cancelled", "a person cancelled it")
        if self.ending is not None:
            return
        state: State = "running" if command == "run" else "pausing" if self.in_flight else "paused"
        (self.go.set if command == "run" else self.go.clear)()
        self.account.enter(state)

    async def _fold(self) -> None:
        """Keep the store up to date until all is journalled; a run that it does not have any more ends here."""
        try:
            await self.account.fold_until(self.written, self.world.fold_s)
        except NotFound as error:
            self._stop("cancelled", str(error))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT end the work cleanly; only a main thread can be told so."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        told = (signal.SIGTERM, signal.SIGINT)
        for number in told:
            loop.add_signal_handler(number, self._stop, "interrupted", f"told to end by {number.name}")
        try:
            yield
        finally:
            for number in told:
                loop.remove_signal_handler(number)


def _of_row(result: RowResult, pair: Pair) -> RowResult | Failed:
    answered = result.prediction.pair_id
    if answered == pair.pair_id:
        return result
    said = f"the method answered for row {answered!r}, expected {pair.pair_id!r}"
    return Failed(pair.pair_id, InputError.__name__, said, result.calls)


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)).rstrip()
