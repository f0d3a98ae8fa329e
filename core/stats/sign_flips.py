"""The sign-flip test of paired differences whose rows come in clusters: is their mean above 0?

If the two members of every pair are exchangeable, each difference is equally likely with the other
sign. Rows of a cluster are flipped together, so they may depend on each other; clusters may not.
The test is exact for any number of clusters and any distribution (Fisher 1935; Winkler and others,
NeuroImage 2014, for exchangeable blocks).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import sum_by_group

MOST_ENUMERATED = 12  # clusters: 4,096 patterns of signs
DRAWN = 9_999  # number of random sign patterns, if there are too many to try all
_AT_A_TIME = 1_000  # patterns
_SAME = 1e-12  # of the sum of absolute cluster sums: two sums that are equal but for rounding tie


def sign_flip_test(
    differences: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, drawn: int = DRAWN
) -> float:
    """Return the one-sided p of paired differences being above 0 on average, flipping whole
    clusters; NaN without rows.

    differences: finite numbers of shape (n_rows,). clusters: names or codes of shape (n_rows,). p
    is the share of all patterns of signs, the observed one among them, whose sum is at least as
    large; if there are more than 2^12 patterns, `drawn` random ones are used, and p is (1 + number
    at least as large) / (1 + drawn). Raise InputError for other numbers.
    """
    values, codes = (
        validate.numbers("differences", differences),
        validate.codes("clusters", clusters),
    )
    validate.same_length(differences=values, clusters=codes)
    if not len(values):
        return float("nan")
    sums = sum_by_group(codes, int(codes.max()) + 1, values)
    sums = sums[np.abs(sums) > _SAME * np.abs(values).max()]  # flips do not change zeros
    least = sums.sum() - _SAME * np.abs(sums).sum()
    k = len(sums)
    if k <= MOST_ENUMERATED:
        patterns = 1 - 2 * (np.arange(2**k)[:, None] >> np.arange(k) & 1)
        return float((patterns @ sums >= least).mean())
    above = 0
    for start in range(0, drawn, _AT_A_TIME):
        patterns = 2 * rng.integers(0, 2, (min(_AT_A_TIME, drawn - start), k), dtype=np.int8) - 1
        above += int((patterns @ sums >= least).sum())
    return (1 + above) / (1 + drawn)
