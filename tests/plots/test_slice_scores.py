"""Scores of slices."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import slice_scores, theme

NAN = np.nan
TABLE = pd.DataFrame(
    [
        ("kinases", 1200, 1200, 0.55, 0.5, 0.6, 0.0123),
        ("few", 30, 20, 0.7, NAN, NAN, -0.001),
        ("one", 3, 3, NAN, NAN, NAN, NAN),
        ("test", 9, 0, NAN, NAN, NAN, NAN),
    ],
    columns=list(slice_scores.COLUMNS),
)


def test_dots_where_there_is_an_estimate_and_words_where_there_is_none() -> None:
    chart = slice_scores.figure(TABLE, 0.58, 0.62)
    dots = chart.data[0]
    assert (list(dots.x), list(dots.y)) == ([0.55, 0.7], [0, 1])
    assert list(dots.marker.symbol) == ["circle", "circle-open"]  # hollow without an interval
    np.testing.assert_allclose(dots.error_x.array, [0.05, NAN])
    words = ["0.550 [0.500, 0.600]", "0.700 [no interval]", "one class only", "no labels"]
    assert list(chart.layout.yaxis2.ticktext) == words


def test_names_say_how_many_rows() -> None:
    chart = slice_scores.figure(TABLE, 0.58, 0.62)
    names = ["<b>kinases  1,200 rows</b>", "few  20 of 30 rows", "one  3 rows", "test  0 of 9 rows"]
    assert list(chart.layout.yaxis.ticktext) == names
    assert "cost for the whole +0.0123" in chart.data[0].hovertext[0]
    assert "30 rows, 20 with a label" in chart.data[0].hovertext[1]


def test_chance_control_and_the_whole_are_drawn_and_named() -> None:
    chart = slice_scores.figure(TABLE, 0.58, 0.62)
    assert [(shape.x0, shape.line.color) for shape in chart.layout.shapes] == [
        (0.5, theme.BASELINE),
        (0.58, theme.CHOSEN),
        (0.62, theme.BASELINE),
    ]
