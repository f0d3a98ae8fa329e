"""Samples of texts: every text may be drawn, with the probability that is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.features.arguments.labels import draw

DRAWS = 4000
DESIGNS = {"simple": [""] * 8, "stratified": ["yes"] * 6 + ["no"] * 2}


@pytest.mark.few(1)
@pytest.mark.parametrize("design", DESIGNS)
def test_texts_are_drawn_as_often_as_their_probability_says(design: str) -> None:
    rng = np.random.default_rng(0)
    counts, said = np.zeros(8), np.full(8, np.nan)
    weighted = 0.0  # the mean, over draws, of an estimate of the number of texts
    for _ in range(DRAWS):
        drawn = draw(DESIGNS[design], 3, rng)
        assert len(drawn.places) == len(set(drawn.places.tolist())) == 3
        counts[drawn.places] += 1
        said[drawn.places] = drawn.probabilities
        weighted += (1 / drawn.probabilities).sum() / DRAWS
    assert (said > 0).all()  # none was never drawn
    assert said.sum() == pytest.approx(3)
    np.testing.assert_allclose(counts / DRAWS, said, atol=4 * np.sqrt(0.25 / DRAWS))
    assert weighted == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_order_of_reading_is_random_and_a_seed_draws_the_same_again(design: str) -> None:
    rng = np.random.default_rng(1)
    first = {int(draw(DESIGNS[design], 3, rng).places[0]) for _ in range(300)}
    assert first == set(range(8))
    once, again = (draw(DESIGNS[design], 3, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(once.places, again.places)


def test_strata_get_equal_numbers_as_far_as_they_reach() -> None:
    # 9 from 10 yes, 2 no, 1 unclear: 3 each, of which unclear has 1 and no has 2; the 3 that are left go to yes, 6 in all.
    strata = ["yes"] * 10 + ["no"] * 2 + ["unclear"]
    drawn = draw(strata, 9, np.random.default_rng(0))
    by_stratum = {
        name: [
            p for at, p in zip(drawn.places, drawn.probabilities, strict=True) if strata[at] == name
        ]
        for name in strata
    }
    assert by_stratum == {"yes": [0.6] * 6, "no": [1.0] * 2, "unclear": [1.0]}
    # 3 from 6 yes and 2 no: one each, and the third from the larger.
    found = draw(DESIGNS["stratified"], 3, np.random.default_rng(0)).probabilities
    assert sorted(found) == pytest.approx([1 / 3, 1 / 3, 0.5])


@given(
    strata=st.lists(st.sampled_from(["yes", "no", ""]), min_size=1, max_size=40),
    size=st.integers(3, 50),
)
def test_as_many_are_drawn_as_were_asked_for(strata: list[str], size: int) -> None:
    n = len(strata)
    drawn = draw(strata, size, np.random.default_rng(size))
    assert len(set(drawn.places.tolist())) == len(drawn.places) == min(n, size)
    assert ((drawn.probabilities > 0) & (drawn.probabilities <= 1)).all()
    assert set(drawn.places.tolist()) <= set(range(n))


def test_what_cannot_be_drawn_is_said() -> None:
    for strata, size, message in (
        ([], 3, "no text to draw from"),
        (["", "", ""], 0, "0 texts from 1 strata, expected at least one"),
        (["a", "b", "c"], 2, "2 texts from 3 strata, expected at least one from each"),
    ):
        with pytest.raises(InputError, match=message):
            draw(strata, size, np.random.default_rng(0))
