"""Two runs can be called equal: two one-sided tests against a margin that a person names (Schuirmann 1987)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from core.stats import validate
from core.stats.intervals import Interval

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether a difference lies within ± margin.

    p_below: of the hypothesis that it is -margin or less; p_above: that it is margin or more; p: the larger of the two.
    low, high: the 90% interval, which lies inside the margin exactly if p is below 5%. smallest_margin: the smallest that
    would have been met. All NaN without a standard error.
    """

    margin: float
    p_below: float
    p_above: float
    p: float
    low: float
    high: float
    smallest_margin: float

    @property
    def equal(self) -> bool:
        """Whether the two are equal within the margin at the 5% level."""
        return self.p < LEVEL


def equivalence(change: Interval, margin: float) -> Equivalence:
    """Test whether a difference is smaller than `margin` either way, by Student's t if the interval has clusters.

    The margin has to be named before looking: it is the largest difference that would not matter.
    """
    validate.between("margin", margin, 0, float("inf"))
    reach = float(stdtrit(change.df, 1 - LEVEL)) * change.se
    low, high = change.estimate - reach, change.estimate + reach
    p_below, p_above = _one_sided_p(change.estimate + margin, change), _one_sided_p(margin - change.estimate, change)
    p = float(np.maximum(p_below, p_above))
    return Equivalence(margin, p_below, p_above, p, low, high, float(np.maximum(-low, high)))


def _one_sided_p(distance: float, change: Interval) -> float:
    """The p of the hypothesis that a distance, known with the error of `change`, is 0 or less."""
    if change.se == 0:
        return float(distance <= 0)
    return float(stdtr(change.df, -distance / change.se))
