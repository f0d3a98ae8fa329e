"""p-values of comparisons, and their correction for many: Holm (family-wise error), Benjamini and
Hochberg (false discovery)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats import validate
from core.stats.arrays import Floats
from core.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class AdjustedP:
    """The two-sided p of one of several differences, as it is and adjusted for their number; NaN
    without a standard error."""

    p: float
    holm: float
    benjamini_hochberg: float


def adjust(p: Sequence[float]) -> tuple[AdjustedP, ...]:
    """Return the p-values of a family, each adjusted for all of them, in the order given; NaN (not
    tested) counts for nothing."""
    return tuple(
        AdjustedP(*map(float, three))
        for three in zip(p, holm(p), benjamini_hochberg(p), strict=True)
    )


def p_value(change: Interval) -> float:
    """Return the two-sided p of a difference against 0, below 5% exactly if its interval leaves 0
    out; 1 for 0 ± 0."""
    from scipy.special import stdtr

    if change.se == 0:
        return float(change.estimate == 0)
    return float(2 * stdtr(change.df, -abs(change.estimate) / change.se))


def holm(p_values: ArrayLike) -> Floats:
    """Return Holm's adjusted p (family-wise error), in the order given; NaN (not tested) stays NaN
    and is not counted.

    p_values of shape (n_hypotheses,) in [0, 1]. Holm 1979: the k-th smallest of m times (m - k +
    1), never decreasing.
    """
    p, tested = _check_p_values(p_values)
    order = np.argsort(p[tested])
    m = len(order)
    stepped = np.maximum.accumulate(p[tested][order] * np.arange(m, 0, -1))
    return _in_given_order(p, tested, order, stepped)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Return Benjamini and Hochberg's adjusted p (false discovery rate), in the order given; NaN as
    in `holm`.

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
        raise InputError(
            f"p_values: {validate.named_rows(bad)}: got {p[bad][0]}; expected a number in [0, 1]"
            " or NaN"
        )
    return p, ~np.isnan(p)


def _in_given_order(p: Floats, tested: np.ndarray, order: np.ndarray, adjusted: Floats) -> Floats:
    placed = np.empty(len(order))
    placed[order] = np.minimum(adjusted, 1.0)
    result = np.full(len(p), np.nan)
    result[tested] = placed
    return result
