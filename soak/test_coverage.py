"""A thousand data sets for each interval, whose coverage has to be 93 to 97%; tests/stats/test_coverage.py has 50.

Two thousand for the interval that is shown, which is asked with few clusters too.
"""

from __future__ import annotations

from dataclasses import asdict

import pytest

from core.stats.bootstrap import ResamplingUnit
from soak.conftest import Record
from tests.stats.simulations import Design
from tests.stats.test_coverage import (
    CHALLENGE,
    DRAWN,
    EFFECTS,
    FEW_CLUSTERS,
    FULL_STRENGTH,
    UNITS,
    analytic_coverage,
    assert_enough,
    assert_nominal,
    bootstrap_coverage,
    both_axes_coverage,
    shown_coverage,
)

SHOWN_DATA_SETS = 2000


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


@pytest.mark.parametrize("effects", EFFECTS)
def test_shown_intervals_hold_the_truth_on_as_many_rows_as_the_challenge_has(effects: str, record: Record) -> None:
    found = shown_coverage(CHALLENGE, effects, SHOWN_DATA_SETS)
    record(data_sets=SHOWN_DATA_SETS, **asdict(found))
    assert_nominal(found.coverage, SHOWN_DATA_SETS)


@pytest.mark.parametrize("effects", EFFECTS)
@pytest.mark.parametrize("design", FEW_CLUSTERS.values(), ids=FEW_CLUSTERS)
def test_shown_intervals_hold_the_truth_with_few_clusters(design: Design, effects: str, record: Record) -> None:
    found = shown_coverage(design, effects, SHOWN_DATA_SETS)
    record(data_sets=SHOWN_DATA_SETS, **asdict(found))
    assert_enough(found.coverage, effects, SHOWN_DATA_SETS, SHOWN_DATA_SETS)
