"""Is anybody there? Rows to which nobody answered wait here until it is known whether that is their fault."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.llm import errors
from core.types import Failed, RowResult

_NOBODY = errors.Unanswered.__name__
_SOMEBODY = frozenset(kind.__name__ for kind in (errors.Refused, errors.Truncated, errors.Malformed, errors.NoLogprobs))


@dataclass(slots=True)
class CircuitBreaker:
    """Rows in succession that nobody answered. limit: how many are too many. broken: whether anybody ever answered.

    A server that is gone fails every row; those are not failures of the rows, which stay missing and are asked for again
    when the run is resumed. Once another row is answered, the ones that wait here are failures after all.
    """

    limit: int
    broken: bool = False
    _held: list[Failed] = field(default_factory=list)

    def after(self, row: RowResult | Failed) -> list[RowResult | Failed]:
        """The rows that are finished now that this one is."""
        answered = any(call.error == "" and not call.cached for call in row.calls)
        if isinstance(row, Failed) and row.kind == _NOBODY and not answered:
            self._held.append(row)
            return []
        if isinstance(row, RowResult) or answered or row.kind in _SOMEBODY:
            self.broken = True
            return [*self.release(), row]
        return [row]  # it failed before anybody was asked

    def release(self) -> list[RowResult | Failed]:
        """The rows that wait, as failures."""
        held, self._held = self._held, []
        return list(held)

    @property
    def count(self) -> int:
        return len(self._held)

    @property
    def too_long(self) -> bool:
        return len(self._held) >= self.limit

    @property
    def last(self) -> str:
        """What the last of them says."""
        return self._held[-1].message if self._held else ""
