"""The sign-flip test: by hand, against brute force, and its level where pairs can be exchanged."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.stats.permutations import MOST_ENUMERATED, sign_flip_test

VALUES = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5)), min_size=1, max_size=20)


def test_by_hand() -> None:
    # clusters a: 3, b: 1, c: -1. Of the 8 sums only 3+1+1 = 5, 3+1-1 = 3 and 3-1+1 = 3 are at least the observed 3.
    found = sign_flip_test([1, 2, 1, -1], ["a", "a", "b", "c"], np.random.default_rng(0))
    assert found == 3 / 8
    assert sign_flip_test([1, 1, 1], [0, 1, 2], np.random.default_rng(0)) == 1 / 8
    assert (
        sign_flip_test([0, 0, 1, -1], [0, 1, 2, 2], np.random.default_rng(0)) == 1.0
    )  # nothing to flip
    assert np.isnan(sign_flip_test([], [], np.random.default_rng(0)))


@given(VALUES)
def test_equals_brute_force(rows: list[tuple[int, int]]) -> None:
    values, clusters = np.array(rows, dtype=float).T
    names = sorted(set(clusters))
    observed, at_least, n = values.sum(), 0, 0
    for signs in product((-1, 1), repeat=len(names)):
        flipped = sum(
            sign * values[clusters == name].sum() for name, sign in zip(names, signs, strict=True)
        )
        at_least, n = at_least + (flipped >= observed), n + 1
    assert sign_flip_test(values, clusters, np.random.default_rng(0)) == pytest.approx(at_least / n)


@given(VALUES, st.floats(1e-6, 1e6))
def test_neither_order_nor_scale_matters_and_the_other_side_is_the_complement(
    rows: list[tuple[int, int]], scale: float
) -> None:
    values, clusters = np.array(rows, dtype=float).T
    rng = np.random.default_rng(0)
    found = sign_flip_test(values, clusters, rng)
    assert sign_flip_test(values[::-1] * scale, clusters[::-1], rng) == pytest.approx(found)
    # every pattern is at least as large or at most as large as the observed one; ties are both
    assert found + sign_flip_test(-values, clusters, rng) >= 1


def test_drawn_patterns_agree_with_all_of_them() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0.3, 1, 14)
    drawn = sign_flip_test(values, np.arange(14), np.random.default_rng(0))
    signs = np.array([*product((-1, 1), repeat=14)])
    exact = (signs @ values >= values.sum() - 1e-9).mean()
    assert drawn == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 9_999))
    assert drawn == sign_flip_test(values, np.arange(14), np.random.default_rng(0))


@pytest.mark.parametrize("n_clusters", [MOST_ENUMERATED - 4, MOST_ENUMERATED + 8])
def test_the_level_holds_for_skewed_rows_that_share_their_clusters(n_clusters: int) -> None:
    """Each pair's members are drawn alike and skewed, and rows of a cluster share most of it: p ≤ 5% in 5% of trials."""
    rng = np.random.default_rng(1)
    clusters, trials, rejected = np.repeat(np.arange(n_clusters), 4), 600, 0
    for _ in range(trials):
        one, other = (
            np.repeat(rng.exponential(size=n_clusters), 4)
            + 0.2 * rng.exponential(size=4 * n_clusters)
            for _ in "ab"
        )
        rejected += sign_flip_test(one - other, clusters, rng, drawn=199) <= 0.05
    assert rejected / trials == pytest.approx(0.05, abs=0.027)  # 3 standard errors


def test_rows_that_share_their_cluster_are_no_evidence_of_their_own() -> None:
    rows = np.ones(40)
    assert sign_flip_test(rows, np.arange(40), np.random.default_rng(0)) == 1e-4
    assert sign_flip_test(rows, np.repeat([0, 1], 20), np.random.default_rng(0)) == 1 / 4


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="differences: row 1: got nan"):
        sign_flip_test([1, np.nan], [0, 1], np.random.default_rng(0))
    with pytest.raises(InputError, match="different lengths"):
        sign_flip_test([1.0], [0, 1], np.random.default_rng(0))
