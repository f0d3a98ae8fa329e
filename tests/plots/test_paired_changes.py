"""Paired differences and their table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import drawing, paired_changes

TABLE = pd.DataFrame(
    [
        ("DE", "row", 0.02, 0.01, 0.03, 2499),
        ("DE", "perturbation and gene", 0.02, -0.01, 0.05, 2499),
        ("mean", "row", -0.01, np.nan, np.nan, 2499),
    ],
    columns=["metric", "unit", "estimate", "low", "high", "n"],
)


def test_differences_stand_under_their_metric() -> None:
    chart = paired_changes.figure(TABLE, 0.024).chart
    both = "allowing for shared perturbations and genes"
    assert list(chart.layout.yaxis.ticktext) == [
        "<i>DE</i>",
        "by rows alone",
        f"<b>{both}</b>",
        "<i>mean</i>",
        "by rows alone",
    ]
    others, judged, _ = chart.data  # what the runs are judged by stands out
    assert (others.marker.color, judged.marker.color) == (drawing.BASELINE, drawing.CHOSEN)
    assert (list(others.x), list(others.y)) == ([0.02, -0.01], [1, 4])
    assert list(others.marker.symbol) == ["circle", "circle-open"]
    assert (list(judged.x), list(judged.y)) == ([0.02], [2])
    words = [
        "",
        "+0.020 [+0.010, +0.030]",
        "+0.020 [−0.010, +0.050]",
        "detectable ±0.024",
        "−0.010 [no interval]",
    ]
    assert list(chart.layout.yaxis2.ticktext) == words


def test_differences_that_are_left_after_the_correction_have_the_chosen_colour() -> None:
    worth = [
        ("<b>names</b>", "hit rate", -0.07, -0.11, -0.02, 900, 0.02),
        ("<b>names</b>", "DE contribution", -0.03, -0.06, 0.01, 900, 0.2),
        ("never", "hit rate", np.nan, np.nan, np.nan, 0, np.nan),
    ]
    chart = paired_changes.figure(
        pd.DataFrame(worth, columns=[*TABLE.columns, "p_holm"]), title="yes minus no"
    ).chart
    dots = {trace.marker.color: list(trace.x) for trace in chart.data if trace.mode == "markers"}
    assert dots == {drawing.CHOSEN: [-0.07], drawing.BASELINE: [-0.03]}
    assert (
        chart.layout.yaxis.ticktext[0] == "<i>&lt;b&gt;names&lt;/b&gt;</i>"
    )  # a name is no markup
    assert chart.layout.yaxis2.ticktext[1] == "−0.070 [−0.110, −0.020]  Holm p 0.02"
