"""Correction of p-values for many hypotheses: Holm (family-wise error), Benjamini and Hochberg (false discovery rate)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p (family-wise error), in the order given; NaN (not tested) stays NaN and is not counted.

    p_values of shape (n_hypotheses,) in [0, 1]. Holm 1979: the k-th smallest of m times (m - k + 1), never decreasing.
    """
    p, tested = _check_p_values(p_values)
    order = np.argsort(p[tested])
    m = len(order)
    stepped = np.maximum.accumulate(p[tested][order] * np.arange(m, 0, -1))
    return _in_given_order(p, tested, order, stepped)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p (false discovery rate), in the order given; NaN as in `holm`.

    Benjamini and Hochberg 1995: the k-th smallest of m times m / k, never above a later one.
    """
    p, tested = _check_p_values(p_values)
    order = np.argsort(p[tested])
    m = len(order)
    scaled = p[tested][order] * m / np.arange(1, m + 1)
    return _in_given_order(p, tested, order, np.minimum.accumulate(scaled[::-1])[::-1])


def _check_p_values(p_values: ArrayLike) -> tuple[Floats, np.ndarray]:
    p = validate.numbers("p_values", p_values, missing=True)
    bad = (p < 0) | (p > 1)
    if bad.any():
        raise InputError(f"p_values: {validate.named_rows(bad)}: got {p[bad][0]}; expected a number in [0, 1] or NaN")
    return p, ~np.isnan(p)


def _in_given_order(p: Floats, tested: np.ndarray, order: np.ndarray, adjusted: Floats) -> Floats:
    placed = np.empty(len(order))
    placed[order] = np.minimum(adjusted, 1.0)
    result = np.full(len(p), np.nan)
    result[tested] = placed
    return result
