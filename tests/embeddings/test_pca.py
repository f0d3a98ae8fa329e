"""Two axes of a space, against the singular values of the same vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.embeddings import project_to_two_axes

NAN = float("nan")


# One direction three times, at lengths whose division leaves different last digits.
ROUNDED = np.outer([1.0, 3.0, 0.7], [0.1, 0.2, 0.3])


def test_by_hand() -> None:
    """Directions right, left, up and down at whatever length: right–left spreads as much as up–down, the middle is 0."""
    places, shares = project_to_two_axes(np.array([[2.0, 0], [-0.5, 0], [0, 3], [0, -1]]))
    assert shares == pytest.approx((0.5, 0.5))
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), 1)
    np.testing.assert_allclose(places[0], -places[1], atol=1e-12)
    np.testing.assert_allclose(places[0] @ places[2], 0, atol=1e-12)


def test_rows_without_a_vector_have_no_place_and_move_nothing() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20, 5))
    holes = np.insert(vectors, [3, 7, 12], [[NAN] * 5, [0.0] * 5, [NAN, 1, 1, 1, 1]], axis=0)
    there = np.isfinite(holes).all(axis=1) & holes.any(axis=1)
    places, shares = project_to_two_axes(holes)
    alone, own = project_to_two_axes(vectors)
    np.testing.assert_allclose(places[there], alone, atol=1e-9)
    assert np.isnan(places[~there]).all()
    assert shares == pytest.approx(own)


@pytest.mark.parametrize("vectors", [np.ones((3, 4)), np.ones((1, 4)), np.array([[1.0, 2], [2, 4], [0.5, 1]]), ROUNDED])
def test_without_a_spread_all_is_at_the_origin(vectors: np.ndarray) -> None:
    places, shares = project_to_two_axes(vectors)
    assert np.isnan(shares).all()
    np.testing.assert_array_equal(places, 0)


@pytest.mark.parametrize("vectors", [np.full((3, 2), NAN), np.empty((0, 3)), np.zeros((2, 2))])
def test_without_vectors_there_is_no_place(vectors: np.ndarray) -> None:
    places, shares = project_to_two_axes(vectors)
    assert places.shape == (len(vectors), 2)
    assert np.isnan(places).all()
    assert np.isnan(shares).all()


def test_one_column_has_one_axis() -> None:
    places, shares = project_to_two_axes(np.array([[3.0], [-1.0], [2.0]]))  # at length 1: 1, -1, 1; mean 1/3
    assert shares == (pytest.approx(1.0), 0.0)
    np.testing.assert_allclose(np.abs(places), [[2 / 3, 0], [4 / 3, 0], [2 / 3, 0]])


@given(arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(2, 5)), elements=st.floats(-9, 9).map(lambda x: round(x, 2))))
def test_the_axes_are_those_of_the_singular_value_decomposition(vectors: np.ndarray) -> None:
    places, shares = project_to_two_axes(vectors)
    length = np.linalg.norm(vectors, axis=1)
    assert np.isnan(places[length == 0]).all()
    known = vectors[length > 0] / length[length > 0, None]
    if len(known) < 2 or not np.ptp(known, axis=0).any():
        assert np.isnan(shares).all()
        return
    centred = known - known.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    if values[0] < 1e-6:  # spread by rounding alone
        return
    expected = (values**2 / (values**2).sum())[:2]
    assert shares == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(np.linalg.norm(places[length > 0], axis=0), values[:2], atol=1e-6)
