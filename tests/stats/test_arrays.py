"""Sums over groups, and the order of rows inside strata."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.arrays import order_within, sum_by_group


def test_sums_over_groups_count_rows_without_weights() -> None:
    groups = np.array([0, 2, 2])
    assert sum_by_group(groups, 4).tolist() == [1, 0, 2, 0]
    assert sum_by_group(groups, 4, [0.5, 1, 2]).tolist() == [0.5, 0, 3, 0]


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-1.5, 0.0, 0.25, 3.0])), max_size=40))
def test_rows_are_ordered_by_stratum_and_then_by_value(rows: list[tuple[int, float]]) -> None:
    strata, values = (
        (np.array(column) for column in zip(*rows, strict=True))
        if rows
        else (np.zeros(0, int), np.zeros(0))
    )
    order = order_within(strata, values, 5)
    assert [rows[i] for i in order] == sorted(rows)


@pytest.mark.parametrize("n_strata", [65_535, 65_536, 70_000])
def test_strata_may_be_more_than_a_short_integer_holds(n_strata: int) -> None:
    strata, values = np.array([n_strata - 1, 0, n_strata - 1, 1]), np.array([2.0, 5.0, 1.0, 0.0])
    assert order_within(strata, values, n_strata).tolist() == [1, 3, 2, 0]
