"""An interval is always a record: what was estimated, how sure it is, and what was resampled to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

Unit = Literal["row", "pert", "gene", "two-way", "stratum"]
Z95 = float(ndtri(0.975))


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval. low, high and se are NaN where the data cannot tell; all are NaN where there is no estimate.

    n: the rows behind the estimate. unit: what was resampled, or counted as independent. method: how.
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

    p_gt_0: share of resamples whose effect is above 0, ties counting half; the effect of a difference is itself, that
    of a score its distance from 0.5. undefined: resamples without a value because one class was missing.
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
    """Probability that a difference is above 0 under its normal approximation; a half where it is exactly 0 ± 0."""
    if interval.se > 0:
        return float(ndtr(interval.estimate / interval.se))
    return float("nan") if np.isnan(interval.se) else float((np.sign(interval.estimate) + 1) / 2)


def wilson_interval(successes: int, n: int) -> Interval:
    """A proportion with Wilson's score interval, which stays inside [0, 1] for few rows; NaN for none."""
    if n == 0:
        nothing = float("nan")
        return Interval(nothing, nothing, nothing, nothing, 0, "row", "Wilson")
    share, spread = successes / n, Z95**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z95 * float(np.sqrt(share * (1 - share) / n + spread / (4 * n))) / (1 + spread)
    se = float(np.sqrt(share * (1 - share) / n))
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half), se, n, "row", "Wilson")
