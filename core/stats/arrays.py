"""The types of arrays in statistics, sums over groups of rows, and what stands where nothing can be
divided."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]  # small non-negative integers instead of names


def sum_by_group(groups: Codes, n_groups: int, weights: ArrayLike | None = None) -> Floats:
    """Return the sum of `weights` over the rows of each group, of shape (n_groups,).

    groups: codes of shape (n_rows,) below `n_groups`; weights: of shape (n_rows,), None counts
    rows.
    """
    return np.bincount(groups, weights=weights, minlength=n_groups).astype(np.float64, copy=False)


def count_codes(codes: Codes) -> int:
    """Return one more than the largest code; 1 without rows."""
    return int(codes.max(initial=0)) + 1


def codes_or_one(codes: Codes | None, n_rows: int) -> Codes:
    """Return the codes of rows; None: of rows that are all in one group."""
    return np.zeros(n_rows, dtype=np.intp) if codes is None else codes


def divide(part: Floats, whole: Floats | Codes, otherwise: float = np.nan) -> Floats:
    """Return part / whole, and `otherwise` where `whole` is not above 0."""
    ratio: Floats = np.full(np.broadcast_shapes(part.shape, whole.shape), otherwise)
    return np.divide(part, whole, out=ratio, where=whole > 0)


def order_within(strata: Codes, values: Floats, n_strata: int) -> Codes:
    """Return the order of rows by stratum, and by value inside each; in which order equal values
    stand is not said.

    strata: codes of shape (n_rows,) below `n_strata`; values: finite. Two sorts of one key each
    take half the time of one by both: NumPy counts short integers instead of comparing them.
    """
    codes = strata.astype(np.uint16) if n_strata <= np.iinfo(np.uint16).max else strata
    order = np.argsort(values)
    return order[np.argsort(codes[order], kind="stable")]
