"""Do 95% intervals hold the truth 95 times in 100? Each is asked on the kind of data that it is meant for.

Rows that are independent for the row intervals; perturbations (or genes) with effects of their own for the clustered
ones; both crossed for the two-way ones. The product bootstrap is conservative by design: it may hold it more often.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from core.stats.bootstrap import Drawn, ResamplingPlan, bootstrap_score, both_axes
from core.stats.intervals import Interval
from core.stats.official_score import score_with_intervals
from tests.stats.simulations import Simulated, simulated

# 1,000 data sets hold the coverage to 93-97% as it stands (a minute); fewer need the binomial's tolerance on top.
DATA_SETS = 150
RESAMPLES = 400
ROWS = 900
SPREADS = {"row": (0.0, 0.0), "pert": (0.6, 0.0), "gene": (0.0, 0.6), "two-way": (0.45, 0.45)}
TOLERANCE = 0.0 if DATA_SETS >= 1000 else 2.6 * np.sqrt(0.05 * 0.95 / DATA_SETS)


def data_sets(unit: str) -> Iterator[tuple[int, Simulated]]:
    """Seeds and data sets whose rows are related as `unit` says."""
    for seed in range(DATA_SETS):
        yield seed, simulated(np.random.default_rng([seed, 1]), ROWS, *SPREADS[unit])


def covered(intervals: list[tuple[Interval, float]]) -> float:
    """The share of intervals that hold their truth."""
    return float(np.mean([interval.low <= truth <= interval.high for interval, truth in intervals]))


@pytest.mark.parametrize("unit", ["row", "pert", "gene", "two-way"])
def test_analytic_intervals_hold_the_truth(unit: str) -> None:
    found = []
    for _, data in data_sets(unit):
        mean = score_with_intervals(data.labels, data.scores, data.pert, data.gene).mean
        found.append((getattr(mean, unit.replace("-", "_")), data.truth))
    assert 0.93 - TOLERANCE <= covered(found) <= 0.97 + TOLERANCE


@pytest.mark.parametrize("unit", ["row", "pert", "gene"])
def test_bootstraps_hold_the_truth(unit: Drawn) -> None:
    found = [
        (bootstrap_score(data.labels, data.scores, ResamplingPlan(unit, seed, RESAMPLES), data.pert, data.gene).mean, data.truth)
        for seed, data in data_sets(unit)
    ]
    assert 0.93 - TOLERANCE <= covered(found) <= 0.97 + TOLERANCE


def test_bootstraps_over_both_axes_hold_the_truth_and_the_product_more_than_that() -> None:
    products, combined = [], []
    for seed, data in data_sets("two-way"):
        plans = [ResamplingPlan(unit, seed, RESAMPLES) for unit in ("row", "pert", "gene", "two-way")]
        means = (bootstrap_score(data.labels, data.scores, plan, data.pert, data.gene).mean for plan in plans)
        found = both_axes(*means)
        products.append((found.product, data.truth))
        combined.append((found.combined, data.truth))
    assert 0.93 - TOLERANCE <= covered(combined) <= 0.97 + TOLERANCE
    assert covered(products) >= 0.93
    assert covered(products) > covered(combined)


def test_row_intervals_are_too_narrow_where_rows_share_a_perturbation() -> None:
    pert, row = [], []
    for seed in range(100):
        data = simulated(np.random.default_rng([seed, 2]), ROWS, pert_spread=1.5)
        mean = score_with_intervals(data.labels, data.scores, data.pert, data.gene).mean
        pert.append((mean.pert, data.truth))
        row.append((mean.row, data.truth))
    assert covered(row) < 0.9 < covered(pert)
