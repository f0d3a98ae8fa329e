"""Rows of dots with whiskers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.plots import theme
from core.plots.drawing import Line
from core.plots.forest_plot import Row, draw_forest, rows_in_blocks

ROWS = [
    Row("first", (0.6, 0.5, 0.7), "0.6 [0.5, 0.7]", ["h1"], is_bold=True),
    Row("second", (0.9, np.nan, np.nan), "0.9", ["h2"], symbol="diamond"),
    Row("<third>", (np.nan, np.nan, np.nan), "one class only", ["h3", "a < b"]),
]


def test_dots_whiskers_and_words_stand_in_their_rows() -> None:
    chart = draw_forest(ROWS, [Line(0.4, "control")], "AUROC")
    chosen, other, _ = chart.data
    assert (list(chosen.x), list(chosen.y), list(chosen.marker.symbol)) == ([0.6], [0], ["circle"])
    assert chosen.error_x.color == chosen.marker.color == theme.CHOSEN
    np.testing.assert_allclose([chosen.error_x.array, chosen.error_x.arrayminus], [[0.1], [0.1]])
    assert (list(other.x), list(other.y), list(other.marker.symbol)) == (
        [0.9],
        [1],
        ["diamond-open"],
    )  # no interval
    assert list(chart.layout.yaxis.ticktext) == ["<b>first</b>", "second", "&lt;third&gt;"]
    assert list(chart.layout.yaxis2.ticktext) == ["0.6 [0.5, 0.7]", "0.9", "one class only"]
    assert (
        chart.layout.yaxis.range == chart.layout.yaxis2.range == (2.5, -0.5)
    )  # the first row on top


def test_everything_is_inside_the_range() -> None:
    chart = draw_forest(ROWS, [Line(0.4, "control"), Line(np.nan, "none")], "AUROC", reach=(1.0,))
    # From 0.4, the line, to 1.0, the reach, with 4% of 0.6 on either side.
    assert chart.layout.xaxis.range == pytest.approx((0.376, 1.024))


def test_a_single_point_has_a_range() -> None:
    chart = draw_forest(ROWS[1:2], [], "AUROC")
    assert chart.layout.xaxis.range == pytest.approx((0.85, 0.95))


def test_rows_stand_below_their_headings() -> None:
    table = pd.DataFrame({"of": ["b", "b", "a"], "name": ["1", "2", "3"]})
    rows = rows_in_blocks(
        table,
        "of",
        lambda row: Row(row.name, (0.5, 0.4, 0.6), "", []),
        lambda part: f"{len(part)} rows",
    )
    assert [(each.name, each.words) for each in rows] == [
        ("b", "2 rows"),
        ("1", ""),
        ("2", ""),
        ("a", "1 rows"),
        ("3", ""),
    ]
    assert draw_forest(rows, [], "").layout.yaxis.ticktext[0] == "<i>b</i>"
