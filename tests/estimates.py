"""Estimates made by hand."""

from __future__ import annotations

from core.stats.delong import Estimate
from core.stats.intervals import Interval


def plain_estimate(interval: Interval) -> Estimate:
    """An estimate with one interval for every unit."""
    return Estimate(interval, interval, interval, interval, interval)
