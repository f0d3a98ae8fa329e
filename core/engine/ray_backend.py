"""Predicts rows on the nodes of a Ray cluster.

The worker is Ray's driver: rows go out in small lists and results come back, which the worker journals, so that only messages are
shared. Each node gets one process for every 16 rows in flight, up to one for each of its CPUs, and each row goes to the process
that has the fewest. Rows of a process that dies go to others. Its messages are read by one task, which ends with it, so a row
comes back once. Nodes that join get processes within about a second; dead processes are restarted after a pause.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Self

from core.engine.backend import Reports
from core.engine.ray_actor import CallSettings, FinishedRow, SharedWork, UnforeseenError, read_messages
from core.engine.ray_cluster import Cluster, ClusterNode
from core.engine.ray_nodes import AwaitedRow, RowProcess, RunNode
from core.engine.run_state import NodeState, NodeStatus
from core.engine.spec import ExecutionSettings
from core.errors import StateError
from core.llm.shared_calls import SharedCalls
from core.methods.base import Context, RowMethod
from core.methods.row_feed import RowFeed
from core.types import Failed, Pair, RowResult
from core.version import describe as describe_version

ROWS_A_PROCESS = 16
MOST_LOSSES = 5  # of processes that had a row: it may be what kills them
WATCH_S = 1.0  # between two looks at the nodes
_BEGINNING_S = 20.0  # in which waiting for the first node is not worth a notice


class RayBackend:
    """The processes of a cluster that predict the rows of one run.

    context: as for this process; its client's cache, places and servers are shared by all processes.
    """

    def __init__(self, method: RowMethod, context: Context, settings: ExecutionSettings, reports: Reports) -> None:
        client = context.client
        self._work = SharedWork(method, replace(context, client=None, components=None, notes={}))
        self._settings, self._reports = settings, reports
        self._calls = None if client is None else SharedCalls(client)
        self._call_settings = client and CallSettings(
            replace(client.endpoint, access=client.endpoint.access.limit_to(settings.servers)),
            settings.concurrency,
            client.cache is not None,
        )
        self._nodes: dict[str, RunNode] = {}
        self._queue: deque[AwaitedRow] = deque()
        self._watcher: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._was_ready = False
        self._waiting_since: float | None = None

    async def __aenter__(self) -> Self:
        self._cluster = await asyncio.to_thread(Cluster, self._settings.ray_address)
        try:
            self._shared = await asyncio.to_thread(self._cluster.share, self._work)
        except BaseException:
            await asyncio.to_thread(self._cluster.close)
            raise
        self._watcher = asyncio.create_task(self._watch())
        self._watcher.add_done_callback(self._end_task)
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        followers = [process.follower for _, process in self._processes() if process.follower]
        tasks = [*followers, *([self._watcher] if self._watcher else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for node in self._nodes.values():
            node.own_state = node.state  # the last word on it
            for process in list(node.processes):
                self._end(node, process)
            self._reports.say(f"node {node.node.address}: {node.done:,} rows, {node.given_back:,} given back")
        await asyncio.to_thread(self._cluster.close)

    @property
    def nodes(self) -> tuple[NodeStatus, ...]:
        """The current or last status of each node."""
        return tuple(node.status for node in self._nodes.values())

    @property
    def waited_s(self) -> float:
        """The time that rows have waited for a node, in seconds; 0 if none waits."""
        return 0.0 if self._waiting_since is None else time.monotonic() - self._waiting_since

    @property
    def notice(self) -> str:
        """The reason why rows wait; "" if they do not, or only briefly."""
        if self.waited_s < (0.0 if self._was_ready else _BEGINNING_S) or self._waiting_since is None:
            return ""
        problems = "; ".join(f"{node.node.address}: {node.problem or node.state}" for node in self._nodes.values())
        return f"waiting for a node of the Ray cluster, none of {len(self._nodes)} can be used: {problems or 'it has none'}"

    async def predict(self, pair: Pair, _feed: RowFeed) -> RowResult | Failed:
        """Return the result of a row or its failure, from any node. Raise the error that ended the work on the cluster.

        Watchers see only the start and the end of the row, since its events are not sent.
        """
        if self._failure is not None:
            raise self._failure
        row = AwaitedRow(pair, asyncio.get_running_loop().create_future())
        self._queue.append(row)
        self._hand_out()
        return await row.finished

    def _hand_out(self) -> None:
        """Give waiting rows to the processes with the fewest rows, as long as one has room."""
        recent = time.monotonic() - _BEGINNING_S  # one that has not begun by then waits for a CPU that others use
        processes = [process for _, process in self._processes() if process.is_ready or process.begun_at > recent]
        room = math.ceil(self._settings.rows_in_flight / max(1, len(processes)))
        free = [process for process in processes if process.is_ready and len(process.rows) < room]
        while self._queue and free:
            row = self._queue.popleft()
            if not row.finished.done():  # its run may have been cancelled
                process = min(free, key=lambda process: len(process.rows))
                process.give(row)
                free = free if len(process.rows) < room else [other for other in free if other is not process]
        if not self._queue or any(process.is_ready for process in processes):
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = time.monotonic()

    def _processes(self) -> Iterator[tuple[RunNode, RowProcess]]:
        for node in self._nodes.values():
            for process in node.processes:
                yield node, process

    async def _watch(self) -> None:
        """Use nodes that have joined, stop using lost ones, and restart processes after their pause."""
        while True:
            alive = await asyncio.to_thread(self._cluster.nodes)
            now = time.monotonic()
            self._compare_nodes(alive)
            for node in self._nodes.values():
                node.sample(now)
                if len(node.processes) < self._count_processes(node) and node.is_due(now):
                    self._start_processes(node)
            self._stop_if_refused()
            self._hand_out()
            await asyncio.sleep(WATCH_S)

    def _compare_nodes(self, alive: Iterable[ClusterNode]) -> None:
        """Add nodes that have joined, and stop using lost ones."""
        found = {node.id: node for node in alive}
        for key, cluster_node in found.items():
            if key not in self._nodes:
                self._nodes[key] = RunNode(cluster_node)
                self._reports.say(f"node {cluster_node.address}: joins, {cluster_node.cpus} CPUs")
        for key, node in self._nodes.items():
            if key not in found and node.own_state != "gone":
                if not node.processes:
                    self._reports.say(f"node {node.node.address}: gone")
                for process in list(node.processes):
                    self._give_up(node, process, "gone", "it has left the cluster")
                node.own_state, node.problem = "gone", "it has left the cluster"

    def _count_processes(self, node: RunNode) -> int:
        """Return the wanted number of processes on a node."""
        return max(1, min(node.node.cpus, math.ceil(self._settings.rows_in_flight / ROWS_A_PROCESS)))

    def _start_processes(self, node: RunNode) -> None:
        node.own_state = None
        for _ in range(self._count_processes(node) - len(node.processes)):
            handle = self._cluster.start_actor(node.node, self._shared)
            process = RowProcess(handle, time.monotonic())
            if self._calls is not None:
                process.calls = self._calls.connect(process.tell)
            node.processes.append(process)
            process.follower = asyncio.create_task(self._follow(node, process))
            process.follower.add_done_callback(self._end_task)

    async def _follow(self, node: RunNode, process: RowProcess) -> None:
        """Read all messages of a process, until it dies."""
        try:
            version = await process.handle.begin.remote(self._call_settings)
            if version != describe_version():
                problem = f"has PerturbDesk {version}, expected {describe_version()} as the worker"
                self._give_up(node, process, "refused", problem)
                return
            process.is_ready = self._was_ready = True
            self._reports.say(f"node {node.node.address}: a process is ready")
            self._hand_out()
            while True:
                messages = read_messages(await process.handle.collect.remote())
                if process not in node.processes:  # given up meanwhile, and its rows are with others
                    return
                for message in messages:
                    self._take(node, process, message)
        except self._cluster.ray.exceptions.RayError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            if process.is_ready:
                self._give_up(node, process, "resting", f"a process died ({lines[0]})")
            else:
                self._give_up(node, process, "refused", f"no process could be started ({lines[-1]})")

    def _take(self, node: RunNode, process: RowProcess, message: object) -> None:
        match message:
            case FinishedRow(pair_id, data):
                row = process.rows.pop(pair_id)
                node.count_row()
                if not row.finished.done():
                    row.finished.set_result(pickle.loads(data))
            case UnforeseenError(pair_id, kind, text, traceback):
                error = type(kind, (Exception,), {})(text)
                error.add_note(traceback)
                self._reports.log_unforeseen(pair_id, error)
            case _ if process.calls is not None:
                process.calls.take(message)  # type: ignore[arg-type]

    def _give_up(self, node: RunNode, process: RowProcess, state: NodeState, problem: str) -> None:
        """Give the rows of a process to others, and lets its node rest."""
        if process not in node.processes:
            return
        rows = self._end(node, process)
        node.given_back += len(rows)
        node.rest(time.monotonic(), state, problem)
        self._reports.say(f"node {node.node.address}: {state}: {problem}; {len(rows):,} rows are predicted again")
        for row in reversed(rows):
            row.losses += 1
            if row.losses < MOST_LOSSES:
                self._queue.appendleft(row)
            else:
                message = f"{row.losses} processes died while they predicted it, the last: {problem}"
                row.finished.set_result(Failed(row.pair.pair_id, "ProcessDied", message))
        self._hand_out()

    def _end(self, node: RunNode, process: RowProcess) -> list[AwaitedRow]:
        """End a process; return the rows that it had."""
        node.processes.remove(process)
        process.is_ready = False
        self._cluster.ray.kill(process.handle)
        return process.take_back()

    def _stop_if_refused(self) -> None:
        """End the work if no node can predict, none ever could, and no process is starting that might."""
        states = [node.state for node in self._nodes.values()]
        is_starting = any(node.processes for node in self._nodes.values())
        if not (self._was_ready or is_starting) and states and all(state == "refused" for state in states):
            problems = "; ".join(f"{node.node.address}: {node.problem}" for node in self._nodes.values())
            self._fail(StateError(f"ray: no node can predict rows: {problems}"))

    def _end_task(self, task: asyncio.Task[None]) -> None:
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self._fail(failure)

    def _fail(self, failure: BaseException) -> None:
        """End the wait for every row."""
        self._failure = failure
        rows = [*self._queue, *(row for _, process in self._processes() for row in process.rows.values())]
        self._queue.clear()
        for row in rows:
            if not row.finished.done():
                row.finished.set_exception(failure)
