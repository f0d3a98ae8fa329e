"""The exact permutation test of two small samples: do their means differ by more than chance
explains?

If both samples are draws of the same, every way to share out the pooled numbers over the two is as
likely as the one that was seen (Fisher 1935; Pitman 1937). All ways are gone through, so the test
is exact for any distribution, with ties too. With few numbers it can show little, which is said
with it: the smallest p is that of samples that do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats import validate

MOST_WAYS = 200_000  # to share out the numbers: 184,756 for 10 against 10
_SAME = 1e-12  # of the sum of absolute numbers: two sums that are equal but for rounding tie


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """The two-sided test of a difference of means. p: NaN where a sample is empty. difference: of
    the means, b less a.

    ways: to share out the numbers. smallest_p: what p is at least for samples of these sizes.
    """

    p: float
    difference: float
    ways: int
    smallest_p: float


def permutation_test(a: ArrayLike, b: ArrayLike) -> PermutationTest:
    """Return the exact two-sided permutation test of whether the means of two samples differ.

    a, b: finite numbers of shape (n_a,) and (n_b,). p is twice the smaller of two shares: of
    permutations with a difference at least as large, and at most as large, as the observed one. p
    is at most 1; this is the p of `scipy.stats.permutation_test`. Raise InputError for other
    numbers, and for samples with more than MOST_WAYS ways.
    """
    first, second = validate.numbers("a", a), validate.numbers("b", b)
    n, k = len(first) + len(second), len(second)
    ways = comb(n, k)
    if ways > MOST_WAYS:
        raise InputError(
            f"samples of {n - k} and {k} numbers: {ways:,} ways to share them out, expected"
            f" {MOST_WAYS:,} at most"
        )
    if not 0 < k < n:
        return PermutationTest(float("nan"), float("nan"), ways, float("nan"))
    values = np.concatenate((second, first))
    # For given sizes the sum of the second sample grows with the difference of the means.
    sums = values[np.array(list(combinations(range(n), k)))].sum(axis=1)
    near = _SAME * np.abs(values).sum()
    tails = (sums >= sums[0] - near).mean(), (sums <= sums[0] + near).mean()
    difference = float(second.mean() - first.mean())
    return PermutationTest(min(1.0, 2 * float(min(tails))), difference, ways, min(1.0, 2 / ways))
