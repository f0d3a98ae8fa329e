from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.base.errors import InputError
from core.embeddings.space import Space, make_space, project_to_two_axes, save_space
from core.features.importing.spaces.load import load_space


def test_rows_of_one_symbol_are_averaged_and_zero_vectors_dropped() -> None:
    raw = np.array([[1.0, 0.0], [0.0, 0.0], [3.0, 4.0], [2.0, 2.0], [-2.0, -2.0]])
    space = make_space("s", ["A", " Z ", "A", "C", "C"], raw, "here")
    # A: mean of (1, 0) and (3, 4); C cancels to zero and goes with Z
    assert space.symbols == ("A",)
    assert space.vectors.tolist() == [[2.0, 2.0]]
    assert space.notes == (
        "2 symbols with several rows, averaged: A, C",
        "2 zero vectors dropped: Z, C",
    )


def test_what_is_tidy_stays_as_it_is() -> None:
    raw = np.array([[1, 2], [3, 4]])
    space = make_space("s", ["B", "a"], raw, "here")
    assert (space.symbols, space.notes, space.columns) == (("B", "a"), (), 2)
    assert space.vectors.dtype == np.float32
    assert space.vectors.tolist() == raw.tolist()


def test_a_space_cannot_be_changed_and_leaves_its_source_alone() -> None:
    raw = np.ones((1, 2), dtype=np.float32)
    space = make_space("s", ["A"], raw, "here")
    with pytest.raises(ValueError, match="read-only"):
        space.vectors[0, 0] = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        space.name = "other"  # type: ignore[misc]
    raw[0, 0] = 5
    assert space.vectors[0, 0] == 1


def test_identity_is_of_symbols_and_vectors_only() -> None:
    def identity(symbols, vectors, name="s", source="here"):
        return make_space(name, symbols, np.array(vectors), source).sha256

    first = identity(["A", "B"], [[1, 2], [3, 4]])
    assert first == identity(["A", "B"], [[1, 2], [3, 4]], name="t", source="there")
    others = {
        identity(["A", "C"], [[1, 2], [3, 4]]),
        identity(["A", "B"], [[1, 2], [3, 5]]),
        identity(["A"], [[1, 2, 3, 4]]),
    }
    assert len(others | {first}) == 4


@pytest.mark.parametrize(
    ("symbols", "vectors", "message"),
    [
        (["A"], np.ones((2, 2)), "shape"),
        (["A"], np.ones(1), "shape"),
        (["A"], np.ones((1, 0)), "shape"),
        (["A"], np.array([["x"]]), "real numbers"),
        (["A"], np.array([[1j]]), "real numbers"),
        (["A", ""], np.ones((2, 1)), "row 2 has the symbol ''"),
        (["A\nB"], np.ones((1, 1)), "one line of text"),
        (["A", "B"], np.array([[1.0], [np.nan]]), "'B' .row 2. is not finite"),
        (["A"], np.array([[1e300]]), "not finite"),
        (["A"], np.zeros((1, 3)), "expected at least one"),
        ([], np.zeros((0, 3)), "expected at least one"),
    ],
)
def test_what_is_no_space_is_refused(symbols: list[str], vectors: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_space("s", symbols, vectors, "here.npz")
    assert str(caught.value).startswith("here.npz: ")


def test_saved_and_loaded_again_nothing_is_lost(tmp_path: Path) -> None:
    raw = np.array([[1, 2], [3, 4], [0.1, 7]])
    space = make_space(
        "co", ["A", "A", "b c"], raw, "rows", built_from_labels="challenge, all rows"
    )
    save_space(space, tmp_path / "x.safetensors")
    loaded = load_space(tmp_path / "x.safetensors", "co")
    for field in dataclasses.fields(Space):
        if field.name != "vectors":
            assert getattr(loaded, field.name) == getattr(space, field.name)
    np.testing.assert_array_equal(loaded.vectors, space.vectors)
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


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


@pytest.mark.parametrize(
    "vectors", [np.ones((3, 4)), np.ones((1, 4)), np.array([[1.0, 2], [2, 4], [0.5, 1]]), ROUNDED]
)
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
    places, shares = project_to_two_axes(
        np.array([[3.0], [-1.0], [2.0]])
    )  # at length 1: 1, -1, 1; mean 1/3
    assert shares == (pytest.approx(1.0), 0.0)
    np.testing.assert_allclose(np.abs(places), [[2 / 3, 0], [4 / 3, 0], [2 / 3, 0]])


@pytest.mark.soak
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(2, 5)),
        elements=st.floats(-9, 9).map(lambda x: round(x, 2)),
    )
)
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
