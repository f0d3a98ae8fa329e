from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from core.base.errors import InputError
from core.stats.ranks import (
    equal_groups,
    midranks,
    nearest_percentiles,
    percentiles,
    percentiles_against,
    rank_from_top,
    ranks_from_top,
    round_for_ranks,
)

VALUES = st.lists(st.integers(-5, 5).map(lambda k: k / 10), min_size=1, max_size=40)


def test_rounding_makes_sums_of_decimals_equal() -> None:
    assert 0.1 + 0.2 != 0.3
    assert round_for_ranks([0.1 + 0.2])[0] == round_for_ranks([0.3])[0]
    assert (
        round_for_ranks([1e-13])[0] != 0
    )  # thirteen decimals are kept: a log-probability near 0 is not 0


def test_midranks_do_not_let_rounding_errors_break_ties() -> None:
    assert midranks([0.1 + 0.2, 0.3, 0.1]).tolist() == [2.5, 2.5, 1.0]


def test_ranks_from_the_top_begin_with_the_largest_value() -> None:
    assert ranks_from_top([0.2, 0.9, 0.5, 0.5]).tolist() == [4.0, 1.0, 2.5, 2.5]
    assert np.isnan(ranks_from_top([0.2, np.nan])).tolist() == [False, True]


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


@given(VALUES)
def test_percentiles_are_their_own_nearest(values: list[float]) -> None:
    exact = percentiles(values)
    found, farthest = nearest_percentiles(exact)
    np.testing.assert_allclose(found, exact, atol=1e-15)
    assert farthest < 1e-9


def test_a_number_moves_to_the_nearest_percentile_of_as_many_rows() -> None:
    # three rows: percentiles are multiples of 1 / 8; 0.26 is 2.08 of them, 0.5 is 4, 0.7 is 5.6
    found, farthest = nearest_percentiles(np.array([0.26, 0.5, 0.7]))
    assert found.tolist() == [0.25, 0.5, 0.75]
    assert farthest == pytest.approx(0.4)


def test_equal_groups_are_quarters_of_the_known_values() -> None:
    # mid-ranks of eight values, two of them level: 1, 2.5, 2.5, 4, 5, 6, 7, 8 of 8; times 4 / 8, rounded up
    values = [10.0, 20.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, np.nan]
    assert equal_groups(values, 4).tolist()[:8] == [1, 2, 2, 2, 3, 3, 4, 4]
    assert np.isnan(equal_groups(values, 4)[8])
    assert np.isnan(equal_groups([np.nan], 4)).all()


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50))
def test_equal_groups_cut_ranks_as_pandas_does(values: list[float]) -> None:
    shares = pd.Series(round_for_ranks(values)).rank(pct=True)
    expected = pd.cut(shares, [0, 0.25, 0.5, 0.75, 1], labels=[1, 2, 3, 4]).astype(float)
    assert equal_groups(values, 4).tolist() == expected.tolist()


def test_infinity_is_refused_with_its_row() -> None:
    with pytest.raises(InputError, match=r"values: row 1: got inf"):
        midranks([0.0, np.inf])


def test_the_rank_from_the_top_counts_what_is_higher_and_what_is_equal() -> None:
    values = [0.9, 0.3, 0.1 + 0.2, np.nan, 0.2]  # 0.1 + 0.2 is 0.30000000000000004
    assert rank_from_top(values, 0.9) == (1, 1)
    assert rank_from_top(values, 0.3) == (2, 2)
    assert rank_from_top(values, 0.2) == (4, 1)
