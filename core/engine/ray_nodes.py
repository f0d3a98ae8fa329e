"""The nodes of a Ray cluster that a run uses, and the processes on them that predict its rows."""

from __future__ import annotations

import asyncio
import pickle
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from core.engine.ray_actor import PredictRow, ToActor
from core.engine.ray_cluster import ClusterNode
from core.engine.run_state import NodeState, NodeStatus
from core.llm.shared_calls import ConnectedProcess
from core.types import Failed, Pair, RowResult

REST_S, LONGEST_REST_S = 1.0, 30.0  # pause before restarting dead processes
_SAMPLES = 30  # for the rate


@dataclass(slots=True, eq=False)
class AwaitedRow:
    """A row that is to be predicted. losses: how many processes died while they had it."""

    pair: Pair
    finished: asyncio.Future[RowResult | Failed]
    losses: int = 0


@dataclass(slots=True, eq=False)
class RowProcess:
    """A process of a node. handle: of its `RowActor`. begun_at: in monotonic seconds. rows: its present rows, by id.

    calls: answers its requests.
    """

    handle: Any
    begun_at: float
    calls: ConnectedProcess | None = None
    is_ready: bool = False
    rows: dict[str, AwaitedRow] = field(default_factory=dict)
    follower: asyncio.Task[None] | None = None
    _outbox: list[ToActor] = field(default_factory=list)

    def give(self, row: AwaitedRow) -> None:
        """Send a row to be predicted."""
        self.rows[row.pair.pair_id] = row
        self.tell(PredictRow(row.pair))

    def tell(self, message: ToActor) -> None:
        """Send a message, in one list with all others of this turn of the event loop."""
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._send)
        self._outbox.append(message)

    def _send(self) -> None:
        messages, self._outbox = self._outbox, []
        self.handle.deliver.remote(pickle.dumps(messages))  # if it has died, `collect` says so

    def take_back(self) -> list[AwaitedRow]:
        """Return its unfinished rows, in order, and stop sending it calls."""
        if self.calls is not None:
            self.calls.close()
        rows, self.rows = self.rows, {}
        return [row for row in rows.values() if not row.finished.done()]


@dataclass(slots=True, eq=False)
class RunNode:
    """A node and its state. losses: processes that died since the last row came back.

    until: when its pause ends, in monotonic seconds. own_state: refused, resting, gone, or the final state; None if its processes
    determine it.
    """

    node: ClusterNode
    processes: list[RowProcess] = field(default_factory=list)
    own_state: NodeState | None = None
    problem: str = ""
    done: int = 0
    given_back: int = 0
    losses: int = 0
    until: float = 0.0
    _samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_SAMPLES))

    @property
    def state(self) -> NodeState:
        if any(process.is_ready for process in self.processes):
            return "ready"
        return self.own_state or "starting"

    def rest(self, now: float, state: NodeState, problem: str) -> None:
        """Start no process for a while, longer after each loss in succession."""
        self.own_state, self.problem = state, problem
        self.until = now + (LONGEST_REST_S if state == "refused" else min(LONGEST_REST_S, REST_S * 2 ** min(self.losses, 30)))
        self.losses += 1

    def is_due(self, now: float) -> bool:
        """Return whether processes may be started on this node now."""
        return self.own_state != "gone" and now >= self.until

    def count_row(self) -> None:
        """Count a row that came back."""
        self.done += 1
        self.losses = 0

    def sample(self, now: float) -> None:
        """Notes how many rows there are, for the rate."""
        self._samples.append((now, self.done))

    @property
    def status(self) -> NodeStatus:
        """The current status of the node."""
        first, last = (self._samples[0], self._samples[-1]) if self._samples else ((0.0, 0), (0.0, 0))
        rate = (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else 0.0
        in_flight = sum(len(process.rows) for process in self.processes)
        n_ready = sum(process.is_ready for process in self.processes)
        problem = "" if self.state == "ready" else self.problem
        return NodeStatus(self.node.address, self.state, n_ready, in_flight, self.done, self.given_back, rate, problem)
