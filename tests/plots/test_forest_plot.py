"""Rows of dots with whiskers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.plots import forest_plot, theme
from core.plots.drawing import Line

ROWS = pd.DataFrame(
    {
        "name": ["first", "second", "third"],
        "words": ["0.6 [0.5, 0.7]", "0.9", "one class only"],
        "hover": ["h1", "h2", "h3"],
        "colour": [theme.CHOSEN, theme.BASELINE, theme.BASELINE],
        "symbol": ["circle", "diamond", "circle"],
        "estimate": [0.6, 0.9, np.nan],
        "low": [0.5, np.nan, np.nan],
        "high": [0.7, np.nan, np.nan],
    }
)


def test_dots_whiskers_and_words_stand_in_their_rows() -> None:
    chart = forest_plot.draw_forest(ROWS, [Line(0.4, "control")], "AUROC")
    chosen, other, _ = chart.data
    assert (list(chosen.x), list(chosen.y), list(chosen.marker.symbol)) == ([0.6], [0], ["circle"])
    assert chosen.error_x.color == chosen.marker.color == theme.CHOSEN
    np.testing.assert_allclose([chosen.error_x.array, chosen.error_x.arrayminus], [[0.1], [0.1]])
    assert (list(other.x), list(other.y), list(other.marker.symbol)) == ([0.9], [1], ["diamond-open"])  # no interval
    assert list(chart.layout.yaxis.ticktext) == ["first", "second", "third"]
    assert list(chart.layout.yaxis2.ticktext) == ["0.6 [0.5, 0.7]", "0.9", "one class only"]
    assert chart.layout.yaxis.range == chart.layout.yaxis2.range == (2.5, -0.5)  # the first row on top


def test_everything_is_inside_the_range() -> None:
    chart = forest_plot.draw_forest(ROWS, [Line(0.4, "control"), Line(np.nan, "none")], "AUROC", reach=(1.0,))
    # From 0.4, the line, to 1.0, the reach, with 4% of 0.6 on either side.
    assert chart.layout.xaxis.range == pytest.approx((0.376, 1.024))


@pytest.mark.soak
def test_a_row_more_is_a_row_higher() -> None:
    heights = [forest_plot.draw_forest(ROWS.head(n), [], "AUROC").layout.height for n in (1, 2, 3)]
    assert np.diff(heights).tolist() == [theme.ROW_PX, theme.ROW_PX]


def test_a_single_point_has_a_range() -> None:
    chart = forest_plot.draw_forest(ROWS.iloc[[1]], [], "AUROC")
    assert chart.layout.xaxis.range == pytest.approx((0.85, 0.95))
