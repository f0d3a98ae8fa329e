"""Named lines, whiskers, numbers and text of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.plots import drawing


def test_markup_of_others_is_shown_letter_by_letter() -> None:
    assert drawing.escape('<a href="x">run</a> & co') == '&lt;a href="x"&gt;run&lt;/a&gt; &amp; co'


@pytest.mark.soak
@given(st.text(), st.integers(1, 40))
def test_names_are_cut_before_they_are_escaped(text: str, longest: int) -> None:
    shown = drawing.escape(text, longest)
    assert "<" not in shown
    assert shown == drawing.escape(text) if len(text) <= longest else shown == drawing.escape(text[: longest - 1]) + "…"


def test_numbers_of_rows() -> None:
    assert [drawing.rows_text(n) for n in (2499, 1, np.nan)] == ["2,499 rows", "1 row", "rows not known"]
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
    assert [(line.value, line.name) for line in lines] == [(0.5, "chance 0.5"), (0.673, "count-only 0.673")]
    assert drawing.reference_lines({"chance": 0.5}) == drawing.reference_lines({})


def test_names_that_would_touch_stand_on_two_levels() -> None:
    # Over a range of 1 a name of ten letters is 10 · 7 / 160 = 0.44 wide, so 0.1 apart touch and 0.8 apart do not.
    for distance, levels in ((0.1, 2), (0.8, 1)):
        chart = go.Figure()
        lines = [
            drawing.Line(0.1 + distance, "b" * 10),
            drawing.Line(0.1, "a" * 10),
            drawing.Line(np.nan, "undefined"),
        ]
        assert drawing.draw_vertical(chart, lines, (0.0, 1.0)) == levels * drawing.TEXT_PX
        assert [note.text for note in chart.layout.annotations] == ["a" * 10, "b" * 10]
        assert [note.yshift for note in chart.layout.annotations] == [0, (levels - 1) * drawing.TEXT_PX]
        assert [shape.x0 for shape in chart.layout.shapes] == [0.1, 0.1 + distance]


def test_a_horizontal_line_has_its_name_outside_the_plot() -> None:
    chart = go.Figure()
    right = drawing.draw_horizontal(chart, drawing.Line(0.4, "all rows"))
    assert right >= 7 * len("all rows")
    assert (chart.layout.shapes[0].y0, chart.layout.shapes[0].y1) == (0.4, 0.4)
    assert (chart.layout.annotations[0].x, chart.layout.annotations[0].xanchor) == (1, "left")


def test_missing_columns_are_named() -> None:
    with pytest.raises(InputError, match="roc: missing columns fpr, tpr; got who; expected who, fpr, tpr"):
        drawing.require_columns("roc", pd.DataFrame({"who": []}), ["who", "fpr", "tpr"])


def test_more_columns_than_needed_are_fine() -> None:
    drawing.require_columns("roc", pd.DataFrame({"who": [], "fpr": []}), ["fpr"])


def test_unknown_values_are_named() -> None:
    table = pd.DataFrame({"label": ["up", "upp", "up"]})
    with pytest.raises(InputError, match="spread: label: got 'upp'; expected up, down"):
        drawing.require_values("spread", table, "label", ["up", "down"])
