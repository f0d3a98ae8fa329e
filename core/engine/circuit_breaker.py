"""Tells a server that is gone from rows that fail: holds back rows without an answer until another row is answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.llm import errors
from core.types import Failed, RowResult

_NO_ANSWER = errors.Unanswered.__name__
_AN_ANSWER = frozenset(kind.__name__ for kind in (errors.Refused, errors.Truncated, errors.Malformed, errors.NoLogprobs))


@dataclass(slots=True)
class CircuitBreaker:
    """Holds the rows in succession that got no answer. limit: how many of them stop a run.

    A server that is gone fails every row, which is no fault of the rows: they stay missing, and are asked for again when the
    run is resumed. Once another row is answered, the rows held back are failures after all.
    """

    limit: int
    ever_answered: bool = False
    _held: list[Failed] = field(default_factory=list)

    def add(self, row: RowResult | Failed) -> list[RowResult | Failed]:
        """Takes a row; returns the rows that are finished now, in order: none, or this one behind those held back before."""
        answered = any(call.error == "" and not call.cached for call in row.calls)
        if isinstance(row, Failed) and row.kind == _NO_ANSWER and not answered:
            self._held.append(row)
            return []
        if isinstance(row, RowResult) or answered or row.kind in _AN_ANSWER:
            self.ever_answered = True
            return [*self.take_held(), row]
        return [row]  # it failed before any server was asked

    def take_held(self) -> list[RowResult | Failed]:
        """Returns the rows held back, which are failures now, and holds none any more."""
        held, self._held = self._held, []
        return list(held)

    @property
    def n_held(self) -> int:
        return len(self._held)

    @property
    def is_open(self) -> bool:
        """Whether as many rows in succession as the limit got no answer."""
        return len(self._held) >= self.limit

    @property
    def last_message(self) -> str:
        """The error message of the row held back last; "" without any."""
        return self._held[-1].message if self._held else ""
