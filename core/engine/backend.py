"""Where rows are predicted: in the worker's process (`LocalBackend`) or on the nodes of a Ray cluster (`RayBackend`).

A worker chooses the next row and journals the result; it is independent of the backend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

from core.engine.row_prediction import LogError, predict_row
from core.engine.run_state import NodeStatus
from core.methods.base import Context, RowMethod
from core.methods.row_feed import RowFeed
from core.types import Failed, Pair, RowResult


@dataclass(frozen=True, slots=True)
class Reports:
    """The receivers of a backend's reports. say: called with a line on each event. log_unforeseen, scrub: as in `predict_row`."""

    say: Callable[[str], object]
    log_unforeseen: LogError
    scrub: Callable[[str], str]


class Backend(Protocol):
    """Predicts rows, several at a time, while its block lasts."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None) -> None: ...

    async def predict(self, pair: Pair, feed: RowFeed) -> RowResult | Failed:
        """Return the result of a row or its failure. Raise DeskError if no more rows can be predicted.

        feed: receives the events of the row if it is predicted in this process.
        """
        ...

    @property
    def nodes(self) -> tuple[NodeStatus, ...]:
        """The status of each node; empty if there is only this process."""
        ...

    @property
    def notice(self) -> str:
        """The reason why rows wait; "" if they do not."""
        ...

    @property
    def waited_s(self) -> float:
        """The time that rows have waited for a node, in seconds; 0 if none waits."""
        ...


class LocalBackend:
    """Predicts rows in this process."""

    nodes: tuple[NodeStatus, ...] = ()
    notice = ""
    waited_s = 0.0

    def __init__(self, method: RowMethod, context: Context, reports: Reports) -> None:
        self._method, self._context, self._reports = method, context, reports

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        pass

    async def predict(self, pair: Pair, feed: RowFeed) -> RowResult | Failed:
        """Return the result of a row or its failure."""
        context = replace(self._context, feed=feed)
        return await predict_row(self._method, pair, context, self._reports.log_unforeseen, self._reports.scrub)
