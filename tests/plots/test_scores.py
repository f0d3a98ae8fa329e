"""Scores with their intervals: of runs, of slices and of baselines without biology."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import drawing, forest_plot

NAN = np.nan
TABLE = pd.DataFrame(
    [
        ("debate <b>", 0.607, 0.58, 0.63, 2499, "here", True),
        ("debate <b>", 0.646, 0.597, 0.695, 904, "public", True),
        ("react", 0.562, NAN, NAN, NAN, "public", False),
        ("counts", 0.5, 0.5, 0.5, 9, "baseline", False),
    ],
    columns=["name", "estimate", "low", "high", "n", "kind", "chosen"],
)
SLICES = pd.DataFrame(
    [
        ("kinases", 0.55, 0.5, 0.6, 1200, 1200, 0.0123),
        ("few", 0.7, NAN, NAN, 30, 20, -0.001),
        ("one", NAN, NAN, NAN, 3, 3, NAN),
        ("test", NAN, NAN, NAN, 9, 0, NAN),
    ],
    columns=["slice", "estimate", "low", "high", "n", "n_labelled", "cost"],
)


def test_every_score_in_the_order_given() -> None:
    chart = forest_plot.figure(TABLE, "mean").chart
    chosen, other, _, _ = chart.data
    assert (list(chosen.x), list(chosen.y)) == ([0.607, 0.646], [0, 1])
    assert (chosen.marker.color, other.marker.color) == (drawing.CHOSEN, drawing.BASELINE)
    # Measured here is a circle, public a diamond, and hollow without an interval.
    assert [*chosen.marker.symbol, *other.marker.symbol] == ["circle", "diamond", "diamond-open"]
    np.testing.assert_allclose(chosen.error_x.arrayminus, [0.027, 0.049])
    assert list(chart.layout.yaxis.ticktext) == [
        "<b>debate &lt;b&gt;</b>",
        "<b>debate &lt;b&gt;</b>",
        "react",
        "counts",
    ]
    words = [
        "0.607 [0.580, 0.630]",
        "0.646 [0.597, 0.695] public",
        "0.562 [no interval] public",
        "0.500, all rows tied",
    ]
    assert list(chart.layout.yaxis2.ticktext) == words


def test_scores_stand_below_headings() -> None:
    chart = forest_plot.figure(TABLE, "mean", by="kind").chart
    names = [
        "<i>here</i>",
        "<b>debate &lt;b&gt;</b>",
        "<i>public</i>",
        "<b>debate &lt;b&gt;</b>",
        "react",
        "<i>baseline</i>",
        "counts",
    ]
    assert list(chart.layout.yaxis.ticktext) == names


def test_slices_say_how_many_rows_and_why_one_has_no_score() -> None:
    chart = forest_plot.figure(SLICES, "mean", names="slice", overall=0.58, control=0.62).chart
    dots = [
        (x, y, symbol)
        for trace in chart.data[:2]
        for x, y, symbol in zip(trace.x, trace.y, trace.marker.symbol, strict=True)
    ]
    assert dots == [(0.55, 0, "circle"), (0.7, 1, "circle-open")]  # hollow without an interval
    words = ["0.550 [0.500, 0.600]", "0.700 [no interval]", "one class only", "no labels"]
    assert list(chart.layout.yaxis2.ticktext) == words
    names = ["<b>kinases</b>", "few", "one", "test"]
    assert list(chart.layout.yaxis.ticktext) == names
    assert "cost for the whole +0.0123" in chart.data[0].hovertext[0]
    assert "30 rows, 20 with a label" in chart.data[1].hovertext[0]
    assert [(shape.x0, shape.line.color) for shape in chart.layout.shapes] == [
        (0.5, drawing.BASELINE),
        (0.58, drawing.CHOSEN),
        (0.62, drawing.BASELINE),
    ]
    assert (
        len(forest_plot.figure(SLICES, "mean", names="slice", most=2).chart.layout.yaxis.ticktext)
        == 2
    )
