"""The figures of asking again."""

from __future__ import annotations

import math

import pandas as pd

from core.features.asking.plots import asked_again
from core.features.asking.plots.asked_again import AGAIN, CHANGED, STANDS
from core.plots import theme

TABLE = pd.DataFrame(
    [
        *(("P(DE)", AGAIN, p) for p in (0.5, 0.6)),
        ("P(DE)", CHANGED, 0.2),
        ("P(DE)", STANDS, 0.55),
        ("P(<up>)", AGAIN, 0.4),
        ("P(<up>)", STANDS, math.nan),
    ],
    columns=["name", "side", "p"],
)


def test_every_asking_is_a_dot_over_the_range_of_the_unchanged_ones() -> None:
    chart = asked_again.figure(TABLE)
    as_it_was, after, up = (
        "<b>P(DE)</b> as it was",
        "<b>P(DE)</b> changed",
        "<b>P(&lt;up&gt;)</b> as it was",
    )
    assert list(chart.layout.yaxis.categoryarray) == [as_it_was, after, up]
    *bands, again, changed, stands = chart.data
    assert (list(again.x), list(again.y)) == ([0.5, 0.6, 0.4], [as_it_was, as_it_was, up])
    assert (list(changed.x), list(changed.y), changed.marker.color) == (
        [0.2],
        [after],
        theme.CHOSEN,
    )
    assert (list(stands.x), list(stands.y)) == ([0.55], [as_it_was])
    assert [(*band.x, band.y[0]) for band in bands] == [
        (0.5, 0.6, as_it_was),
        (0.5, 0.6, after),
        (0.4, 0.4, up),
    ]
