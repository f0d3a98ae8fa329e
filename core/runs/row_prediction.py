"""Predicts one row, whose error becomes the row's failure, and distinguishes a lost server from
failing rows."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from core.base.errors import DeskError, InputError
from core.base.types import READING_METHODS, Failed, FinishedRow, Pair, RowResult
from core.llm import errors
from core.llm.call_budget import TokensSpent
from core.methods.base import Context, Method, RowFailed, RowMethod

FIRST_ROWS = 3  # of a run, that are refused alike and so stop it
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
LogError = Callable[[str, BaseException], object]
_NO_ANSWER = errors.Unanswered.__name__
_REFUSED = frozenset({errors.Refused.__name__, errors.NoLogprobs.__name__})
_AN_ANSWER = frozenset(
    kind.__name__
    for kind in (
        errors.Refused,
        errors.Declined,
        errors.Truncated,
        errors.Malformed,
        errors.NoLogprobs,
    )
)


async def predict_row(
    method: RowMethod,
    pair: Pair,
    context: Context,
    log_unforeseen: LogError,
    scrub: Callable[[str], str],
) -> FinishedRow:
    """Return the result of a row, or its failure: no error of one row ends the run. Raise
    TokensSpent if no tokens are left to finish it.

    log_unforeseen: gets the row's id and an error that no room expects. scrub: takes secrets out of
    a message.
    """
    task = asyncio.ensure_future(method.predict_row(pair, context))
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
    if task.cancelled():
        budget = context.client.budget if context.client is not None else None
        if budget is not None and budget.is_spent:
            raise TokensSpent
        return Failed(pair.pair_id, "Cancelled", f"{method.name} gave up this row without a cause")
    error = task.exception()
    if error is None:
        result = task.result()
        if result.pair_id != pair.pair_id:
            message = f"the method answered for row {result.pair_id!r}, expected {pair.pair_id!r}"
        elif lacks_prediction(result, method):
            message = (
                f"{method.name} gave no prediction, expected one: only {', '.join(READING_METHODS)}"
                " give none"
            )
        else:
            return result
        return Failed(pair.pair_id, InputError.__name__, message, result.calls)
    calls = error.calls if isinstance(error, RowFailed) else ()
    cause = error.cause if isinstance(error, RowFailed) else error
    if not isinstance(cause, DeskError):
        log_unforeseen(pair.pair_id, cause)
    return Failed(pair.pair_id, type(cause).__name__, scrub(str(cause)), calls)


def describe_traceback(error: BaseException) -> str:
    """Return an error with its traceback, as Python prints it."""
    return "".join(traceback.format_exception(error)).rstrip()


def lacks_prediction(result: RowResult, method: Method) -> bool:
    """Return whether a row lacks a prediction that its method should make (reading methods make
    none)."""
    return result.prediction.p_source == "none" and method.name not in READING_METHODS


def without_numbers(row: Failed) -> str:
    """Return a failure's kind and message with # instead of numbers, and without the row's id."""
    return _NUMBERS.sub("#", f"{row.kind}: {row.message.replace(row.pair_id, '')}")


@dataclass(slots=True)
class CircuitBreaker:
    """Hold back consecutive rows without an answer, and the first rows of a run if all are refused
    in the same way.

    limit: the number of rows without an answer that stops a run. is_fresh: whether the run has no
    finished rows yet. A lost server, or one that refuses a parameter, fails every row, so these
    rows stay missing and are asked again when the run is resumed. Once another row is answered, the
    rows held back become failures.
    """

    limit: int
    is_fresh: bool = True
    ever_answered: bool = False
    _held: list[Failed] = field(default_factory=list)

    def add(self, row: FinishedRow) -> list[FinishedRow]:
        """Take a row; return the rows that are finished now, in order: none, or this one behind
        those held back before."""
        answered = any(call.error == "" and not call.cached for call in row.calls)
        if (
            isinstance(row, Failed)
            and not answered
            and (row.kind == _NO_ANSWER or self._is_refused_alike(row))
        ):
            self._held.append(row)
            return []
        if isinstance(row, RowResult) or answered or row.kind in _AN_ANSWER:
            self.ever_answered = True
            return [*self.take_held(), row]
        return [row]  # it failed before any server was asked

    def _is_refused_alike(self, row: Failed) -> bool:
        """Return whether a row is refused like all rows before it, since the start of the run."""
        alike = self.is_fresh and not self.ever_answered and row.kind in _REFUSED
        return alike and all(without_numbers(held) == without_numbers(row) for held in self._held)

    def take_held(self) -> list[FinishedRow]:
        """Return the rows held back, which are now failures, and clear them."""
        held, self._held = self._held, []
        return list(held)

    @property
    def n_held(self) -> int:
        return len(self._held)

    @property
    def holds_unanswered(self) -> bool:
        """Whether rows are held back because no server answered, rather than because of
        refusals."""
        return any(held.kind == _NO_ANSWER for held in self._held)

    @property
    def is_open(self) -> bool:
        """Whether the limit of consecutive rows without an answer is reached, or the first rows
        were all refused alike."""
        return len(self._held) >= (
            self.limit if self.holds_unanswered else min(self.limit, FIRST_ROWS)
        )

    @property
    def last_message(self) -> str:
        """The error message of the row held back last; "" without any."""
        return self._held[-1].message if self._held else ""

    def describe(self) -> str:
        """Describe why the run is stopped."""
        if self.holds_unanswered:
            return f"{self.n_held} rows in succession without an answer: {self.last_message}"
        return f"the first {self.n_held} rows are refused alike: {self.last_message}"
