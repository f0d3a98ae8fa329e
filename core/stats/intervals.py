"""Intervals as records: the estimate, its 95% limits, and what was resampled or counted as independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

Unit = Literal["row", "pert", "gene", "two-way", "stratum"]
Z95 = float(ndtri(0.975))
WIDEST_METHODS: dict[Unit, str] = {
    "two-way": "largest defined of the two-way, perturbation, gene and row standard errors, Student's t",
    "pert": "larger of the perturbation and row standard errors, Student's t; a single gene",
    "gene": "larger of the gene and row standard errors, Student's t; a single perturbation",
    "row": "DeLong; a single perturbation and a single gene",
}


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval. low, high and se are NaN if the data do not determine them; all are NaN without an estimate.

    n: rows behind the estimate. unit: what was resampled or counted as independent. method: its name. clusters: the number
    of clusters that the quantile of the limits depends on; None for the normal quantile.
    """

    estimate: float
    low: float
    high: float
    se: float
    n: int
    unit: Unit
    method: str
    clusters: int | None = field(default=None, kw_only=True)

    @property
    def df(self) -> float:
        """The degrees of freedom of Student's t behind the limits; infinite for the normal quantile."""
        return float("inf") if self.clusters is None else self.clusters - 1.0

    @property
    def quantile(self) -> float:
        """How many standard errors Student's t puts between the estimate and each limit."""
        return float(stdtrit(self.df, 0.975))


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


def widest_interval(
    by_unit: Sequence[Interval], n_perts: int, n_genes: int, limits: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """The interval of the largest standard error that is defined, with Student's t for the number of clusters.

    by_unit: intervals of one estimate by row, perturbation, gene and both axes. n_perts, n_genes: clusters of its rows. The
    degrees of freedom are the smaller of the two less one; an axis of a single cluster is constant and left out. An estimate
    at one of the `limits`, such as the AUROC of a perfect ranking, has a standard error of 0, which says nothing: NaN.
    """
    unit = _unit_of_axes(n_perts > 1, n_genes > 1)
    axes = [n for n in (n_perts, n_genes) if n > 1]
    first = by_unit[0]
    se = max((one.se for one in by_unit if not np.isnan(one.se)), default=float("nan"))
    if se == 0 and first.estimate in limits:
        se = float("nan")
    widest = replace(first, unit=unit, method=WIDEST_METHODS[unit], clusters=min(axes) if axes else None)
    return _with_error(widest, se, limits)


def add_variance(interval: Interval, variance: float, limits: tuple[float, float] = (0.0, 1.0)) -> Interval:
    """The interval with an independent source of noise added to its standard error; `clusters` still sets the quantile."""
    return _with_error(interval, float(np.sqrt(interval.se**2 + variance)), limits)


def _with_error(interval: Interval, se: float, limits: tuple[float, float]) -> Interval:
    """The interval with another standard error, its limits by Student's t for its clusters."""
    half = se * interval.quantile
    low, high = np.clip((interval.estimate - half, interval.estimate + half), *limits)
    return replace(interval, low=float(low), high=float(high), se=se)


def _unit_of_axes(by_pert: bool, by_gene: bool) -> Unit:
    if by_pert and by_gene:
        return "two-way"
    return "pert" if by_pert else "gene" if by_gene else "row"


def p_gt_0(interval: Interval) -> float:
    """The probability that a difference is above 0, by Student's t or the normal approximation; 0.5 for exactly 0 ± 0."""
    if interval.se > 0:
        return float(stdtr(interval.df, interval.estimate / interval.se))
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
