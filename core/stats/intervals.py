"""Intervals as records: the estimate, its 95% limits, and what was resampled or counted as independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

Unit = Literal["row", "pert", "gene", "two-way", "stratum"]
Z95 = float(ndtri(0.975))


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval. low, high and se are NaN if the data do not determine them; all are NaN without an estimate.

    n: rows behind the estimate. unit: what was resampled or counted as independent. method: its name.
    """

    estimate: float
    low: float
    high: float
    se: float
    n: int
    unit: Unit
    method: str


@dataclass(frozen=True, slots=True)
class Resampled(Interval):
    """An interval of bootstrap percentiles.

    p_gt_0: share of resamples with an effect above 0, ties counting half; the effect of a difference is itself, that of a
    score is its distance from 0.5. undefined: resamples without a value because one class was missing.
    """

    p_gt_0: float
    resamples: int
    undefined: int
    seed: int


def normal_interval(
    estimate: float, variance: float, n: int, unit: Unit, method: str, limits: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """estimate ± 1.96 standard errors, cut at `limits`."""
    se = float(np.sqrt(variance)) if np.isfinite(estimate) else float("nan")
    low, high = np.clip((estimate - Z95 * se, estimate + Z95 * se), *limits)
    return Interval(float(estimate), float(low), float(high), se, int(n), unit, method)


def p_gt_0(interval: Interval) -> float:
    """The probability that a difference is above 0, by its normal approximation; 0.5 for exactly 0 ± 0."""
    if interval.se > 0:
        return float(ndtr(interval.estimate / interval.se))
    return float("nan") if np.isnan(interval.se) else float((np.sign(interval.estimate) + 1) / 2)


def wilson_interval(successes: int, n: int) -> Interval:
    """A proportion with Wilson's score interval, which stays inside [0, 1] even for few rows; NaN without rows."""
    if n == 0:
        nan = float("nan")
        return Interval(nan, nan, nan, nan, 0, "row", "Wilson")
    share, spread = successes / n, Z95**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z95 * float(np.sqrt(share * (1 - share) / n + spread / (4 * n))) / (1 + spread)
    se = float(np.sqrt(share * (1 - share) / n))
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half), se, n, "row", "Wilson")
