"""The worker of a run: predicts the rows that its journal lacks; a run whose worker dies can be
resumed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from core.base.errors import DeskError, InputError, NotFound
from core.base.log import LOGGER, record_error
from core.base.system_errors import explain
from core.base.types import Failed, FinishedRow, Pair
from core.llm.call_budget import CallBudget, TokensSpent
from core.llm.client import Client
from core.llm.messages import Outcome
from core.llm.server_pool import ServerPool
from core.methods.base import BatchMethod, Context, DerivedMethod, RowMethod
from core.methods.row_feed import RowFeed
from core.runs.dependencies import Dependencies, RetryCache, build_context, source_client
from core.runs.ingest import RunReporter, record_start
from core.runs.jobs.state import exclusive_lock
from core.runs.jobs.work import describe_cause
from core.runs.journal import Journal, SpendingLog
from core.runs.ray_cluster import check_ray
from core.runs.row_prediction import (
    CircuitBreaker,
    describe_traceback,
    lacks_prediction,
    predict_row,
)
from core.runs.row_watch import RowWatch
from core.runs.run_folder import RunFolder
from core.runs.run_state import Ending, State, Status, status_of, stop_on_signals, write_ending

# in the workspace's log
_LEVELS = {"stopped": logging.ERROR, "interrupted": logging.WARNING, "crashed": logging.ERROR}
# The result of a row or its failure, None for a row that has to be predicted again. The feed takes
# the events of a row that is predicted in this process.
_Predict = Callable[[Pair, RowFeed], Awaitable[FinishedRow | None]]
_MOST_SHOWN = 300  # characters of a failure
_POLL_S = 0.1  # between two reads of the control file
_MOST_AT_ONCE = 512  # finished rows that wait to be journalled


def work(folder: RunFolder, dependencies: Dependencies) -> Status:
    """Predict the rows that are missing, until all are finished or something ends the work; return
    the run's status then.

    SIGTERM and Ctrl-C end it cleanly if this is the main thread. Raise StateError if another worker
    has the run.
    """
    with exclusive_lock(folder, "run"):
        LOGGER.info("run %s: a worker starts", folder.run)
        # What is there now stays: to look for garbage in it took a tenth of the time of a call.
        gc.freeze()
        try:
            asyncio.run(_Worker(folder, dependencies).run())
        finally:
            gc.unfreeze()
        status = status_of(folder)
        LOGGER.log(
            _LEVELS.get(status.state, logging.INFO),
            "run %s: %s",
            folder.run,
            f"{status.state} {status.cause}".strip(),
        )
        return status


class _Worker:
    """One run's worker.

    Row tasks put finished rows into a queue; one task journals it, one ingests the journal, and one
    writes heartbeats and reads the control file.
    """

    def __init__(self, folder: RunFolder, dependencies: Dependencies) -> None:
        self.folder, self.dependencies = folder, dependencies
        self.spec, self.settings = folder.spec(), folder.execution_settings()
        self.scrub: Callable[[str], str] = dependencies.access.scrub
        self.journal = Journal(folder, self.scrub)
        self.spending = SpendingLog(folder.spending, self.journal.progress.spent)
        self.reporter = RunReporter(
            folder, dependencies.store, self.journal.progress, len(self.spec.rows), self.scrub
        )
        self.ending: tuple[Ending, str] | None = None
        self.breaker = CircuitBreaker(
            self.settings.unanswered_limit, is_fresh=not self.journal.progress.finished
        )
        self.last_failure: Failed | None = None
        self.client: Client | None = None
        self.pool: ServerPool | None = None  # of several model servers
        self.watch = RowWatch(folder, self.scrub)

    async def run(self) -> None:
        """Work until the end, and record how it ended."""
        self.not_paused = asyncio.Event()
        self.not_paused.set()
        self.finished: asyncio.Queue[FinishedRow | None] = asyncio.Queue(_MOST_AT_ONCE)
        self.all_journalled = asyncio.Event()
        self.row_tasks: list[asyncio.Task[None]] = []
        self.folder.keep_reserve()
        self.reporter.write_heartbeat()
        self.folder.done.unlink(missing_ok=True)
        with self.journal, self.spending, stop_on_signals(self._stop):
            self.reporter.log(
                f"begun: {self.reporter.missing:,} of {len(self.spec.rows):,} rows to predict"
            )
            async with asyncio.TaskGroup() as group:
                heartbeats = group.create_task(self._write_heartbeats())
                ingest = group.create_task(self._ingest_journal())
                journal = group.create_task(self._journal_rows())
                await self._predict_rows()
                await self.finished.put(None)
                await journal
                self.all_journalled.set()
                await ingest
                ending, cause = self.ending or ("done", self.scrub(self._describe_end()))
                cause = self._describe_spent() if ending == "budget" else cause
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
        """Predict every missing row. Stop the run if the method raises outside a row, or lacks a
        dependency."""
        try:
            await asyncio.to_thread(record_start, self.dependencies.store, self.folder)
            async with self._context() as context, contextlib.AsyncExitStack() as stack:
                self.row_tasks = [
                    asyncio.create_task(rows) for rows in await self._row_coroutines(context, stack)
                ]
                if self.ending is not None:  # the run was stopped before there was a task to cancel
                    self._cancel_row_tasks()
                if self.row_tasks:
                    await asyncio.wait(self.row_tasks)
        except DeskError as error:
            self._stop("stopped", str(error))
        failures = [
            failure
            for task in self.row_tasks
            if not task.cancelled() and (failure := task.exception())
        ]
        # of a backend that can predict no more, the same for all rows
        for failure in dict.fromkeys(failures):
            self.reporter.log(describe_traceback(failure))
            record_error(f"run {self.folder.run}", failure)
            self._stop("stopped", describe_cause(failure))
        await self._finish_held_rows()

    async def _row_coroutines(
        self, context: Context, stack: contextlib.AsyncExitStack
    ) -> list[Coroutine[Any, Any, None]]:
        """Return the coroutines that predict the missing rows: one coroutine of a batch method, as
        many of a row method as rows in flight, with a backend that ends with the stack.
        """
        finished = self.journal.progress.finished
        todo = deque(pair for pair in context.pairs if pair.pair_id not in finished)
        method = self.dependencies.method(self.spec.method)
        if isinstance(method, BatchMethod):
            return (
                [self._predict_batch(method, context, {pair.pair_id for pair in todo})]
                if todo
                else []
            )
        if not isinstance(method, RowMethod):
            raise InputError(
                f"method {self.spec.method}: has neither predict_row nor predict_batch, expected"
                " one of them"
            )
        if not todo:
            return []
        predict: _Predict = partial(self._predict_here, method, context)
        rows_at_once = self.settings.rows_in_flight
        if self.settings.backend == "ray":
            from core.runs.ray_backend import RayBackend, Reports

            reports = Reports(
                self.reporter.log, self.reporter.log_unforeseen, self.scrub, self._tokens_left
            )
            backend = await stack.enter_async_context(
                RayBackend(method, context, self.settings, reports)
            )
            predict, rows_at_once = backend.predict, backend.rows_at_once
        return [self._predict_in_turn(predict, todo) for _ in range(min(rows_at_once, len(todo)))]

    async def _predict_here(
        self, method: RowMethod, context: Context, pair: Pair, feed: RowFeed
    ) -> FinishedRow:
        context = replace(context, feed=feed)
        return await predict_row(method, pair, context, self.reporter.log_unforeseen, self.scrub)

    @contextlib.asynccontextmanager
    async def _context(self) -> AsyncIterator[Context]:
        method = self.dependencies.method(self.spec.method)
        if self.settings.backend == "ray":
            self.dependencies.access.refuse_cluster(self.settings.ray_address)
            await asyncio.to_thread(check_ray, self.settings, method, self.spec.options)
        if method.needs_model:
            # for the first connection, which takes a second or more
            await asyncio.to_thread(importlib.import_module, "httpx2")
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client()) if method.needs_model else None
            web = source_client(self.dependencies, self.spec)
            if web is not None:
                await stack.enter_async_context(web)
            yield await asyncio.to_thread(
                build_context, self.dependencies, self.spec, method, client, web
            )

    def _client(self) -> Client:
        if not self.settings.servers:
            raise InputError(
                f"method {self.spec.method}: needs a model server, got none; give its address"
            )
        endpoint = self.settings.endpoint(self.dependencies.access)
        path = self.dependencies.cache if self.settings.cached else None
        cache = None if path is None else RetryCache(path, self.journal.progress.rejected_keys)
        if self.settings.has_several:
            log, at_once = self.reporter.log, self.settings.concurrency
            self.pool = ServerPool(self.settings.servers, endpoint, self.spec.model, at_once, log)
            self.reporter.pool = self.pool
        client = Client(
            endpoint, concurrency=self.settings.concurrency, cache=cache, servers=self.pool
        )
        client.on_call = self._count_spending
        if self.settings.token_budget is not None:
            client.budget = CallBudget(self._tokens_left)
        self.client = client
        return client

    def _count_spending(self, outcome: Outcome) -> None:
        try:
            self.spending.count(outcome)
        except OSError as error:
            self._stop("stopped", str(explain(error, self.folder.spending)))

    async def _predict_in_turn(self, predict: _Predict, todo: deque[Pair]) -> None:
        """Predict one row after the other until `todo`, which several tasks share, is empty or the
        run ends."""
        while True:
            await self.not_paused.wait()
            if not todo or self.ending is not None:
                return
            left = self._tokens_left()
            if left is not None and left <= 0:
                self._stop("budget")
                return
            pair = todo.popleft()
            try:
                row = await self.watch.follow(pair, partial(predict, pair))
            except TokensSpent:  # what the row was told is in the cache of answers
                self._stop("budget")
                return
            if row is None:
                todo.appendleft(pair)
            else:
                await self._finish(row)

    def _tokens_left(self) -> int | None:
        """Return how many tokens may still be spent, None for any number."""
        budget = self.settings.token_budget
        return (
            None
            if budget is None
            else budget - self.spending.so_far.tokens - self.spending.estimated
        )

    def _describe_spent(self) -> str:
        n = self.spending.estimated
        estimated = f" ({n:,} of them estimated: the server counts none)" if n else ""
        spent = f"{self.spending.so_far.tokens + n:,} tokens{estimated} are spent"
        return f"{spent}, {self.settings.token_budget:,} were allowed"

    def _describe_end(self) -> str:
        """Return the remarks on a run whose rows are all finished: why all of them failed, or that
        another model answered; "" for none.
        """
        notes = []
        method = self.dependencies.method(self.spec.method)
        if method.version != self.spec.version:
            notes.append(
                f"begun by version {self.spec.version} of {method.name}, ended by version"
                f" {method.version}"
            )
        if (failed := self.last_failure) and not self.reporter.counts.done:
            notes.append(
                f"every row failed, the last with {failed.kind} ({failed.message[:_MOST_SHOWN]})"
            )
        if self.client is not None:
            notes += [
                f"{count:,} answers are by {model}, not {self.spec.model}"
                for model, count in self.client.other_models.items()
            ]
        return "; ".join(notes)

    async def _predict_batch(
        self, method: BatchMethod, context: Context, missing: set[str]
    ) -> None:
        """Predicts all rows at once, in a thread, and finishes those that are missing, in order."""
        await self.not_paused.wait()
        results = await asyncio.to_thread(method.predict_batch, context.pairs, context)
        if [result.pair_id for result in results] != [pair.pair_id for pair in context.pairs]:
            raise InputError(
                f"method {self.spec.method}: gave other rows than it was asked for, expected one"
                " for each, in order"
            )
        if any(lacks_prediction(result, method) for result in results):
            raise InputError(
                f"method {self.spec.method}: gave rows without a prediction, expected one for each"
            )
        if isinstance(method, DerivedMethod) and context.components is not None:
            ids = [pair.pair_id for pair in context.pairs]
            evaluation = await asyncio.to_thread(
                method.evaluation, ids, context.options, context.components
            )
            # before any row is finished, so that no finished run lacks it
            self.folder.write_evaluation(evaluation)
        for result in results:
            await self.not_paused.wait()
            if result.pair_id in missing:
                await self.finished.put(result)

    async def _finish(self, row: FinishedRow) -> None:
        """Pass a row on to be journalled; stops the run if too many in succession got no answer."""
        self.last_failure = row if isinstance(row, Failed) else self.last_failure
        for finished in self.breaker.add(row):
            await self.finished.put(finished)
        if self.breaker.is_open:
            self._stop("stopped", self.breaker.describe())

    async def _finish_held_rows(self) -> None:
        """Finishes rows without an answer as failures if any row was answered; else stops the run,
        and they stay missing."""
        if self.ending is not None and self.ending[0] != "budget":
            return
        if self.breaker.n_held and not self.breaker.ever_answered:
            what = (
                "nobody answered" if self.breaker.holds_unanswered else "every row is refused alike"
            )
            self._stop("stopped", f"{what}: {self.breaker.last_message}")
            return
        for row in self.breaker.take_held():
            await self.finished.put(row)

    def _stop(self, ending: Ending, cause: str = "") -> None:
        """End the work: a spent budget after the calls in flight, all else at once. Only the first
        call sets the cause, which a spent budget has at the end."""
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
        """Journal finished rows until a None. Each write contains all rows finished during the
        previous write.

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
                # these rows stay missing, and what comes after them is not waited for in vain
                except OSError as error:
                    journal_works = False
                    self._stop("stopped", str(explain(error, self.folder.rows)))
            if len(rows) < len(entries):
                return

    async def _write_heartbeats(self) -> None:
        """Write heartbeats, and carries out the command in the control file. Stops the run if the
        disk takes no heartbeat."""
        last_at = 0.0
        while True:
            try:
                self.watch.look()
                self._carry_out_command()
                # None of several servers could be used for too long.
                longest_s = self.settings.longest_outage_s
                if self.pool is not None and self.pool.waited_s > longest_s:
                    self._stop(
                        "stopped",
                        f"no server could be used for {longest_s:,.0f} s: {self.pool.notice}",
                    )
                if time.monotonic() - last_at >= self.dependencies.heartbeat_every_s:
                    self.reporter.write_heartbeat()
                    last_at = time.monotonic()
            except OSError as error:
                self._stop("stopped", str(explain(error, self.folder.heartbeat)))
            await asyncio.sleep(_POLL_S)

    def _carry_out_command(self) -> None:
        """Cancel, pause or continue the run, as requested in the control file."""
        command = self.folder.command()
        if command == "cancel":
            self._stop("cancelled", "a person cancelled it")
        if self.ending is not None:
            return
        state: State = (
            "running" if command == "run" else "pausing" if self.watch.in_flight else "paused"
        )
        (self.not_paused.set if command == "run" else self.not_paused.clear)()
        self.reporter.enter_state(state)

    async def _ingest_journal(self) -> None:
        """Ingest until all rows are journalled; cancel a run that the store has lost."""
        try:
            await self.reporter.ingest_until(self.all_journalled, self.dependencies.ingest_every_s)
        except NotFound as error:
            self._stop("cancelled", str(error))
