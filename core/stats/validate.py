"""One check for each kind of argument. Each message gives the received and the expected value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.base.types import Label
from core.stats.arrays import Bools, Codes, Floats

SHOWN = 5  # rows named in a message; further rows are counted
_NO_LABEL = -2
_LABEL_CODES: dict[object, int] = {
    None: -1,
    "": -1,
    **{label: code for code, label in enumerate(Label)},
}


def named_rows(rows: Bools, ids: Sequence[str] | None = None) -> str:
    """Return the names of the rows that are True, by id if ids are given, the first few of many."""
    positions = np.flatnonzero(rows)
    names = [str(ids[i]) if ids is not None else str(i) for i in positions[:SHOWN]]
    more = f" and {len(positions) - SHOWN} more" if len(positions) > SHOWN else ""
    return f"row{'s' if len(positions) > 1 else ''} {', '.join(names)}{more}"


def same_length(**arrays: Any) -> int:
    """Return the common number of rows of the arrays. Raise InputError if they differ."""
    sizes = dict(zip(arrays, map(len, arrays.values()), strict=True))
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(f"arrays of different lengths: {got} rows; expected the same number")
    return next(iter(sizes.values()))


def numbers(
    name: str, values: ArrayLike, *, missing: bool = False, ids: Sequence[str] | None = None
) -> Floats:
    """Return `values` as floats of shape (n_rows,): finite, or NaN if `missing`. Raise InputError,
    which names the other rows."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}; expected numbers") from error
    if array.ndim != 1:
        raise InputError(
            f"{name}: got an array of shape {array.shape}; expected one number per row"
        )
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        raise InputError(
            f"{name}: {named_rows(bad, ids)}: got {array[bad][0]}; expected a finite number"
        )
    return array


def probabilities(name: str, values: ArrayLike, *, ids: Sequence[str] | None = None) -> Floats:
    """Return `values` as finite floats in [0, 1] of shape (n_rows,). Raise InputError, which names
    the other rows."""
    array = numbers(name, values, ids=ids)
    bad = (array < 0) | (array > 1)
    if bad.any():
        raise InputError(
            f"{name}: {named_rows(bad, ids)}: got {array[bad][0]}; expected a number in [0, 1]"
        )
    return array


def flags(name: str, values: ArrayLike) -> Bools:
    """Return `values` as booleans of shape (n_rows,). Raise InputError for values other than False,
    True, 0 and 1."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name}: got an array of shape {array.shape}; expected one flag per row")
    if array.dtype == np.bool_:
        return array
    bad = ~np.isin(array, (0, 1))
    if bad.any():
        raise InputError(
            f"{name}: {named_rows(bad)}: got {array[bad][0]}; expected true/false or 0/1"
        )
    return array.astype(np.bool_)


def codes(name: str, values: ArrayLike) -> Codes:
    """Return integer codes of shape (n_rows,) for names or codes; equal values get equal codes, all
    of them used."""
    return names_and_codes(name, values)[1]


def axes(pert: ArrayLike, gene: ArrayLike) -> tuple[Codes, Codes]:
    """Return the codes of each row's perturbation and gene, as `codes` does."""
    return codes("pert", pert), codes("gene", gene)


def names_and_codes(name: str, values: ArrayLike) -> tuple[Any, Codes]:
    """Return the sorted distinct values, and each row's position among them. Raise InputError for
    missing values."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(
            f"{name}: got an array of shape {array.shape}; expected one name or code per row"
        )
    missing = array != array if array.dtype.kind == "f" else np.zeros(len(array), dtype=np.bool_)
    if array.dtype.kind == "O":
        missing = np.array(
            [not isinstance(value, str | int | np.integer) for value in array], dtype=np.bool_
        )
        array = array if missing.any() else array.astype(np.str_)
    if missing.any():
        got = array[missing][0]
        raise InputError(
            f"{name}: {named_rows(missing)}: got {got}; expected a name or an integer code"
        )
    if array.dtype.kind == "i" and array.min(initial=0) >= 0 and array.max(initial=0) < len(array):
        is_used = np.bincount(array) > 0  # takes a tenth of the time of a sort
        return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[array]
    distinct, inverse = np.unique(array, return_inverse=True)
    return distinct, inverse.astype(np.intp, copy=False)


def labels(values: ArrayLike) -> Codes:
    """Return each label's position in `Label`, of shape (n_rows,); -1 if it is unknown (None, NaN
    or "")."""
    array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise InputError(f"labels: got an array of shape {array.shape}; expected one label per row")
    of_labels = map(_LABEL_CODES.get, array.tolist(), repeat(_NO_LABEL))
    codes = np.fromiter(of_labels, np.intp, len(array))
    rest = codes == _NO_LABEL
    # NaN alone differs from itself
    rest[rest] = np.array([value == value for value in array[rest]], dtype=np.bool_)
    if rest.any():
        expected = ", ".join(Label)
        raise InputError(
            f"labels: {named_rows(rest)}: got {array[rest][0]!r}; expected {expected}, or none"
            " given"
        )
    return np.maximum(codes, -1)


def whole_number(name: str, value: int, least: int) -> int:
    """Return `value` as an integer. Raise InputError unless it is a whole number of at least
    `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}: got {value!r}; expected a whole number of at least {least}")
    return int(value)


def between(name: str, value: float, low: float, high: float) -> float:
    """Return `value` as a float. Raise InputError unless it lies strictly between `low` and
    `high`."""
    if not low < value < high:
        raise InputError(
            f"{name}: got {value}; expected a number between {low} and {high}, both excluded"
        )
    return float(value)
