from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binomtest, norm, t

from core.stats.intervals import (
    Z95,
    Carriers,
    Interval,
    add_variance,
    auroc_interval,
    normal_interval,
    p_gt_0,
    why_no_interval,
    widest_interval,
    wilson_limits,
)


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
    [
        (0.196, 0.01, 0.975),
        (-0.196, 0.01, 0.025),
        (0.0, 0.0, 0.5),
        (0.1, 0.0, 1.0),
        (-0.1, 0.0, 0.0),
    ],
)
def test_p_gt_0(estimate: float, variance: float, expected: float) -> None:
    interval = normal_interval(estimate, variance, 9, "row", "DeLong", (-1.0, 1.0))
    assert p_gt_0(interval) == pytest.approx(expected, abs=1e-4)


def test_p_gt_0_is_unknown_without_a_standard_error() -> None:
    assert np.isnan(p_gt_0(normal_interval(0.1, float("nan"), 9, "row", "DeLong")))


def four_intervals(*variances: float) -> list[Interval]:
    units = ("row", "pert", "gene", "two-way")
    return [
        normal_interval(0.6, variance, 50, unit, "DeLong")
        for unit, variance in zip(units, variances, strict=True)
    ]


def test_the_widest_interval_by_hand() -> None:
    # the perturbations' standard error is the largest, and of 8 perturbations and 20 genes the 8 leave 7 degrees of freedom
    found = widest_interval(four_intervals(0.0004, 0.0025, 0.0009, 0.0016), 8, 20)
    assert found.se == pytest.approx(0.05)
    assert (found.low, found.high) == pytest.approx((0.6 - 2.364624 * 0.05, 0.6 + 2.364624 * 0.05))
    assert (found.clusters, found.df, found.unit, found.n) == (8, 7, "two-way", 50)
    assert widest_interval(four_intervals(0.0004, 0.25, 0.0009, 0.0016), 8, 20).high == 1.0


@pytest.mark.parametrize(
    ("n_perts", "n_genes", "unit", "clusters"),
    [(1, 20, "gene", 20), (8, 1, "pert", 8), (1, 1, "row", None)],
)
def test_an_axis_of_a_single_cluster_is_left_out(
    n_perts: int, n_genes: int, unit: str, clusters: int | None
) -> None:
    nan = float("nan")
    by_unit = four_intervals(
        0.0004, nan if n_perts == 1 else 0.0025, nan if n_genes == 1 else 0.0009, nan
    )
    found = widest_interval(by_unit, n_perts, n_genes)
    assert (found.unit, found.clusters) == (unit, clusters)
    assert found.se == pytest.approx({"gene": 0.03, "pert": 0.05, "row": 0.02}[unit])
    assert found.method != widest_interval(by_unit, 8, 20).method


def carried(
    row: float, pert: float, gene: float, *, is_constant: bool = False, rows: float = 30.0
) -> Carriers:
    return Carriers(
        {"row": row, "pert": pert, "gene": gene},
        {"row": rows, "pert": 5.0, "gene": 20.0},
        is_constant,
    )


def test_satterthwaites_degrees_of_freedom_by_hand() -> None:
    # genes add nothing: V = 0.0004 + 0.0005; df = 0.0009² / (0.0004² / (3 · 30) + 0.0009² / 4)
    assert carried(4e-4, 9e-4, 3e-4).degrees(is_difference=False) == pytest.approx(
        81 / (16 / 90 + 81 / 4)
    )
    # both add: V = 4 + 5 + 2; nothing adds: three times the rows that carry it; a missing axis adds nothing
    assert carried(4e-4, 9e-4, 6e-4).degrees(is_difference=False) == pytest.approx(
        121 / (16 / 90 + 81 / 4 + 36 / 19)
    )
    assert carried(4e-4, 1e-4, 2e-4).degrees(is_difference=False) == pytest.approx(90)
    assert carried(4e-4, float("nan"), 2e-4).degrees(is_difference=False) == pytest.approx(90)
    assert carried(1e-9, 1.0, 0.0).degrees(is_difference=False) == pytest.approx(4)
    # an axis whose variance exceeds that of rows by rounding alone adds nothing, whichever way it was rounded
    assert carried(4e-4, np.nextafter(4e-4, 1), 2e-4).degrees(is_difference=False) == pytest.approx(
        90
    )
    # a difference: rows have no part of their own
    assert carried(4e-4, 9e-4, 6e-4).degrees(is_difference=True) == pytest.approx(
        121 / (81 / 4 + 36 / 19)
    )
    assert np.isinf(carried(4e-4, 1e-4, 2e-4).degrees(is_difference=True))


def test_limits_of_a_score_stand_on_the_logit_scale_and_those_of_a_difference_do_not() -> None:
    score = replace(normal_interval(0.98, 1e-4, 50, "row", "DeLong"), clusters=5)
    found = auroc_interval(score, carried(1e-4, 0.0, 0.0), (0.0, 1.0))
    q = t(90).ppf(0.975)
    reach = q * 0.01 / (0.98 * 0.02)
    assert (found.low, found.high) == pytest.approx(
        (expit(logit(0.98) - reach), expit(logit(0.98) + reach))
    )
    assert (found.se, found.df, found.clusters) == (pytest.approx(0.01), pytest.approx(90), 5)
    more = add_variance(found, 1e-4)
    assert more.high == pytest.approx(expit(logit(0.98) + np.sqrt(2) * reach))
    change = auroc_interval(replace(score, estimate=0.02), carried(1e-4, 0.0, 0.0), (-1.0, 1.0))
    z = norm.ppf(0.975)  # rows alone carry it, which count as infinitely many
    assert (change.low, change.high) == pytest.approx((0.02 - z * 0.01, 0.02 + z * 0.01))


@pytest.mark.parametrize(
    ("variance", "rows", "is_constant", "least", "why"),
    [
        (1e-4, 5.9, False, 0.0, "its standard error rests on too few rows"),
        (1e-4, 6.0, False, 0.0, ""),
        (1e-4, 7.9, False, -1.0, "its standard error rests on too few rows"),
        (1e-4, 8.0, False, -1.0, ""),
        (0.0, float("nan"), False, 0.0, "its standard error is 0 by chance"),
        (0.0, float("nan"), True, 0.0, ""),
    ],
)
def test_what_rests_on_too_little_has_no_interval_and_says_why(
    variance: float, rows: float, is_constant: bool, least: float, why: str
) -> None:
    score = normal_interval(0.5, variance, 50, "row", "DeLong")
    found = auroc_interval(
        score, carried(variance, 0.0, 0.0, is_constant=is_constant, rows=rows), (least, 1.0)
    )
    assert why_no_interval(found) == why
    assert bool(np.isnan([found.low, found.high, found.se]).all()) == bool(why)


@pytest.mark.parametrize(
    ("clusters", "has_limits"), [(2, False), (3, False), (4, True), (None, True)]
)
def test_two_or_three_clusters_have_no_interval(clusters: int | None, has_limits: bool) -> None:
    score = replace(normal_interval(0.6, 1e-4, 50, "row", "DeLong"), clusters=clusters)
    found = auroc_interval(score, carried(1e-4, 0.0, 0.0), (0.0, 1.0))
    assert (not np.isnan(found.low), why_no_interval(found) == "") == (has_limits, has_limits)
    assert has_limits or "fewer than 4 perturbations or genes" in why_no_interval(found)


def test_no_standard_error_has_no_limits() -> None:
    found = widest_interval(four_intervals(*[float("nan")] * 4), 3, 4)
    assert found.estimate == 0.6
    assert np.isnan([found.se, found.low, found.high]).all()


def test_a_perfect_ranking_has_no_interval_and_no_change_has_one() -> None:
    perfect = [normal_interval(1.0, 0.0, 9, "row", "DeLong")] * 4
    assert np.isnan(widest_interval(perfect, 3, 4).low)
    unchanged = [normal_interval(0.0, 0.0, 9, "row", "DeLong", (-1.0, 1.0))] * 4
    assert (
        widest_interval(unchanged, 3, 4, (-1.0, 1.0)).low,
        widest_interval(unchanged, 3, 4, (-1.0, 1.0)).high,
    ) == (0, 0)


def test_p_gt_0_of_few_clusters_is_students() -> None:
    found = widest_interval(four_intervals(0.0004, 0.09, 0.0009, 0.0016), 5, 20, (-1.0, 1.0))
    assert p_gt_0(found) == pytest.approx(t(4).cdf(2.0))


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (3, 7), (7, 7), (50, 200)])
def test_wilson_equals_scipy(successes: int, n: int) -> None:
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    found = wilson_limits(successes / n, n, Z95)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
