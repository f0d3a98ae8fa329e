"""The kinds of array that the room passes around, and the one operation on groups of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]  # small non-negative integers that stand for names


def sum_by_group(groups: Codes, n_groups: int, weights: ArrayLike | None = None) -> Floats:
    """Sum of `weights` (of shape (n_rows,); 1 a row if None) over the rows of each group, of shape (n_groups,)."""
    return np.bincount(groups, weights=weights, minlength=n_groups).astype(np.float64, copy=False)
