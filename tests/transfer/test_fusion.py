from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.stats.ranks import percentiles
from core.transfer.fusion import Component, fuse, percentiles_of, weights_in_rows, weights_of

NAN = float("nan")


def component(rng: np.random.Generator, n: int, name: str = "c", missing: float = 0.3) -> Component:
    de, up = np.where(rng.random((2, n)) < missing, np.nan, np.round(rng.random((2, n)), 1))
    return Component(name, de, up, *np.round(rng.random((2, 50)), 1))


def test_by_hand() -> None:
    base = Component("base", np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.5, NAN, 0.2, 0.7]))
    other = Component("other", np.array([3.0, NAN, 1.0, 2.0]), np.array([NAN, NAN, 0.1, 0.9]))
    found = fuse(percentiles_of([base, other]), weights_of([0.25], [1.0]))
    # DE: base 1, 2.5, 2.5, 4 of 5; other 3, -, 1, 2 of 4
    np.testing.assert_allclose(
        found.p_de,
        [0.75 * 0.2 + 0.25 * 0.75, 0.5, 0.75 * 0.5 + 0.25 * 0.25, 0.75 * 0.8 + 0.25 * 0.5],
    )
    # DIR: all weight on the other: base alone (2 of 4) where it is missing, 0.5 where both are, then 1 and 2 of 3
    np.testing.assert_allclose(found.p_up, [0.5, 0.5, 1 / 3, 2 / 3])
    np.testing.assert_array_equal(found.uncovered, [False, True, False, False])
    scores = found.scores()
    np.testing.assert_allclose([scores.p_de, scores.p_up], [found.p_de, found.p_up], atol=1e-14)


def test_a_weight_that_is_scaled_in_each_row_by_hand() -> None:
    """The other's 0.8 is scaled by 0, 1/2, 1 and 1/4 to 0, 0.4, 0.8 and 0.2; it does not cover the last row."""
    base = Component("base", np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1]))
    other = Component("other", np.array([3.0, 2.0, 1.0, NAN]), np.array([1.0, 2.0, 3.0, NAN]))
    scaled = replace(other, weight_scale=np.array([0.0, 0.5, 1.0, 0.25]))
    found = fuse(percentiles_of([base, scaled]), weights_of([0.8], [0.4]))
    # DE: base 1 to 4 of 5, other 3, 2, 1 of 4; DIR the other way round
    np.testing.assert_allclose(
        found.p_de, [0.2, 0.6 * 0.4 + 0.4 * 0.5, 0.2 * 0.6 + 0.8 * 0.25, 0.8]
    )
    np.testing.assert_allclose(
        found.p_up, [0.8, 0.8 * 0.6 + 0.2 * 0.5, 0.6 * 0.4 + 0.4 * 0.75, 0.2]
    )
    pct = percentiles_of([base, scaled]).take(np.array([2, 0]))
    np.testing.assert_allclose(
        weights_in_rows(pct, weights_of([0.8], [0.4])).de, [[0.2, 1.0], [0.8, 0.0]]
    )


def test_the_base_alone_is_its_percentiles_and_three_weigh_as_written() -> None:
    rng = np.random.default_rng(0)
    three = [component(rng, 30, str(i), missing=0) for i in range(3)]
    pct = percentiles_of(three)
    np.testing.assert_allclose(
        fuse(pct, weights_of([0, 0], [0, 0])).p_de, percentiles(three[0].p_de)
    )
    found = fuse(pct, weights_of([0.2, 0.3], [0.5, 0.5])).p_de
    np.testing.assert_allclose(found, 0.5 * pct.de[0] + 0.2 * pct.de[1] + 0.3 * pct.de[2])


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_a_missing_component_leaves_its_weight_to_the_others(seed: int, n_others: int) -> None:
    rng = np.random.default_rng(seed)
    pct = percentiles_of([component(rng, 20, str(i)) for i in range(n_others + 1)])
    shares = rng.dirichlet(np.ones(n_others + 1))
    found = fuse(pct, weights_of(shares[1:], shares[1:]))
    for row in range(20):
        there = ~np.isnan(pct.de[:, row])
        expected = shares[there] @ pct.de[there, row] / shares[there].sum() if there.any() else 0.5
        assert found.p_de[row] == pytest.approx(expected)


@given(st.integers(0, 10**6))
def test_percentiles_do_not_see_scale_or_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    two = [component(rng, 25, str(i)) for i in range(2)]
    weights = weights_of([0.4], [0.7])
    found = fuse(percentiles_of(two), weights)
    bent = [Component(c.name, np.exp(3 * c.p_de), c.p_up**3) for c in two]
    np.testing.assert_allclose(fuse(percentiles_of(bent), weights).p_up, found.p_up)
    order = rng.permutation(25)
    shuffled = [Component(c.name, c.p_de[order], c.p_up[order]) for c in two]
    np.testing.assert_array_equal(fuse(percentiles_of(shuffled), weights).p_de, found.p_de[order])


@given(st.integers(0, 10**6), st.integers(1, 25))
def test_against_a_reference_a_row_stands_alone(seed: int, n_left: int) -> None:
    rng = np.random.default_rng(seed)
    two = [component(rng, 25, str(i)) for i in range(2)]
    weights = weights_of([0.3], [0.6])
    found = fuse(percentiles_of(two, "train"), weights)
    rows = rng.permutation(25)[:n_left]
    left = [
        Component(c.name, c.p_de[rows], c.p_up[rows], c.reference_de, c.reference_up) for c in two
    ]
    again = fuse(percentiles_of(left, "train"), weights)
    np.testing.assert_array_equal(again.p_de, found.p_de[rows])  # to the bit
    np.testing.assert_array_equal(again.p_up, found.p_up[rows])


def test_a_population_of_its_own_reference_is_the_same() -> None:
    rng = np.random.default_rng(1)
    base = component(rng, 40, missing=0)
    own = Component("own", base.p_de, base.p_up, base.p_de, base.p_up)
    np.testing.assert_array_equal(percentiles_of([own], "train").de, percentiles_of([own]).de)


def test_a_component_without_weight_never_speaks() -> None:
    base = Component("base", np.array([0.1, NAN]), np.array([0.5, NAN]))
    found = fuse(
        percentiles_of([base, Component("other", np.ones(2), np.ones(2))]), weights_of([0.0], [1.0])
    )
    np.testing.assert_allclose(
        found.p_de, [0.5, 0.5]
    )  # the only covered row, and a row that the base does not cover
    np.testing.assert_allclose(found.p_up, [0.5, 0.5])


def test_weights_row_by_row() -> None:
    rng = np.random.default_rng(2)
    pct = percentiles_of([component(rng, 10, str(i), missing=0) for i in range(2)])
    shares = rng.random((1, 10))
    found = fuse(pct, weights_of(shares, shares))
    np.testing.assert_allclose(found.p_de, (1 - shares[0]) * pct.de[0] + shares[0] * pct.de[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weights_of([0.7, 0.4], [0.1, 0.1]), r"w_de: got \[0.7, 0.4\]"),
        (lambda: weights_of([0.1], [-0.1]), "w_dir: got"),
        (lambda: weights_of([NAN], [0.1]), "w_de: got"),
        (
            lambda: percentiles_of([Component("x", np.ones(2), np.ones(2))], "train"),
            "component x: has no reference run",
        ),
        (lambda: percentiles_of([Component("x", np.ones(2), np.ones(3))]), "x p_up has 3"),
        (lambda: percentiles_of([]), "components: got none"),
        (
            lambda: fuse(
                percentiles_of([Component("x", np.ones(2), np.ones(2))]), weights_of([0.5], [0.5])
            ),
            "weights: got 2",
        ),
    ],
)
def test_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
