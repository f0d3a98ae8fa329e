"""Intervals as records: the estimate, its 95% limits, and the units resampled or treated as
independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

Unit = Literal["row", "pert", "gene", "two-way", "stratum"]
Scale = Literal["plain", "logit"]
AXES: tuple[Unit, ...] = ("pert", "gene")
Z95 = 1.959963984540054  # the normal distribution's quantile of 0.975
# effective rows, below which the standard error of a score says too little of itself
FEWEST_CARRIERS = 6
FEWEST_OF_DIFFERENCE = 8  # the same for a difference
# of three, two degrees of freedom do not tell whether an axis adds anything: they cover .91 to .99
FEWEST_CLUSTERS = 4
# least relative excess of an axis' variance over that of rows; a smaller one may be rounding
LEAST_EXCESS = 1e-9
NO_INTERVAL = "none: "
TOO_FEW = f"{NO_INTERVAL}its standard error rests on too few rows"
TOO_FEW_CLUSTERS = (
    f"{NO_INTERVAL}its standard error rests on fewer than {FEWEST_CLUSTERS} perturbations or genes"
)
BY_CHANCE = f"{NO_INTERVAL}its standard error is 0 by chance"
WIDEST_METHODS: dict[Unit, str] = {
    "two-way": (
        "largest defined of the two-way, perturbation, gene and row standard errors, Student's t"
    ),
    "pert": "larger of the perturbation and row standard errors, Student's t; a single gene",
    "gene": "larger of the gene and row standard errors, Student's t; a single perturbation",
    "row": "DeLong; a single perturbation and a single gene",
}


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval. low, high and se are NaN if the data do not determine them; all are NaN
    without an estimate.

    n: rows behind the estimate. unit: what was resampled or counted as independent. method: its
    name, or why there is none. clusters: the smaller number of clusters of its axes; None for the
    normal quantile. degrees: degrees of freedom of the limits, None for the clusters less one.
    """

    estimate: float
    low: float
    high: float
    se: float
    n: int
    unit: Unit
    method: str
    clusters: int | None = field(default=None, kw_only=True)
    degrees: float | None = field(default=None, kw_only=True)

    @property
    def ends(self) -> tuple[float, float, float]:
        """The estimate and its limits."""
        return self.estimate, self.low, self.high

    @property
    def columns(self) -> dict[str, float]:
        """The estimate and its limits by the names that tables and JSON give them."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}

    @property
    def json_value(self) -> dict[str, float] | None:
        """The interval as every command prints it; None without an estimate."""
        return None if np.isnan(self.estimate) else {**self.columns, "se": self.se}

    @property
    def df(self) -> float:
        """The degrees of freedom of Student's t behind the limits; infinite for the normal
        quantile."""
        if self.degrees is not None:
            return self.degrees
        return float("inf") if self.clusters is None else self.clusters - 1.0

    @property
    def quantile(self) -> float:
        """The number of standard errors between the estimate and each limit, by Student's t."""
        from scipy.special import stdtrit

        return float(stdtrit(self.df, 0.975))


@dataclass(frozen=True, slots=True)
class Resampled(Interval):
    """An interval of bootstrap percentiles.

    p_gt_0: share of resamples with an effect above 0, ties counting half; the effect of a
    difference is itself, that of a score is its distance from 0.5. undefined: resamples without a
    value because one class was missing.
    """

    p_gt_0: float
    resamples: int
    undefined: int
    seed: int


def normal_interval(
    estimate: float,
    variance: float,
    n: int,
    unit: Unit,
    method: str,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """estimate ± 1.96 standard errors, cut at `limits`."""
    se = float(np.sqrt(variance)) if np.isfinite(estimate) else float("nan")
    low, high = np.clip((estimate - Z95 * se, estimate + Z95 * se), *limits)
    return Interval(float(estimate), float(low), float(high), se, int(n), unit, method)


def widest_interval(
    by_unit: Sequence[Interval],
    n_perts: int,
    n_genes: int,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return the interval of the largest standard error that is defined, with Student's t for the
    number of clusters.

    by_unit: intervals of one estimate by row, perturbation, gene and both axes. n_perts, n_genes:
    clusters of its rows. The degrees of freedom are the smaller of the two less one; an axis of a
    single cluster is constant and left out. An estimate at one of the `limits`, such as the AUROC
    of a perfect ranking, has a standard error of 0, which is meaningless, so the limits are NaN.
    """
    unit: Unit = "pert" if n_perts > 1 else "gene" if n_genes > 1 else "row"
    clusters = max(n_perts, n_genes) if unit != "row" else None
    if n_perts > 1 and n_genes > 1:
        unit, clusters = "two-way", min(n_perts, n_genes)
    first = by_unit[0]
    se = float(np.fmax.reduce([one.se for one in by_unit]))  # of those that are defined
    if se == 0 and first.estimate in limits:
        se = float("nan")
    widest = replace(first, unit=unit, method=WIDEST_METHODS[unit], clusters=clusters)
    return _with_error(widest, se, limits)


@dataclass(frozen=True, slots=True)
class Carriers:
    """The variance of an AUROC or of a combination of some by independent rows, perturbations and
    genes, and who carries it.

    variances: by unit. numbers: effective numbers of units, (Σ s)² / Σ s² of their sums s of
    squared influences. is_constant: whether a variance of 0 is so by construction: a constant
    score, or the difference of two equal rankings.
    """

    variances: Mapping[Unit, float]
    numbers: Mapping[Unit, float]
    is_constant: bool

    def degrees(self, *, is_difference: bool) -> float:
        """Return Satterthwaite's degrees of freedom of the variance of the shown interval, at least
        1: each part counts by the units that carry it. That variance is the largest of the two-way
        and the one-way variances.

        In a difference rows count as infinitely many: their influences are about as often above 0
        as below it. The sum of such numbers over the root of the sum of their squares has no longer
        tails than a normal one, however few they are (Efron 1969, Journal of the American
        Statistical Association 64:1278-1302).
        """
        # n normal influences have the number n / 3
        row = self.variances["row"]
        parts = 0.0 if is_difference else row**2 / (3 * self.numbers["row"])
        excess, of_axes = 0.0, 0.0
        for unit in AXES:
            variance = self.variances[unit]
            if variance - row > LEAST_EXCESS * variance:
                excess += variance - row
                of_axes += variance**2 / max(self.numbers[unit] - 1, 0.5)
        parts += of_axes
        return max((row + excess) ** 2 / parts, 1.0) if parts else float("inf")


def auroc_interval(widest: Interval, found: Carriers, limits: tuple[float, float]) -> Interval:
    """Return the interval shown of an AUROC, a mean of AUROCs or a difference: Student's t,
    Satterthwaite's degrees of freedom.

    widest: that of `widest_interval`, whose estimate and standard error it has. A score has limits
    on the logit scale, a difference symmetric ones. There is none where the error rests on fewer
    than FEWEST_CARRIERS rows (FEWEST_OF_DIFFERENCE) or FEWEST_CLUSTERS clusters of an axis that has
    several, or is 0 by chance.
    """
    nan = float("nan")
    if np.isnan(widest.se) or (widest.se == 0 and found.is_constant):
        return widest
    is_difference = limits != (0.0, 1.0)
    few = not found.numbers["row"] >= (FEWEST_OF_DIFFERENCE if is_difference else FEWEST_CARRIERS)
    too_few_clusters = widest.clusters is not None and widest.clusters < FEWEST_CLUSTERS
    if widest.se == 0 or few or too_few_clusters:
        why = BY_CHANCE if widest.se == 0 else TOO_FEW_CLUSTERS if too_few_clusters else TOO_FEW
        return replace(widest, low=nan, high=nan, se=nan, method=why)
    scale: Scale = "plain" if is_difference else "logit"
    method = widest.method.replace(
        "Student's t", f"Student's t with Satterthwaite's df{', logit' if scale == 'logit' else ''}"
    )
    return _with_error(
        replace(widest, degrees=found.degrees(is_difference=is_difference), method=method),
        widest.se,
        limits,
        scale,
    )


def why_no_interval(interval: Interval) -> str:
    """Return why an AUROC has no interval; "" if it has one, or if there is no reason."""
    return (
        interval.method.removeprefix(NO_INTERVAL) if interval.method.startswith(NO_INTERVAL) else ""
    )


def add_variance(
    interval: Interval, variance: float, limits: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the interval with an independent source of noise added to its standard error; its
    degrees of freedom stay."""
    scale: Scale = "logit" if interval.degrees is not None and limits == (0.0, 1.0) else "plain"
    return _with_error(interval, float(np.sqrt(interval.se**2 + variance)), limits, scale)


def _with_error(
    interval: Interval, se: float, limits: tuple[float, float], scale: Scale = "plain"
) -> Interval:
    """Return the interval with another standard error, its limits by Student's t for its degrees of
    freedom."""
    from scipy.special import expit

    half, value = se * interval.quantile, interval.estimate
    if scale == "logit" and 0 < value < 1:
        odds, reach = np.log(value / (1 - value)), half / (value * (1 - value))
        low, high = expit(odds - reach), expit(odds + reach)
    else:
        low, high = np.clip((value - half, value + half), *limits)
    return replace(interval, low=float(low), high=float(high), se=se)


def p_gt_0(interval: Interval) -> float:
    """Return the probability that a difference is above 0, by Student's t or the normal
    approximation; 0.5 for exactly 0 ± 0."""
    from scipy.special import stdtr

    if interval.se > 0:
        return float(stdtr(interval.df, interval.estimate / interval.se))
    return float("nan") if np.isnan(interval.se) else float((np.sign(interval.estimate) + 1) / 2)


def wilson_limits(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's limits of a proportion of n independent rows; quantile: standard errors
    between it and each limit."""
    spread = quantile**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = quantile * float(np.sqrt(share * (1 - share) / n + spread / (4 * n))) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
