"""Power: the smallest difference that can be detected, and the noise of a public leaderboard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nctdtrinc, ndtri, stdtrit

from core.stats import validate
from core.stats.bootstrap import ResamplingPlan, ResamplingUnit, bootstrap_difference
from core.stats.intervals import Resampled
from core.stats.scores_and_labels import Scores, outcome_of

POWER, LEVEL = 0.8, 0.05


@dataclass(frozen=True, slots=True)
class PublicPart:
    """The part of a test set that a leaderboard scores, and how draws of such a part are simulated.

    rows: their number, an expected one unless rows are drawn. unit: what is drawn, see `ResamplingPlan`.
    """

    rows: int
    unit: ResamplingUnit
    seed: int
    resamples: int = 4000

    def plan(self, labels: ArrayLike) -> ResamplingPlan:
        """Return the plan that resamples the labelled rows in samples as large as the part."""
        n_labelled = int(outcome_of(labels).labelled.sum())
        share = validate.whole_number("rows", self.rows, 1) / validate.whole_number("labelled rows", n_labelled, 1)
        return ResamplingPlan(self.unit, self.seed, self.resamples, np.sqrt(share) if self.unit == "two-way" else share)


def detectable_difference(se: float, power: float = POWER, level: float = LEVEL, df: float = float("inf")) -> float:
    """Return the smallest true difference that a two-sided test at `level` detects with probability `power`.

    se: standard error of the difference, on as many rows as the claim will have. df: degrees of freedom
    of Student's t; infinite for the normal distribution. In standard errors it is the noncentrality of the t that exceeds t_{1 -
    level/2} with probability `power`: 2.80 at 80%, 5% and infinite df.
    """
    validate.between("power", power, 0, 1)
    validate.between("level", level, 0, 1)
    needed = stdtrit(df, 1 - level / 2)
    return float((needed + ndtri(power) if np.isinf(df) else nctdtrinc(df, 1 - power, needed)) * se)


def se_on_rows(se: float, n: int, n_wanted: int) -> float:
    """Return the standard error on `n_wanted` rows (or clusters) of a number that has the standard error `se` on `n` of them."""
    validate.whole_number("n", n, 1)
    validate.whole_number("n_wanted", n_wanted, 1)
    return float(se * np.sqrt(n / n_wanted))


def correlation(se_a: float, se_b: float, se_change: float) -> float:
    """Return the correlation of two estimates, from their standard errors and that of their difference; NaN if one is 0."""
    if not se_a * se_b > 0:
        return float("nan")
    return float(np.clip((se_a**2 + se_b**2 - se_change**2) / (2 * se_a * se_b), -1, 1))


def public_change_noise(labels: ArrayLike, a: Scores, b: Scores, part: PublicPart, pert: ArrayLike, gene: ArrayLike) -> Resampled:
    """Return the noise of the difference b - a of two runs; `detectable_difference` of its se is the smallest difference that
    one part can detect.
    """
    return bootstrap_difference(labels, a, b, part.plan(labels), pert, gene).mean
