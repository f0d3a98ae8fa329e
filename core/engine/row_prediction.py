"""The prediction of one row, whose error becomes the row's failure."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

from core.errors import DeskError, InputError
from core.methods.base import Context, RowFailed, RowMethod
from core.types import Failed, Pair, RowResult

LogError = Callable[[str, BaseException], object]


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
        return _refuse_other_row(task.result(), pair)
    calls = error.calls if isinstance(error, RowFailed) else ()
    cause = error.cause if isinstance(error, RowFailed) else error
    if not isinstance(cause, DeskError):
        log_unforeseen(pair.pair_id, cause)
    return Failed(pair.pair_id, type(cause).__name__, scrub(str(cause)), calls)


def describe_traceback(error: BaseException) -> str:
    """Returns an error with its traceback, as Python prints it."""
    return "".join(traceback.format_exception(error)).rstrip()


def _refuse_other_row(result: RowResult, pair: Pair) -> RowResult | Failed:
    """Returns the result; a failure if it is of another row."""
    predicted = result.prediction.pair_id
    if predicted == pair.pair_id:
        return result
    message = f"the method answered for row {predicted!r}, expected {pair.pair_id!r}"
    return Failed(pair.pair_id, InputError.__name__, message, result.calls)
