"""The one rule that turns the interval of a difference into a verdict; every page, command and
report judges by it.

Observed power is no evidence: what an experiment could have shown decides nothing, the interval
that it gave does.
"""

from __future__ import annotations

import math
from typing import Literal

from core.stats.intervals import Interval

Verdict = Literal["confirmed", "confirmed, small", "rejected", "harmful", "undecided", "no verdict"]
Side = Literal["above", "below", "open", "none"]


def side_of(change: Interval) -> Side:
    """Return the side of a difference's interval: above 0, below 0, both ("open"), or "none"
    without an interval."""
    if math.isnan(change.low) or math.isnan(change.high):
        return "none"
    return "above" if change.low > 0 else "below" if change.high < 0 else "open"


def verdict_of(change: Interval, smallest: float) -> Verdict:
    """Return the verdict on a difference; smallest: the smallest worth having, above 0.

    confirmed: low > 0 and estimate >= smallest. confirmed, small: low > 0 and high < smallest, real
    and not worth having. harmful: high < 0. rejected: high < smallest. undecided: anything else. no
    verdict: without an interval.
    """
    side = side_of(change)
    if side == "none":
        return "no verdict"
    if side == "above" and change.estimate >= smallest:
        return "confirmed"
    if change.high < smallest:
        return (
            "confirmed, small" if side == "above" else "harmful" if side == "below" else "rejected"
        )
    return "undecided"
