"""Paired differences and their table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import paired_changes, theme

TABLE = pd.DataFrame(
    [
        ("DE", "row", 0.02, 0.01, 0.03, 2499),
        ("DE", "perturbation and gene", 0.02, -0.01, 0.05, 2499),
        ("mean", "row", -0.01, np.nan, np.nan, 2499),
    ],
    columns=["metric", "unit", "estimate", "low", "high", "n"],
)


def test_differences_stand_under_their_metric() -> None:
    chart = paired_changes.figure(TABLE, 0.024)
    both = "allowing for shared perturbations and genes"
    assert list(chart.layout.yaxis.ticktext) == ["<i>DE</i>", "by rows alone", f"<b>{both}</b>", "<i>mean</i>", "by rows alone"]
    others, judged, _ = chart.data  # what the runs are judged by stands out
    assert (others.marker.color, judged.marker.color) == (theme.BASELINE, theme.CHOSEN)
    assert (list(others.x), list(others.y)) == ([0.02, -0.01], [1, 4])
    assert list(others.marker.symbol) == ["circle", "circle-open"]
    assert (list(judged.x), list(judged.y)) == ([0.02], [2])
    words = ["", "+0.020 [+0.010, +0.030]", "+0.020 [−0.010, +0.050]", "detectable ±0.024", "−0.010 [no interval]"]
    assert list(chart.layout.yaxis2.ticktext) == words
