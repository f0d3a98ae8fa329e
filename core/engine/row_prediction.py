"""Predicts one row, whose error becomes the row's failure, and tells a server that is gone from rows that fail."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from core.errors import DeskError, InputError
from core.llm import errors
from core.methods.base import Context, Method, RowFailed, RowMethod
from core.types import READING_METHODS, Failed, Pair, RowResult

LogError = Callable[[str, BaseException], object]
_NO_ANSWER = errors.Unanswered.__name__
_AN_ANSWER = frozenset(
    kind.__name__
    for kind in (errors.Refused, errors.ContextFull, errors.Declined, errors.Truncated, errors.Malformed, errors.NoLogprobs)
)


async def predict_row(
    method: RowMethod, pair: Pair, context: Context, log_unforeseen: LogError, scrub: Callable[[str], str]
) -> RowResult | Failed:
    """Returns the result of a row, or its failure: no error of one row ends the run.

    log_unforeseen: gets the row's id and an error that no room expects. scrub: takes secrets out of a message.
    """
    task = asyncio.ensure_future(method.predict_row(pair, context))
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
    if task.cancelled():
        return Failed(pair.pair_id, "Cancelled", f"{method.name} gave up this row without a cause")
    error = task.exception()
    if error is None:
        return _refuse_wrong_row(task.result(), pair, method)
    calls = error.calls if isinstance(error, RowFailed) else ()
    cause = error.cause if isinstance(error, RowFailed) else error
    if not isinstance(cause, DeskError):
        log_unforeseen(pair.pair_id, cause)
    return Failed(pair.pair_id, type(cause).__name__, scrub(str(cause)), calls)


def describe_traceback(error: BaseException) -> str:
    """Returns an error with its traceback, as Python prints it."""
    return "".join(traceback.format_exception(error)).rstrip()


def _refuse_wrong_row(result: RowResult, pair: Pair, method: Method) -> RowResult | Failed:
    """Returns the result; a failure if it is of another row, or lacks the prediction that a method owes which does not read."""
    predicted = result.prediction.pair_id
    if predicted != pair.pair_id:
        message = f"the method answered for row {predicted!r}, expected {pair.pair_id!r}"
    elif lacks_prediction(result, method):
        message = f"{method.name} gave no prediction, expected one: only {', '.join(READING_METHODS)} gives none"
    else:
        return result
    return Failed(pair.pair_id, InputError.__name__, message, result.calls)


def lacks_prediction(result: RowResult, method: Method) -> bool:
    """Whether a row has no prediction although its method is none that reads."""
    return result.prediction.p_source == "none" and method.name not in READING_METHODS


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
