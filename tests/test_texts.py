from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.texts import estimate_text, number_text, replace_surrogates


def test_numbers_and_estimates() -> None:
    assert estimate_text(0.6214, 0.604, 0.638) == "0.621 [0.604, 0.638]"
    assert estimate_text(-0.0126, -0.03, 0.004, "+.3f") == "−0.013 [−0.030, +0.004]"
    assert estimate_text(0.5, np.nan, np.nan) == "0.500 [no interval]"
    assert estimate_text(np.nan, np.nan, np.nan) == number_text(np.nan) == "–"


def test_both_halves_of_a_pair_are_joined_and_one_alone_is_marked() -> None:
    assert replace_surrogates("a\ud83d b \ud83d\ude00 \ude00") == "a\ufffd b \U0001f600 \ufffd"


@given(st.text(st.sampled_from("aé☃\U0001f600\ud83d\ude00"), max_size=8))
def test_what_is_no_surrogate_stays(text: str) -> None:
    halves = re.sub("[\ud800-\udbff][\udc00-\udfff]", "\U0001f600", text)  # the only pair of this alphabet
    assert replace_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", halves)
