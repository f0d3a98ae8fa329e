from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import brier_score_loss, roc_auc_score

from core.errors import InputError
from core.stats.calibration import reliability, tie_bounds
from tests.stats.oracles import scored_rows


def test_reliability_by_hand() -> None:
    # two bins: 0.1 and 0.3 (neither happened), 0.5, 0.7 and 0.9 (two of three); an edge belongs to the bin above it
    found = reliability([0, 0, 1, 0, 1], [0.1, 0.3, 0.5, 0.7, 0.9], bins=2)
    low, high = found.bins
    assert (low.low, low.high, low.observed.n, low.observed.estimate) == (0.0, 0.5, 2, 0.0)
    assert (high.low, high.high, high.observed.n) == (0.5, 1.0, 3)
    assert (low.mean_probability, high.mean_probability) == pytest.approx((0.2, 0.7))
    # ece: 2/5 · |0.2 - 0| + 3/5 · |0.7 - 2/3| = 0.08 + 0.02; brier: (0.01 + 0.09 + 0.25 + 0.49 + 0.01) / 5
    assert found.ece == pytest.approx(0.1)
    assert found.brier == pytest.approx(0.17)
    assert found.n == 5


def test_brier_equals_scikit_learn_and_rows_are_all_counted() -> None:
    rng = np.random.default_rng(1)
    positive, p = rng.random(500) < 0.3, np.round(rng.random(500), 2)
    found = reliability(positive, p)
    assert found.brier == pytest.approx(brier_score_loss(positive, p))
    assert sum(b.observed.n for b in found.bins) == 500
    assert sum(b.observed.n * b.observed.estimate for b in found.bins) == pytest.approx(positive.sum())


def test_probabilities_that_are_right_are_calibrated() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(20_000)
    assert reliability(rng.random(20_000) < p, p).ece < 0.02
    assert reliability(rng.random(20_000) < p**2, p).ece > 0.1


def test_sums_of_decimals_fall_into_the_bin_that_was_meant() -> None:
    found = reliability([1, 1], [0.1 + 0.2, 0.3], bins=10)
    assert found.bins[3].observed.n == 2


def test_empty_bins_and_no_rows() -> None:
    found = reliability([1], [1.0], bins=4)
    assert np.isnan(found.bins[0].mean_probability)
    assert (found.bins[3].observed.n, found.ece) == (1, 0.0)
    assert np.isnan([reliability([], []).ece, reliability([], []).brier]).all()
    with pytest.raises(InputError, match=r"probability: row 0: got 1\.5"):
        reliability([1], [1.5])
    with pytest.raises(InputError, match="bins: got 0"):
        reliability([1], [0.5], bins=0)


@given(scored_rows(least=1))
def test_tie_bounds_are_what_a_label_knowing_tie_breaker_makes(rows: tuple[np.ndarray, list[np.ndarray]]) -> None:
    positive, (values,) = rows
    found, nudge = tie_bounds(positive, values), 1e-3 * positive
    assert found.ceiling == pytest.approx(roc_auc_score(positive, values + nudge))
    assert found.floor == pytest.approx(roc_auc_score(positive, values - nudge))
    assert found.auroc == pytest.approx(roc_auc_score(positive, values))
    assert found.tied_pairs == pytest.approx(found.ceiling - found.floor)
    assert found.distinct == len(np.unique(values))


def test_tie_bounds_count_meant_ties_and_survive_one_class() -> None:
    assert tie_bounds([1, 0], [0.1 + 0.2, 0.3]).tied_pairs == 1.0
    assert np.isnan(tie_bounds([1, 1], [0.1, 0.2]).ceiling)


def test_auroc_and_its_bounds_do_not_change_under_increasing_maps() -> None:
    rng = np.random.default_rng(3)
    positive, p = rng.random(300) < 0.4, np.round(rng.random(300), 2)
    assert tie_bounds(positive, p) == tie_bounds(positive, p**3)
    assert reliability(positive, p).ece != pytest.approx(reliability(positive, p**3).ece, abs=1e-3)
