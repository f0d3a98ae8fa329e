from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t, ttest_1samp

from core.base.errors import InputError
from core.stats.comparison import equivalence
from core.stats.intervals import Interval, normal_interval

NAN = float("nan")


def difference(estimate: float, se: float, clusters: int | None = None) -> Interval:
    return Interval(estimate, NAN, NAN, se, 100, "two-way", "", clusters=clusters)


def test_two_one_sided_tests_are_scipys() -> None:
    differences = np.random.default_rng(3).normal(0.01, 0.1, 25)  # one for each of 25 clusters
    change = difference(differences.mean(), differences.std(ddof=1) / 5, 25)
    found = equivalence(change, 0.05)
    assert found.p_below == pytest.approx(
        ttest_1samp(differences, -0.05, alternative="greater").pvalue
    )
    assert found.p_above == pytest.approx(ttest_1samp(differences, 0.05, alternative="less").pvalue)
    assert found.p == max(found.p_below, found.p_above)


def test_normal_by_hand() -> None:
    found = equivalence(normal_interval(0.005, 0.0001, 50, "two-way", "", (-1, 1)), 0.03)
    assert found.p_above == pytest.approx(norm.sf(2.5))  # (0.03 - 0.005) / 0.01
    assert found.p_below == pytest.approx(norm.sf(3.5))
    assert (found.low, found.high) == pytest.approx(
        (0.005 - 0.0164485, 0.005 + 0.0164485), abs=1e-6
    )
    assert found.equal
    assert found.smallest_margin == pytest.approx(found.high)


@pytest.mark.parametrize("estimate", [-0.04, 0.0, 0.013, 0.2])
@pytest.mark.parametrize("margin", [0.001, 0.03, 0.1])
def test_equal_exactly_if_the_90_percent_interval_is_inside_the_margin(
    estimate: float, margin: float
) -> None:
    found = equivalence(difference(estimate, 0.02, 12), margin)
    half = t(11).ppf(0.95) * 0.02
    assert (found.low, found.high) == pytest.approx((estimate - half, estimate + half))
    assert found.equal == (-margin < found.low and found.high < margin)
    assert found.equal == (margin > found.smallest_margin)


def test_no_error_and_no_difference() -> None:
    assert equivalence(difference(0.0, 0.0), 0.01).p == 0.0
    assert equivalence(difference(0.02, 0.0), 0.01).p == 1.0
    assert not equivalence(difference(0.0, NAN), 0.01).equal
    with pytest.raises(InputError, match=r"margin: got 0"):
        equivalence(difference(0.0, 0.1), 0.0)
