"""Rows of dots with whiskers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from core.plots import drawing
from core.plots.drawing import Line
from core.plots.forest_plot import Forest, Row, rows_in_blocks

ROWS = [
    Row("first", (0.6, 0.5, 0.7), "0.6 [0.5, 0.7]", ["h1"], is_bold=True),
    Row("second", (0.9, np.nan, np.nan), "0.9", ["h2"], symbol="diamond"),
    Row("<third>", (np.nan, np.nan, np.nan), "one class only", ["h3", "a < b"]),
]


def test_dots_whiskers_and_words_stand_in_their_rows() -> None:
    chart = Forest(ROWS, [Line(0.4, "control")], "AUROC").chart
    chosen, other, _ = chart.data
    assert (list(chosen.x), list(chosen.y), list(chosen.marker.symbol)) == ([0.6], [0], ["circle"])
    assert chosen.error_x.color == chosen.marker.color == drawing.CHOSEN
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
    chart = Forest(ROWS, [Line(0.4, "control"), Line(np.nan, "none")], "AUROC", (1.0,)).chart
    # From 0.4, the line, to 1.0, the reach, with 4% of 0.6 on either side.
    assert chart.layout.xaxis.range == pytest.approx((0.376, 1.024))


def test_a_single_point_has_a_range() -> None:
    chart = Forest(ROWS[1:2], [], "AUROC").chart
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
    assert Forest(rows, [], "").chart.layout.yaxis.ticktext[0] == "<i>b</i>"


def test_a_page_shows_the_same_as_the_file() -> None:
    """Each mark stands at its share of the axis; texts are texts."""
    forest = Forest(ROWS, [Line(0.4, "a <line>"), Line(np.nan, "none")], "AUROC", (1.0,))
    shown = forest.html()
    low, high = forest.chart.layout.xaxis.range
    lefts = re.findall(r'<s class="[\w ]+" style="left:([\d.]+)%', shown)
    shares = [100 * (x - low) / (high - low) for x in (0.6, 0.9)]
    np.testing.assert_allclose([float(left) for left in lefts], shares, atol=1e-3)
    [bar] = re.findall(r'<u style="left:([\d.]+)%;width:([\d.]+)%', shown)
    of_interval = [100 * (0.5 - low) / (high - low), 20 / (high - low)]
    np.testing.assert_allclose([float(end) for end in bar], of_interval, atol=1e-3)
    assert re.findall(r'<s class="([\w ]+)"', shown) == ["circle", "diamond hollow"]
    for text in (drawing.CHOSEN, "<b>first</b>", "&lt;third&gt;", "a &lt;line&gt;", "a &lt; b"):
        assert text in shown
    assert "<third>" not in shown
    assert ">none<" not in shown  # a line without a value


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((0.5, 0.48, 0.66), ["0.50", "0.55", "0.60", "0.65"]),
        ((0.0, -0.03, 0.03), ["-0.02", "0.00", "0.02"]),
        ((40.0, 0.0, 100.0), ["0", "20", "40", "60", "80", "100"]),
    ],
)
def test_the_axis_has_round_values(ends: tuple[float, float, float], ticks: list[str]) -> None:
    shown = Forest([Row("r", ends, "", [])], [], "x").html()
    assert re.findall(r"<small[^>]*>([^<]*)</small>", shown) == ticks
