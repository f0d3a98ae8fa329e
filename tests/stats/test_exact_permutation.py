"""The exact permutation test of two small samples, against SciPy's and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from core.base.errors import InputError
from core.stats.permutations import permutation_test
from tests.strength import examples

# Multiples of 1/64 have exact sums, so that neither side's rounding decides which ways tie.
NUMBERS = st.integers(-64, 64).map(lambda n: n / 64)
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=5)  # SciPy needs two


@given(SAMPLES, SAMPLES)
@examples(60)
def test_p_is_that_of_scipy(a: list[float], b: list[float]) -> None:
    found = permutation_test(a, b)

    def difference(x, y, axis):
        return np.mean(y, axis=axis) - np.mean(x, axis=axis)

    expected = stats.permutation_test(
        (a, b), difference, vectorized=True, n_resamples=np.inf, alternative="two-sided"
    )
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
    assert found.difference == pytest.approx(np.mean(b) - np.mean(a))


@given(st.permutations(range(8)))
@examples(30)
def test_on_ranks_it_is_the_exact_rank_test(order: list[int]) -> None:
    """Of ranks the mean decides as the rank sum does: p is that of Mann and Whitney."""
    a, b = order[:4], order[4:]
    assert permutation_test(a, b).p == pytest.approx(
        stats.mannwhitneyu(a, b, method="exact").pvalue
    )


@given(SAMPLES, SAMPLES, NUMBERS, st.sampled_from([0.25, 2.0, -1.0]))
@examples(40)
def test_shifts_scales_and_the_order_of_samples_leave_p(
    a: list[float], b: list[float], shift: float, scale: float
) -> None:
    p = permutation_test(a, b).p
    assert permutation_test(b, a).p == pytest.approx(p)
    assert permutation_test(
        [scale * x + shift for x in a], [scale * x + shift for x in b]
    ).p == pytest.approx(p)


def test_by_hand() -> None:
    """1, 2 against 3, 4: of six ways one has a sum of 7 or more, so p is 2/6; the smallest p of two against two."""
    found = permutation_test([1, 2], [3, 4])
    assert (found.p, found.difference, found.ways, found.smallest_p) == (
        pytest.approx(1 / 3),
        2.0,
        6,
        pytest.approx(1 / 3),
    )
    # 5 against 5 that lie apart: 2 of 252 ways
    assert permutation_test(range(5), range(5, 10)).p == pytest.approx(2 / 252)
    assert permutation_test([0.5] * 5, [0.5] * 5).p == 1.0
    assert permutation_test([0.0], [1.0]).p == 1.0
    # 0.1 + 0.2 and 0.3 differ by rounding alone: all of these tie
    assert permutation_test([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]).p == 1.0


def test_the_share_of_false_alarms_is_what_p_says() -> None:
    """Under the null, p is at most 5% in at most 5% of samples: here 5 against 5 from one distribution, 400 times."""
    rng = np.random.default_rng(1)
    found = [permutation_test(*rng.normal(size=(2, 5))).p <= 0.05 for _ in range(400)]
    assert np.mean(found) <= 0.075  # three standard errors above 12/252


def test_empty_and_large_samples() -> None:
    assert math.isnan(permutation_test([1.0], []).p)
    assert math.isnan(permutation_test([], []).smallest_p)
    with pytest.raises(InputError, match="samples of 20 and 20 numbers: 137,846,528,820 ways"):
        permutation_test(range(20), range(20))
    with pytest.raises(InputError, match="a:"):
        permutation_test([math.nan], [1.0])
