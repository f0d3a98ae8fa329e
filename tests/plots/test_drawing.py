"""Named lines, whiskers, numbers and text of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plots import drawing


def test_markup_of_others_is_shown_letter_by_letter() -> None:
    assert drawing.escape('<a href="x">run</a> & co') == '&lt;a href="x"&gt;run&lt;/a&gt; &amp; co'


@pytest.mark.soak
@given(st.text(), st.integers(1, 40))
def test_names_are_cut_before_they_are_escaped(text: str, longest: int) -> None:
    shown = drawing.escape(text, longest)
    assert "<" not in shown
    assert (
        shown == drawing.escape(text)
        if len(text) <= longest
        else shown == drawing.escape(text[: longest - 1]) + "…"
    )


def test_numbers_of_rows() -> None:
    assert [drawing.rows_text(n) for n in (2499, 1, np.nan)] == [
        "2,499 rows",
        "1 row",
        "rows not known",
    ]
    assert drawing.rows_text(904, "dir") == "904 rows labelled up or down"


def test_faint_keeps_the_colour() -> None:
    assert drawing.transparent("#0072B2", 0.2) == "rgba(0,114,178,0.2)"


def test_whiskers_reach_from_low_to_high() -> None:
    table = pd.DataFrame({"score": [0.6, 0.5], "low": [0.5, np.nan], "high": [0.75, np.nan]})
    bars = drawing.error_bars(table, "score", "#000000")
    np.testing.assert_allclose(bars["array"], [0.15, np.nan])
    np.testing.assert_allclose(bars["arrayminus"], [0.1, np.nan])


def test_chance_is_always_among_the_lines() -> None:
    lines = drawing.reference_lines({"count-only": 0.673})
    assert [(line.value, line.name) for line in lines] == [
        (0.5, "chance 0.5"),
        (0.673, "count-only 0.673"),
    ]
    assert drawing.reference_lines({"chance": 0.5}) == drawing.reference_lines({})
