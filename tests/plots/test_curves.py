"""Curves: a line each in its order, intervals, a star at the best, references dashed."""

from __future__ import annotations

import pandas as pd

from core.plots import drawing

TABLE = pd.DataFrame(
    {
        "curve": ["<b>a</b>", "<b>a</b>", "random", "random"],
        "x": ["1", "5", "1", "5"],
        "y": [0.2, 0.4, 0.01, 0.05],
        "low": [0.1, 0.3, None, None],
        "high": [0.4, 0.6, None, None],
        "is_best": [False, True, False, False],
    }
)


def test_a_line_for_each_curve_with_intervals_and_a_star() -> None:
    chart = drawing.figure(TABLE, "k", "recall", ("random",))
    assert chart.layout.xaxis.type == "category"
    curve, reference = chart.data
    assert (list(curve.x), list(curve.y), curve.line.color) == (
        ["1", "5"],
        [0.2, 0.4],
        drawing.CHOSEN,
    )
    assert curve.name == "&lt;b&gt;a&lt;/b&gt;"
    assert [round(bar, 9) for bar in curve.error_y.array] == [0.2, 0.2]
    assert list(curve.marker.symbol) == ["circle", "star"]
    assert (reference.mode, reference.line.dash, list(reference.y)) == (
        "lines",
        "dash",
        [0.01, 0.05],
    )


def test_rows_without_a_value_are_left_out_and_each_of_few_steps_has_a_tick() -> None:
    table = pd.DataFrame({"curve": "net", "x": [1, 2, 3], "y": [0.9, None, 0.6]})
    chart = drawing.figure(table, "epoch", "loss")
    assert [list(line.x) for line in chart.data] == [[1, 3]]
    assert chart.layout.xaxis.dtick == 1
    assert not drawing.figure(table.head(0), "epoch", "loss").data
