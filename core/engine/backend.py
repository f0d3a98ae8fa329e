"""Where rows are predicted: in the worker's process (`LocalBackend`) or on the nodes of a Ray cluster (`RayBackend`).

A worker chooses the next row and journals the result; it is independent of the backend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

from core.engine.row_prediction import LogError, predict_row
from core.methods.base import Context, RowMethod
from core.methods.row_feed import RowFeed
from core.types import Failed, Pair, RowResult


@dataclass(frozen=True, slots=True)
class Reports:
    """What a backend tells its worker and asks of it.

    say: called with a line on each event. log_unforeseen, scrub: as in `predict_row`. tokens_left: returns how many tokens
    may still be spent, None for any number.
    """

    say: Callable[[str], object]
    log_unforeseen: LogError
    scrub: Callable[[str], str]
    tokens_left: Callable[[], int | None]


class Backend(Protocol):
    """Predicts rows, several at a time, while its block lasts."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None) -> None: ...

    async def predict(self, pair: Pair, feed: RowFeed) -> RowResult | Failed | None:
        """Return the result of a row or its failure, None for a row that has to be predicted again.

        feed: receives the events of the row if it is predicted in this process. Raise DeskError if no more rows can be
        predicted.
        """
        ...

    @property
    def rows_at_once(self) -> int:
        """How many rows to ask for at a time."""
        ...


class LocalBackend:
    """Predicts rows in this process."""

    def __init__(self, method: RowMethod, context: Context, rows_at_once: int, reports: Reports) -> None:
        self._method, self._context, self._reports = method, context, reports
        self.rows_at_once = rows_at_once

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        pass

    async def predict(self, pair: Pair, feed: RowFeed) -> RowResult | Failed:
        """Return the result of a row or its failure."""
        context = replace(self._context, feed=feed)
        return await predict_row(self._method, pair, context, self._reports.log_unforeseen, self._reports.scrub)
