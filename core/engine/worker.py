"""The worker of a run: predicts the rows that its journal lacks; a run whose worker dies can be resumed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from core.engine.dependencies import Dependencies, RetryCache, build_context, open_pool, source_client
from core.engine.ingest import RunReporter, record_start
from core.engine.journal import Journal, SpendingLog
from core.engine.row_prediction import CircuitBreaker, describe_traceback, lacks_prediction, predict_row
from core.engine.row_watch import RowWatch
from core.engine.run_folder import RunFolder
from core.engine.run_state import Ending, State, Status, exclusive_lock, status_of, write_ending
from core.errors import DeskError, InputError, NotFound
from core.llm.client import Client
from core.llm.messages import Outcome
from core.llm.server_pool import ServerPool
from core.log import LOGGER, record_error
from core.methods.base import BatchMethod, Context, DerivedMethod, RowMethod
from core.system_errors import explain
from core.types import Failed, Pair, RowResult

_LEVELS = {"stopped": logging.ERROR, "interrupted": logging.WARNING, "crashed": logging.ERROR}  # in the workspace's log
_POLL_S = 0.1  # between two reads of the control file
_MOST_AT_ONCE = 512  # finished rows that wait to be journalled


def work(folder: RunFolder, dependencies: Dependencies) -> Status:
    """Predicts the rows that are missing, until all are finished or something ends the work; returns the run's status then.

    SIGTERM and Ctrl-C end it cleanly if this is the main thread. Raises StateError if another worker has the run.
    """
    with exclusive_lock(folder):
        LOGGER.info("run %s: a worker starts", folder.run)
        asyncio.run(_Worker(folder, dependencies).run())
        status = status_of(folder)
        LOGGER.log(_LEVELS.get(status.state, logging.INFO), "run %s: %s", folder.run, f"{status.state} {status.cause}".strip())
        return status


class _Worker:
    """One run's worker. Row tasks put what they finish into a queue; one task journals it, one ingests the journal, and one
    writes heartbeats and reads the control file."""

    def __init__(self, folder: RunFolder, dependencies: Dependencies) -> None:
        self.folder, self.dependencies = folder, dependencies
        self.spec, self.settings = folder.spec(), folder.execution_settings()
        self.endpoint = self.settings.endpoint(dependencies.api_key) if self.settings.servers else None
        self.scrub: Callable[[str], str] = self.endpoint.scrub if self.endpoint else str
        self.journal = Journal(folder, self.scrub)
        self.spending = SpendingLog(folder.spending, self.journal.progress.spent)
        self.reporter = RunReporter(folder, dependencies.store, self.journal.progress, len(self.spec.rows), self.scrub)
        self.ending: tuple[Ending, str] | None = None
        self.breaker = CircuitBreaker(self.settings.unanswered_limit)
        self.pool: ServerPool | None = None  # of several model servers
        self.watch = RowWatch(folder, self.scrub)

    async def run(self) -> None:
        """Works until the end, and records how it ended."""
        self.not_paused = asyncio.Event()
        self.not_paused.set()
        self.finished: asyncio.Queue[RowResult | Failed | None] = asyncio.Queue(_MOST_AT_ONCE)
        self.all_journalled = asyncio.Event()
        self.row_tasks: list[asyncio.Task[None]] = []
        self.folder.keep_reserve()
        self.reporter.write_heartbeat()
        self.folder.done.unlink(missing_ok=True)
        with self.journal, self.spending, self._signals():
            self.reporter.log(f"begun: {self.reporter.missing:,} of {len(self.spec.rows):,} rows to predict")
            async with asyncio.TaskGroup() as group:
                heartbeats = group.create_task(self._write_heartbeats())
                ingest = group.create_task(self._ingest_journal())
                journal = group.create_task(self._journal_rows())
                await self._predict_rows()
                await self.finished.put(None)
                await journal
                self.all_journalled.set()
                await ingest
                ending, cause = self.ending or ("done", "")
                await self.reporter.ingest_ending(ending, cause)
                heartbeats.cancel()
        if self.pool is not None:
            with contextlib.suppress(OSError):  # a full disk, which is told by the ending
                self.reporter.write_heartbeat()  # the last numbers of each server
        self.folder.release_reserve()  # so that the ending can be written on a full disk
        write_ending(self.folder, ending, self.reporter.counts, len(self.spec.rows), cause)
        self.watch.close()
        self.reporter.log(f"ended: {ending}{f' ({cause})' if cause else ''}")

    async def _predict_rows(self) -> None:
        """Predicts every row that is missing. Stops the run if the method raises outside of a row, or lacks what it needs."""
        try:
            await asyncio.to_thread(record_start, self.dependencies.store, self.folder)
            async with self._context() as context:
                self.row_tasks = [asyncio.create_task(rows) for rows in self._row_coroutines(context)]
                if self.ending is not None:  # the run was stopped before there was a task to cancel
                    self._cancel_row_tasks()
                if self.row_tasks:
                    await asyncio.wait(self.row_tasks)
        except DeskError as error:
            self._stop("stopped", str(error))
        for task in self.row_tasks:
            failure = None if task.cancelled() else task.exception()
            if failure is not None:
                self.reporter.log(describe_traceback(failure))
                record_error(f"run {self.folder.run}", failure)
                self._stop("stopped", _cause(failure))
        await self._finish_held_rows()

    def _row_coroutines(self, context: Context) -> list[Coroutine[Any, Any, None]]:
        """Returns what predicts the missing rows: one coroutine of a batch method, as many of a row method as rows in flight."""
        finished = self.journal.progress.finished
        todo = deque(pair for pair in context.pairs if pair.pair_id not in finished)
        method = self.dependencies.method(self.spec.method)
        if isinstance(method, BatchMethod):
            return [self._predict_batch(method, context, {pair.pair_id for pair in todo})] if todo else []
        if not isinstance(method, RowMethod):
            raise InputError(f"method {self.spec.method}: has neither predict_row nor predict_batch, expected one of them")
        return [self._predict_in_turn(method, context, todo) for _ in range(min(self.settings.rows_in_flight, len(todo)))]

    @contextlib.asynccontextmanager
    async def _context(self) -> AsyncIterator[Context]:
        method = self.dependencies.method(self.spec.method)
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client()) if method.needs_model else None
            web = source_client(self.dependencies, self.spec)
            if web is not None:
                await stack.enter_async_context(web)
            yield await asyncio.to_thread(build_context, self.dependencies, self.spec, method, client, web)

    def _client(self) -> Client:
        if self.endpoint is None:
            raise InputError(f"method {self.spec.method}: needs a model server, got none; give its address")
        path = self.dependencies.cache if self.settings.cached else None
        cache = None if path is None else RetryCache(path, self.journal.progress.rejected_keys)
        self.pool = self.reporter.pool = open_pool(self.settings, self.endpoint, self.spec.model, self.reporter.log)
        client = Client(self.endpoint, concurrency=self.settings.concurrency, cache=cache, servers=self.pool)
        client.on_call = self._count_spending
        return client

    def _stop_after_long_outage(self) -> None:
        """Stops the run if none of several servers could be used for too long."""
        longest_s = self.settings.longest_outage_s
        if self.pool is not None and self.pool.waited_s > longest_s:
            self._stop("stopped", f"no server could be used for {longest_s:,.0f} s: {self.pool.describe_problems()}")

    def _count_spending(self, outcome: Outcome) -> None:
        try:
            self.spending.count(outcome)
        except OSError as error:
            self._stop("stopped", str(explain(error, self.folder.spending)))

    async def _predict_in_turn(self, method: RowMethod, context: Context, todo: deque[Pair]) -> None:
        """Predicts one row after the other until `todo`, which several tasks share, is empty or the run ends."""
        while True:
            await self.not_paused.wait()
            if not todo or self.ending is not None:
                return
            budget = self.settings.token_budget
            if budget is not None and self.spending.so_far.tokens >= budget:
                self._stop("budget", f"{self.spending.so_far.tokens:,} tokens are spent, {budget:,} were allowed")
                return
            pair = todo.popleft()
            predict = partial(predict_row, method, pair, log_unforeseen=self.reporter.log_unforeseen, scrub=self.scrub)
            row = await self.watch.follow(pair, context, predict)
            await self._finish(row)

    async def _predict_batch(self, method: BatchMethod, context: Context, missing: set[str]) -> None:
        """Predicts all rows at once, in a thread, and finishes those that are missing, in order."""
        await self.not_paused.wait()
        results = await asyncio.to_thread(method.predict_batch, context.pairs, context)
        if [result.prediction.pair_id for result in results] != [pair.pair_id for pair in context.pairs]:
            raise InputError(f"method {self.spec.method}: gave other rows than it was asked for, expected one for each, in order")
        if any(lacks_prediction(result, method) for result in results):
            raise InputError(f"method {self.spec.method}: gave rows without a prediction, expected one for each")
        if isinstance(method, DerivedMethod) and context.components is not None:
            ids = [pair.pair_id for pair in context.pairs]
            evaluation = await asyncio.to_thread(method.evaluation, ids, context.options, context.components)
            self.folder.write_evaluation(evaluation)  # before any row is finished, so that no finished run lacks it
        for result in results:
            await self.not_paused.wait()
            if result.prediction.pair_id in missing:
                await self.finished.put(result)

    async def _finish(self, row: RowResult | Failed) -> None:
        """Passes a row on to be journalled; stops the run if too many in succession got no answer."""
        for finished in self.breaker.add(row):
            await self.finished.put(finished)
        if self.breaker.is_open:
            self._stop("stopped", f"{self.breaker.n_held} rows in succession without an answer: {self.breaker.last_message}")

    async def _finish_held_rows(self) -> None:
        """Finishes rows without an answer as failures if any row was answered; else stops the run, and they stay missing."""
        if self.ending is not None and self.ending[0] != "budget":
            return
        if self.breaker.n_held and not self.breaker.ever_answered:
            self._stop("stopped", f"nobody answered: {self.breaker.last_message}")
            return
        for row in self.breaker.take_held():
            await self.finished.put(row)

    def _stop(self, ending: Ending, cause: str) -> None:
        """Ends the work: a spent budget after the rows in flight, all else at once. Only the first call sets the cause."""
        if self.ending is None:
            self.ending = (ending, self.scrub(cause))
        self.not_paused.set()
        if ending != "budget":
            self._cancel_row_tasks()

    def _cancel_row_tasks(self) -> None:
        current = asyncio.current_task()
        for task in self.row_tasks:
            if task is not current:
                task.cancel()

    async def _journal_rows(self) -> None:
        """Journals finished rows until a None: in each write, all that were finished during the last one.

        Stops the run if the journal cannot be written.
        """
        journal_works = True
        while True:
            entries = [await self.finished.get()]
            while not self.finished.empty():
                entries.append(self.finished.get_nowait())
            rows = [entry for entry in entries if entry is not None]
            if rows and journal_works:
                try:
                    await asyncio.to_thread(self.journal.append, rows)
                except OSError as error:  # these rows stay missing, and what comes after them is not waited for in vain
                    journal_works = False
                    self._stop("stopped", str(explain(error, self.folder.rows)))
            if len(rows) < len(entries):
                return

    async def _write_heartbeats(self) -> None:
        """Writes heartbeats, and carries out the command in the control file. Stops the run if the disk takes no heartbeat."""
        last_at = 0.0
        while True:
            try:
                self.watch.look()
                self._carry_out_command()
                self._stop_after_long_outage()
                if time.monotonic() - last_at >= self.dependencies.heartbeat_every_s:
                    self.reporter.write_heartbeat()
                    last_at = time.monotonic()
            except OSError as error:
                self._stop("stopped", str(explain(error, self.folder.heartbeat)))
            await asyncio.sleep(_POLL_S)

    def _carry_out_command(self) -> None:
        """Cancels, pauses or continues the run as the control file says."""
        command = self.folder.command()
        if command == "cancel":
            self._stop("cancelled", "a person cancelled it")
        if self.ending is not None:
            return
        state: State = "running" if command == "run" else "pausing" if self.watch.in_flight else "paused"
        (self.not_paused.set if command == "run" else self.not_paused.clear)()
        self.reporter.enter_state(state)

    async def _ingest_journal(self) -> None:
        """Keeps the store up to date until all is journalled; cancels a run that the store does not have any more."""
        try:
            await self.reporter.ingest_until(self.all_journalled, self.dependencies.ingest_every_s)
        except NotFound as error:
            self._stop("cancelled", str(error))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Lets SIGTERM and SIGINT end the work cleanly; only a main thread receives them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        signals = (signal.SIGTERM, signal.SIGINT)
        for number in signals:
            loop.add_signal_handler(number, self._stop, "interrupted", f"received {number.name}")
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


def _cause(error: BaseException) -> str:
    """Returns in one line why the work ended."""
    if isinstance(error, OSError | MemoryError):
        error = explain(error)
    return str(error) if isinstance(error, DeskError) else f"{type(error).__name__}: {error}"
