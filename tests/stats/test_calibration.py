from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import norm
from sklearn.metrics import brier_score_loss, roc_auc_score

from core.base.errors import InputError
from core.stats.calibration import reliability, tie_bounds
from tests.stats.oracles import scored_rows


def alone(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of both axes for rows that share nothing."""
    return np.arange(n), np.arange(n)


def test_reliability_by_hand() -> None:
    # two bins: 0.1 and 0.3 (neither happened), 0.5, 0.7 and 0.9 (two of three); an edge belongs to the bin above it
    found = reliability([0, 0, 1, 0, 1], [0.1, 0.3, 0.5, 0.7, 0.9], *alone(5), bins=2)
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
    found = reliability(positive, p, *alone(500))
    assert found.brier == pytest.approx(brier_score_loss(positive, p))
    assert sum(b.observed.n for b in found.bins) == 500
    assert sum(b.observed.n * b.observed.estimate for b in found.bins) == pytest.approx(
        positive.sum()
    )


def test_probabilities_that_are_right_are_calibrated() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(20_000)
    assert reliability(rng.random(20_000) < p, p, *alone(20_000)).ece < 0.02
    assert reliability(rng.random(20_000) < p**2, p, *alone(20_000)).ece > 0.1


def test_sums_of_decimals_fall_into_the_bin_that_was_meant() -> None:
    (found,) = reliability([1, 1], [0.1 + 0.2, 0.3], *alone(2), bins=10).bins
    assert (found.low, found.observed.n) == (pytest.approx(0.3), 2)


def test_bins_without_rows_are_left_out_and_no_rows_have_no_number() -> None:
    found = reliability([1], [1.0], *alone(1), bins=4)
    assert (len(found.bins), found.bins[0].low, found.ece) == (1, 0.75, 0.0)
    nothing = reliability([], [], [], [])
    assert nothing.bins == ()
    assert np.isnan([nothing.ece, nothing.debiased, nothing.brier]).all()
    with pytest.raises(InputError, match=r"probability: row 0: got 1\.5"):
        reliability([1], [1.5], *alone(1))
    with pytest.raises(InputError, match="bins: got 0"):
        reliability([1], [0.5], *alone(1), bins=0)


def test_the_debiased_error_takes_away_what_noise_adds() -> None:
    rng = np.random.default_rng(3)
    p = rng.choice(
        [0.1, 0.35, 0.6, 0.95], 300
    )  # one probability per bin: the bin's variance is that of its flags
    positive = rng.random(300) < np.sqrt(p)
    expected = 0.0
    for one in np.unique(p):
        inside = positive[p == one]
        distance, se = inside.mean() - one, np.sqrt(inside.var(ddof=1) / len(inside))
        noisy = np.abs(
            distance + se * rng.normal(size=200_000)
        ).mean()  # as Kumar, Liang and Ma's own code does
        expected += len(inside) / 300 * (abs(distance) - (noisy - abs(distance)))
    assert reliability(positive, p, *alone(300)).debiased == pytest.approx(expected, abs=5e-4)


def clustered_flags(
    rng: np.random.Generator, p: np.ndarray, pert: np.ndarray, gene: np.ndarray
) -> np.ndarray:
    """Flags whose probabilities are exactly p, and which depend on each other by perturbation and gene (a normal copula)."""
    shared = np.sqrt(0.2) * (
        rng.normal(size=pert.max() + 1)[pert] + rng.normal(size=gene.max() + 1)[gene]
    )
    return shared + np.sqrt(0.6) * rng.normal(size=len(p)) < norm.ppf(p)


@pytest.mark.soak
def test_bands_hold_what_a_calibrated_model_shows_and_noise_is_most_of_its_error() -> None:
    inside, independent, ece, debiased = [], [], [], []
    for seed in range(150):
        rng = np.random.default_rng([seed, 4])
        p, pert, gene = rng.beta(2, 2, 1200), rng.integers(0, 60, 1200), rng.integers(0, 150, 1200)
        positive = clustered_flags(rng, p, pert, gene)
        found, plain = (
            reliability(positive, p, pert, gene, bins=5),
            reliability(positive, p, *alone(1200), bins=5),
        )
        inside += [each.band_low <= each.observed.estimate <= each.band_high for each in found.bins]
        independent += [
            each.band_low <= each.observed.estimate <= each.band_high for each in plain.bins
        ]
        ece.append(found.ece)
        debiased.append(found.debiased)
    assert 0.92 <= np.mean(inside) <= 0.985
    assert np.mean(independent) < 0.9  # bands of independent rows are too narrow
    assert np.mean(debiased) < 0.65 * np.mean(ece)  # a calibrated model's is all noise


@given(scored_rows(least=1))
def test_tie_bounds_are_what_a_label_knowing_tie_breaker_makes(
    rows: tuple[np.ndarray, list[np.ndarray]],
) -> None:
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
    before, after = (reliability(positive, each, *alone(len(p))) for each in (p, p**3))
    assert before.ece != pytest.approx(after.ece, abs=1e-3)
