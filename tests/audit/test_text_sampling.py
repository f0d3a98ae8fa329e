"""Samples of texts: every text may be drawn, with the probability that is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.audit.text_sampling import (
    LEAST_SHARE,
    Drawn,
    draw_random,
    draw_stratified,
    draw_unsure,
    inclusion_probabilities,
)
from core.errors import InputError

DRAWS = 4000
P = np.array([0.5, 0.5, 0.9, 0.99, 0.01, 1.0, 0.0, np.nan])
STRATA = ["yes"] * 6 + ["no"] * 2

DESIGNS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "random": lambda rng: draw_random(8, 3, rng),
    "stratified": lambda rng: draw_stratified(STRATA, 3, rng),
    "unsure": lambda rng: draw_unsure(P, 3, rng),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("design", DESIGNS)
def test_texts_are_drawn_as_often_as_their_probability_says(design: str) -> None:
    rng = np.random.default_rng(0)
    counts, said = np.zeros(8), np.full(8, np.nan)
    weighted = 0.0  # the mean, over draws, of an estimate of the number of texts
    for _ in range(DRAWS):
        drawn = DESIGNS[design](rng)
        assert len(drawn.places) == len(set(drawn.places.tolist())) == 3
        counts[drawn.places] += 1
        said[drawn.places] = drawn.probabilities
        weighted += (1 / drawn.probabilities).sum() / DRAWS
    assert (said > 0).all()  # none was never drawn
    assert said.sum() == pytest.approx(3)
    np.testing.assert_allclose(counts / DRAWS, said, atol=4 * np.sqrt(0.25 / DRAWS))
    assert weighted == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_order_of_reading_is_random(design: str) -> None:
    rng = np.random.default_rng(1)
    first = {int(DESIGNS[design](rng).places[0]) for _ in range(300)}
    assert first == set(range(8))


def test_a_seed_draws_the_same_again() -> None:
    for design, draw in DESIGNS.items():
        once, again = draw(np.random.default_rng(5)), draw(np.random.default_rng(5))
        np.testing.assert_array_equal(once.places, again.places, err_msg=design)


def test_strata_get_equal_numbers_as_far_as_they_reach() -> None:
    # 9 from 10 yes, 2 no, 1 unclear: 3 each, of which unclear has 1 and no has 2; the 3 that are left go to yes, 6 in all.
    strata = ["yes"] * 10 + ["no"] * 2 + ["unclear"]
    drawn = draw_stratified(strata, 9, np.random.default_rng(0))
    by_stratum = {
        name: [p for at, p in zip(drawn.places, drawn.probabilities, strict=True) if strata[at] == name] for name in strata
    }
    assert by_stratum == {"yes": [0.6] * 6, "no": [1.0] * 2, "unclear": [1.0]}
    # 3 from 6 yes and 2 no: one each, and the third from the larger.
    assert sorted(draw_stratified(STRATA, 3, np.random.default_rng(0)).probabilities) == pytest.approx([1 / 3, 1 / 3, 0.5])


def test_unsure_texts_are_favoured_and_sure_ones_keep_a_share() -> None:
    # p (1 - p) is .25 twice and 0 six times, so its mean is 1/16: weights .8 * 4 + .2 = 3.4 and .2, which sum to 8.
    values = inclusion_probabilities(np.array([0.25, 0.25, 0, 0, 0, 0, 0, 0]), 2)
    np.testing.assert_allclose(values, [0.85, 0.85, *[0.05] * 6])
    assert values.min() == pytest.approx(LEAST_SHARE * 2 / 8)
    np.testing.assert_allclose(inclusion_probabilities(np.zeros(4), 2), 0.5)  # a judge that is sure of all favours none
    # Weights 3.4 and .2: of 4 texts both unsure ones are certain, and two of the six others are left.
    np.testing.assert_allclose(inclusion_probabilities(np.array([0.25, 0.25, 0, 0, 0, 0, 0, 0]), 4), [1, 1, *[1 / 3] * 6])


@given(
    p=st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=40),
    size=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
def test_any_design_draws_what_was_asked_for(p: list[float], size: int, seed: int) -> None:
    n, values = len(p), np.array(p)
    strata = ["unread" if value != value else "yes" if value > 0.5 else "no" for value in p]
    designs = [draw_random(n, size, np.random.default_rng(seed)), draw_unsure(values, size, np.random.default_rng(seed))]
    if size >= len(set(strata)):
        designs.append(draw_stratified(strata, size, np.random.default_rng(seed)))
    for drawn in designs:
        assert len(set(drawn.places.tolist())) == len(drawn.places) == min(n, size)
        assert ((drawn.probabilities > 0) & (drawn.probabilities <= 1)).all()
        assert set(drawn.places.tolist()) <= set(range(n))
        if size >= n:
            np.testing.assert_allclose(drawn.probabilities, 1)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda rng: draw_random(0, 3, rng), "no text to draw from"),
        (lambda rng: draw_random(3, 0, rng), "0 texts, expected at least 1"),
        (lambda rng: draw_stratified(["a", "b", "c"], 2, rng), "2 texts from 3 strata, expected at least one from each"),
        (lambda rng: draw_unsure(np.array([0.2, 1.2]), 1, rng), "probability 1.2, expected values from 0 to 1"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw: Callable[[np.random.Generator], Drawn], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(np.random.default_rng(0))
