"""The figures of asking again."""

from __future__ import annotations

import math

import pandas as pd

from core.plots import asked_again, theme
from core.plots.asked_again import AGAIN, CHANGED, STANDS

TABLE = pd.DataFrame(
    [
        *(("P(DE)", AGAIN, p) for p in (0.5, 0.6)),
        ("P(DE)", CHANGED, 0.2),
        ("P(DE)", STANDS, 0.55),
        ("P(<up>)", AGAIN, 0.4),
        ("P(<up>)", STANDS, math.nan),
    ],
    columns=list(asked_again.COLUMNS),
)


def test_every_asking_is_a_dot_over_the_range_of_the_unchanged_ones() -> None:
    chart = asked_again.figure(TABLE)
    assert list(chart.layout.yaxis.ticktext) == [
        "<b>P(DE)</b> as it was",
        "<b>P(DE)</b> changed",
        "<b>P(&lt;up&gt;)</b> as it was",
    ]
    again, changed, stands = chart.data
    assert (list(again.x), list(again.y)) == ([0.5, 0.6, 0.4], [0, 0, 2])
    assert (list(changed.x), list(changed.y), changed.marker.color) == ([0.2], [1], theme.CHOSEN)
    assert (list(stands.x), list(stands.y)) == ([0.55], [0])
    bands = [(band.x0, band.x1, band.y0, band.y1) for band in chart.layout.shapes]
    assert bands == [(0.5, 0.6, -0.4, 1.4), (0.4, 0.4, 1.6, 2.4)]
