"""The ladder of scores."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import ladder, theme

TABLE = pd.DataFrame(
    [
        ("debate <b>", "here", 0.607, 0.58, 0.63, 2499, True),
        ("debate <b>", "public", 0.646, 0.597, 0.695, 904, True),
        ("react", "public", 0.562, np.nan, np.nan, np.nan, False),
    ],
    columns=list(ladder.COLUMNS),
)


def test_every_score_in_the_order_given() -> None:
    chart = ladder.figure(TABLE)
    chosen, other, _ = chart.data
    assert (list(chosen.x), list(chosen.y)) == ([0.607, 0.646], [0, 1])
    assert chosen.marker.color == theme.CHOSEN
    assert other.marker.color == theme.BASELINE
    # Measured here is a circle, public a diamond, and hollow without an interval.
    assert [*chosen.marker.symbol, *other.marker.symbol] == ["circle", "diamond", "diamond-open"]
    np.testing.assert_allclose(chosen.error_x.arrayminus, [0.027, 0.049])
    assert list(chart.layout.yaxis.ticktext) == ["<b>debate &lt;b&gt;</b>", "<b>debate &lt;b&gt;</b>", "react"]


def test_words_tell_public_from_here() -> None:
    chart = ladder.figure(TABLE)
    words = ["0.607 [0.580, 0.630] here", "0.646 [0.597, 0.695] public", "0.562 [no interval] public"]
    assert list(chart.layout.yaxis2.ticktext) == words
