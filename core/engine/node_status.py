"""How a node of a cluster is doing in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NodeState = Literal["starting", "ready", "resting", "refused", "gone"]


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """How one node of a cluster is doing in a run.

    state: starting (its processes are), ready, resting (after its processes died, until they are started again), refused (it
    cannot predict these rows), gone. processes: that predict there. in_flight: rows that it has now. done: rows that came back;
    given_back: rows that did not, since their process died, and were predicted again. rows_per_s: of late. problem: why it is
    not ready, "" if it is.
    """

    address: str
    state: NodeState
    processes: int = 0
    in_flight: int = 0
    done: int = 0
    given_back: int = 0
    rows_per_s: float = 0.0
    problem: str = ""
