"""From an expression model's predictions of pairs to P(DE) and P(up | DE): one strictly increasing
logistic map for each.

The map is x -> expit(intercept + slope * s), s = sign(x) log(1 + |x|), fitted on labelled training
pairs (Platt 1999). It preserves the order of the pairs. The logarithm keeps strong evidence apart:
under a straight line, -log10 p of 40 and of 300 would both become 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from core.stats.arrays import Bools, Floats

# of the slope in standard deviations of s; without it labels that are separated perfectly have no
# fit
PRIOR_PRECISION = 0.01
# beyond these the 14 decimals that runs are ranked by cannot tell probabilities apart
LARGEST_LOG_ODDS = 20.0


@dataclass(frozen=True, slots=True)
class ProbabilityMap:
    """A logistic map; slope > 0. n, positives: of the training pairs that it was fitted on."""

    intercept: float
    slope: float
    n: int
    positives: int

    def probabilities(self, values: Floats) -> Floats:
        """Return the probabilities of values of shape (n,), in (0, 1); NaN stays NaN."""
        return np.asarray(expit(self.intercept + self.slope * signed_log(values)))


def signed_log(values: Floats) -> Floats:
    """sign(x) log(1 + |x|), which is strictly increasing; NaN stays NaN."""
    return np.sign(values) * np.log1p(np.abs(values))


def fit_probability_map(values: Floats, positive: Bools, used: Bools) -> ProbabilityMap | str:
    """Return a map fitted on the pairs that `used` marks, or why there is none; all arrays of shape
    (n_pairs,).

    values: finite, or NaN for pairs that the model does not cover, which are not used. Where the
    log odds of a value would be beyond LARGEST_LOG_ODDS, both coefficients are made smaller in
    proportion. There is no map without both classes, without two different values, or with a slope
    of 0 or below: the evidence then does not rise with the labels.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    used = used & ~np.isnan(values)
    known, n_positive = positive[used], int(positive[used].sum())
    if n_positive in (0, len(known)):
        return (
            f"{len(known):,} covered training pairs with a label, {n_positive:,} of them positive"
        )
    x = signed_log(values)
    mean, sd = float(x[used].mean()), float(x[used].std())
    if np.ptp(x[used]) == 0:
        return f"the same value for all of its {len(known):,} labelled training pairs"
    model = LogisticRegression(C=1 / PRIOR_PRECISION, tol=1e-8, max_iter=1_000).fit(
        ((x[used] - mean) / sd)[:, None], known
    )
    slope = float(model.coef_[0, 0]) / sd
    if slope <= 0:
        return f"a slope of {slope:.3g} on {len(known):,} labelled training pairs, expected above 0"
    intercept = float(model.intercept_[0]) - slope * mean
    largest = float(np.nanmax(np.abs(intercept + slope * x)))
    shrink = min(1.0, LARGEST_LOG_ODDS / largest)
    return ProbabilityMap(intercept * shrink, slope * shrink, len(known), n_positive)
