from __future__ import annotations

import pytest
from scipy.stats import nct, norm, t

from core.base.errors import InputError
from core.stats.power import detectable_difference


def test_detectable_difference_by_hand() -> None:
    assert detectable_difference(0.01) == pytest.approx(
        0.028016, abs=1e-6
    )  # (1.95996 + 0.84162) / 100
    assert detectable_difference(0.01, power=0.9, level=0.01) == pytest.approx(
        0.038574, abs=1e-6
    )  # 2.57583 + 1.28155


@pytest.mark.parametrize("df", [1.0, 2.5, 4.0, 7.0, 40.0])
def test_with_few_degrees_of_freedom_it_is_shown_four_times_in_five(df: float) -> None:
    true = detectable_difference(0.01, df=df) / 0.01
    assert nct(df, true).sf(t(df).ppf(0.975)) == pytest.approx(0.8, abs=1e-5)


def test_a_test_shows_the_detectable_difference_four_times_in_five() -> None:
    true, z = detectable_difference(1.0), norm.ppf(0.975)
    assert norm.sf(z, loc=true) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detectable_difference(0.1, power=1.0), "power: got 1.0"),
        (lambda: detectable_difference(0.1, level=0.0), "level: got 0.0"),
    ],
)
def test_impossible_questions_are_refused(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]
