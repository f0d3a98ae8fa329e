from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from core.base.errors import InputError
from core.stats.auroc import auroc
from core.stats.calibration import fit_logistic, recalibrate, reliability

RNG = np.random.default_rng(111)
N = 3000
TRUE = RNG.random(N)
POSITIVE = RNG.random(N) < TRUE
TOO_EXTREME = expit(0.4 + 2.5 * logit(TRUE))
PERT, GENE = RNG.integers(0, 90, N), RNG.integers(0, 120, N)


def test_the_curve_is_scikit_learns() -> None:
    odds = logit(TOO_EXTREME)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[:, None], POSITIVE)
    intercept, slope = fit_logistic(odds, POSITIVE)
    assert (intercept, slope) == pytest.approx((model.intercept_[0], model.coef_[0, 0]), abs=1e-4)
    assert (intercept, slope) == pytest.approx((-0.4 / 2.5, 1 / 2.5), abs=0.12)


def test_each_row_s_curve_saw_no_row_of_its_perturbation() -> None:
    found = recalibrate(POSITIVE, TOO_EXTREME, PERT, seed=0)
    for one in (0, 1, 2):
        flipped = np.where(one == PERT, ~POSITIVE, POSITIVE)
        again = recalibrate(flipped, TOO_EXTREME, PERT, seed=0)
        np.testing.assert_array_equal(
            again.probability[one == PERT], found.probability[one == PERT]
        )
        assert (again.probability != found.probability).any()


def test_recalibrated_probabilities_are_calibrated_and_nearly_as_sharp() -> None:
    found = recalibrate(POSITIVE, TOO_EXTREME, PERT, seed=0)
    before, after = (reliability(POSITIVE, p, PERT, GENE) for p in (TOO_EXTREME, found.probability))
    assert before.debiased > 0.1 > 0.03 > after.debiased
    assert after.brier < before.brier
    assert auroc(POSITIVE, found.probability) == pytest.approx(
        auroc(POSITIVE, TOO_EXTREME), abs=0.002
    )
    assert found.slope == pytest.approx(0.4, abs=0.05)


def test_certain_and_separated_predictions_have_a_curve_too() -> None:
    p = np.where(np.arange(40) < 20, 0.0, 1.0)
    found = recalibrate(p > 0.5, p, np.arange(40), seed=1)
    assert np.isfinite(found.probability).all()
    assert found.probability[:20].max() < 0.01 < 0.99 < found.probability[20:].min()


def test_the_seed_cuts_the_folds() -> None:
    first, again, other = (
        recalibrate(POSITIVE, TOO_EXTREME, PERT, seed=seed).probability for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    with pytest.raises(InputError, match="folds: got 1"):
        recalibrate(POSITIVE, TOO_EXTREME, PERT, seed=0, folds=1)
