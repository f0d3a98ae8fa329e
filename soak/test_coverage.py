"""A thousand data sets for each interval, whose coverage has to be 93 to 97%; tests/stats/test_coverage.py has 150."""

from __future__ import annotations

import pytest

from core.stats.bootstrap import ResamplingUnit
from soak.conftest import Record
from tests.stats.test_coverage import (
    DRAWN,
    FULL_STRENGTH,
    UNITS,
    analytic_coverage,
    assert_nominal,
    bootstrap_coverage,
    both_axes_coverage,
)


@pytest.mark.parametrize("unit", UNITS)
def test_analytic_intervals_hold_the_truth(unit: str, record: Record) -> None:
    coverage = analytic_coverage(unit, FULL_STRENGTH)
    record(data_sets=FULL_STRENGTH, coverage=coverage)
    assert_nominal(coverage, FULL_STRENGTH)


@pytest.mark.parametrize("unit", DRAWN)
def test_bootstraps_hold_the_truth(unit: ResamplingUnit, record: Record) -> None:
    coverage = bootstrap_coverage(unit, FULL_STRENGTH)
    record(data_sets=FULL_STRENGTH, coverage=coverage)
    assert_nominal(coverage, FULL_STRENGTH)


def test_bootstraps_over_both_axes_hold_the_truth(record: Record) -> None:
    """The product is conservative by design: it has a lower bound alone, and holds the truth more often."""
    product, combined = both_axes_coverage(FULL_STRENGTH)
    record(data_sets=FULL_STRENGTH, product=product, combined=combined)
    assert_nominal(combined, FULL_STRENGTH)
    assert product >= 0.93
    assert product > combined
