from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from core.errors import InputError
from core.stats.ranks import midranks, percentiles, percentiles_against, round_for_ranks

VALUES = st.lists(st.integers(-5, 5).map(lambda k: k / 10), min_size=1, max_size=40)


def test_settle_makes_sums_of_decimals_equal() -> None:
    assert 0.1 + 0.2 != 0.3
    assert round_for_ranks([0.1 + 0.2])[0] == round_for_ranks([0.3])[0]
    assert round_for_ranks([1e-8])[0] != 0  # eight decimals are kept


def test_midranks_do_not_let_rounding_errors_break_ties() -> None:
    assert midranks([0.1 + 0.2, 0.3, 0.1]).tolist() == [2.5, 2.5, 1.0]


@given(VALUES)
def test_midranks_equal_scipy(values: list[float]) -> None:
    assert midranks(values).tolist() == rankdata(values).tolist()


def test_missing_values_stay_missing_and_are_not_counted() -> None:
    # three known values: ranks 1, 2, 3, percentiles 1/4, 2/4, 3/4
    assert percentiles([5.0, np.nan, 1.0, 3.0]).tolist()[::2] == [0.75, 0.25]
    assert np.isnan(percentiles([5.0, np.nan, 1.0, 3.0])[1])
    assert np.isnan(midranks([np.nan])[0])
    assert len(percentiles([])) == 0


@given(VALUES)
def test_percentiles_lie_inside_and_mirror(values: list[float]) -> None:
    found = percentiles(values)
    assert (found > 0).all()
    assert (found < 1).all()
    np.testing.assert_allclose(percentiles(-np.array(values)), 1 - found, atol=1e-15)


@given(VALUES)
def test_percentiles_against_itself_are_percentiles(values: list[float]) -> None:
    assert percentiles_against(values, values).tolist() == percentiles(values).tolist()


def test_percentiles_against_a_reference_ignore_the_other_values() -> None:
    reference = [0.2, 0.4, 0.4, 0.8]
    # ranks among four: below all 0.5, at 0.4 2.5, between 0.4 and 0.8 3.5, above all 4.5; each over 5
    assert percentiles_against(reference, [0.1, 0.4, 0.5, 0.9]).tolist() == [0.1, 0.5, 0.7, 0.9]
    assert percentiles_against(reference, [0.5])[0] == 0.7
    assert np.isnan(percentiles_against([0.2, np.nan], [np.nan])[0])


def test_infinity_is_refused_with_its_row() -> None:
    with pytest.raises(InputError, match=r"values: row 1: got inf"):
        midranks([0.0, np.inf])
