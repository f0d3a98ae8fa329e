from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from core.stats.intervals import normal_interval, p_gt_0, wilson_interval


def test_normal_interval_by_hand() -> None:
    # 0.6 ± 1.959964 · 0.1
    interval = normal_interval(0.6, 0.01, 50, "row", "DeLong")
    assert (interval.low, interval.high) == pytest.approx((0.4040036, 0.7959964))
    assert (interval.estimate, interval.se, interval.n) == (0.6, pytest.approx(0.1), 50)


def test_no_estimate_has_no_interval() -> None:
    interval = normal_interval(float("nan"), 0.01, 0, "row", "DeLong")
    assert np.isnan([interval.estimate, interval.low, interval.high, interval.se]).all()


@pytest.mark.parametrize(
    ("estimate", "variance", "expected"),
    [(0.196, 0.01, 0.975), (-0.196, 0.01, 0.025), (0.0, 0.0, 0.5), (0.1, 0.0, 1.0), (-0.1, 0.0, 0.0)],
)
def test_p_gt_0(estimate: float, variance: float, expected: float) -> None:
    interval = normal_interval(estimate, variance, 9, "row", "DeLong", (-1.0, 1.0))
    assert p_gt_0(interval) == pytest.approx(expected, abs=1e-4)


def test_p_gt_0_is_unknown_without_a_standard_error() -> None:
    assert np.isnan(p_gt_0(normal_interval(0.1, float("nan"), 9, "row", "DeLong")))


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (3, 7), (7, 7), (50, 200)])
def test_wilson_equals_scipy(successes: int, n: int) -> None:
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    interval = wilson_interval(successes, n)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_nothing() -> None:
    assert np.isnan(wilson_interval(0, 0).estimate)
