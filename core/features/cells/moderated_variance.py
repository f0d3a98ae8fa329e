"""Variances of many genes that are moderated towards what all of them have in common: limma's
empirical Bayes."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma

from core.stats.arrays import Floats

_LARGEST_DEGREES = 1e6  # instead of infinitely many


def moderate_variances(variances: Floats, degrees: float) -> tuple[Floats, float]:
    """Return the moderated variances and the degrees of freedom that the prior adds.

    variances: of shape (n_genes,), each of `degrees` degrees of freedom, on a scale on which they
    are alike; NaN and 0 do not count for the prior, and its mean is returned for them. Source:
    Smyth (2004), Statistical Applications in Genetics and Molecular Biology 3:3, and fitFDist in
    limma.
    """
    usable = np.isfinite(variances) & (variances > 0)
    if usable.sum() < 3:
        return variances, 0.0
    logs = np.log(variances[usable]) - digamma(degrees / 2) + np.log(degrees / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, degrees / 2))
    if excess <= 0:
        added, prior = _LARGEST_DEGREES, float(np.exp(logs.mean()))
    else:
        # x with trigamma(x) = excess, by Newton's method on 1 / trigamma, which converges from
        # below
        x = 0.5 + 1 / excess
        for _ in range(50):
            step = polygamma(1, x) * (1 - polygamma(1, x) / excess) / polygamma(2, x)
            x += float(step)
            if -step / x < 1e-8:
                break
        added = min(2 * float(x), _LARGEST_DEGREES)
        prior = float(np.exp(logs.mean() + digamma(added / 2) - np.log(added / 2)))
    own = np.where(usable, variances, prior)
    moderated: Floats = (degrees * own + added * prior) / (degrees + added)
    return moderated, added
