"""Means of AUROCs over genes and perturbations."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import macro_scores, theme

TABLE = pd.DataFrame(
    [
        ("all rows", "2,499 rows", 0.58, 0.55, 0.6, 2499, 0.67),
        ("mean over genes", "336 genes", 0.55, np.nan, np.nan, 1824, 0.5),
        ("mean over perturbations", "0 perturbations", np.nan, np.nan, np.nan, 0, np.nan),
    ],
    columns=list(macro_scores.COLUMNS),
)


def test_every_mean_has_a_row_with_its_interval_and_the_control_beside_it() -> None:
    chart = macro_scores.figure(TABLE, "AUROC of DE")
    dots, control = chart.data[0], chart.data[-1]
    assert (list(dots.x), list(dots.marker.symbol)) == ([0.58, 0.55], ["circle", "circle-open"])
    np.testing.assert_array_equal(control.x, [0.67, 0.5, np.nan])
    assert (list(control.y), control.marker.symbol) == ([0, 1, 2], "diamond-open")
    assert list(chart.layout.yaxis.ticktext)[1] == "mean over genes<br><sup>336 genes</sup>"
    words = ["0.580 [0.550, 0.600]", "0.550 [no interval]", "no pair of both classes"]
    assert list(chart.layout.yaxis2.ticktext) == words
    assert [shape.line.color for shape in chart.layout.shapes] == [theme.BASELINE]
    assert chart.layout.xaxis.range[1] > 0.67
