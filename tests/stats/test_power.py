from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nct, norm, t

from core.errors import InputError
from core.stats.power import (
    PublicPart,
    correlation,
    detectable_difference,
    public_change_noise,
    se_on_rows,
)
from core.stats.scores_and_labels import scores_from_probabilities
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(51)
LABELS, DE, UP = some_rows(RNG, 600)
A, B = scores_from_probabilities(DE, UP), scores_from_probabilities(DE + 0.2 * RNG.random(600), UP + 0.2 * RNG.random(600))
FLAT = scores_from_probabilities(np.full(600, 0.5), np.full(600, 0.5))  # scores 0.5 on every part
PERT, GENE = RNG.integers(0, 80, 600), RNG.integers(0, 90, 600)


def test_detectable_difference_by_hand() -> None:
    assert detectable_difference(0.01) == pytest.approx(0.028016, abs=1e-6)  # (1.95996 + 0.84162) / 100
    assert detectable_difference(0.01, power=0.9, level=0.01) == pytest.approx(0.038574, abs=1e-6)  # 2.57583 + 1.28155


@pytest.mark.parametrize("df", [1.0, 2.5, 4.0, 7.0, 40.0])
def test_with_few_degrees_of_freedom_it_is_shown_four_times_in_five(df: float) -> None:
    true = detectable_difference(0.01, df=df) / 0.01
    assert nct(df, true).sf(t(df).ppf(0.975)) == pytest.approx(0.8, abs=1e-5)


def test_a_test_shows_the_detectable_difference_four_times_in_five() -> None:
    true, z = detectable_difference(1.0), norm.ppf(0.975)
    assert norm.sf(z, loc=true) == pytest.approx(0.8)


def test_a_quarter_of_the_rows_doubles_the_standard_error() -> None:
    assert se_on_rows(0.02, 1000, 250) == pytest.approx(0.04)


def test_correlation_undoes_the_standard_error_of_the_difference() -> None:
    # sqrt(0.02² + 0.03² - 2 · 0.6 · 0.02 · 0.03) = sqrt(0.00058)
    assert correlation(0.02, 0.03, 0.00058**0.5) == pytest.approx(0.6)
    assert np.isnan(correlation(0.0, 0.03, 0.03))
    assert np.isnan(correlation(float("nan"), 0.03, 0.03))


def test_a_public_part_is_noisier_the_smaller_it_is() -> None:
    half, eighth = (
        public_change_noise(LABELS, FLAT, A, PublicPart(rows, "row", seed=1, resamples=2000), PERT, GENE).se for rows in (300, 75)
    )
    assert eighth / half == pytest.approx(2, rel=0.12)


def test_two_runs_share_the_noise_of_their_part() -> None:
    part = PublicPart(300, "two-way", seed=2, resamples=1000)
    change, other = (public_change_noise(LABELS, A, each, part, PERT, GENE) for each in (B, FLAT))
    assert change.se < other.se
    assert (change.unit, change.resamples) == ("two-way", 1000)


def test_a_part_by_both_axes_has_the_asked_number_of_rows() -> None:
    plan = PublicPart(150, "two-way", seed=1).plan(LABELS)
    assert plan.size**2 * 600 == pytest.approx(150)  # both axes are thinned alike
    assert PublicPart(150, "gene", seed=1).plan(LABELS).size == 0.25


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detectable_difference(0.1, power=1.0), "power: got 1.0"),
        (lambda: detectable_difference(0.1, level=0.0), "level: got 0.0"),
        (lambda: se_on_rows(0.1, 0, 10), "n: got 0"),
        (lambda: PublicPart(904, "row", 1).plan([None]), "labelled rows: got 0"),
    ],
)
def test_impossible_questions_are_refused(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]
