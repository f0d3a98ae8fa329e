"""Baselines beside what was published."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import baseline_scores, theme

TABLE = pd.DataFrame(
    [
        ("DE", "constant", "", 0.5, 0.5, 0.5, 12, False, np.nan),
        ("DE", "text <kNN>", "200 columns", 0.53, 0.51, 0.55, 12, True, 0.62),
    ],
    columns=list(baseline_scores.COLUMNS),
)


def test_diamonds_stand_in_the_rows_of_what_was_published() -> None:
    chart = baseline_scores.figure(TABLE)
    by_symbol = {each.marker.symbol if isinstance(each.marker.symbol, str) else "dots": each for each in chart.data if each.x[0]}
    diamond = by_symbol["diamond-open"]
    assert (list(diamond.x), list(diamond.y)) == ([0.62], [2])
    assert list(chart.layout.yaxis.ticktext) == ["<i>DE</i>", "constant", "text &lt;kNN&gt;"]
    assert list(chart.layout.yaxis2.ticktext) == ["", "0.500 [0.500, 0.500]", "0.530 [0.510, 0.550] ◇ 0.62"]
    assert [each.marker.color for each in chart.data[:2]] == [theme.BASELINE, theme.CHOSEN]
    assert chart.layout.xaxis.range[1] > 0.62


def test_nothing_published_draws_no_diamond() -> None:
    chart = baseline_scores.figure(TABLE.assign(published=np.nan))
    assert not any(each.x[0] for each in chart.data if each.marker.symbol == "diamond-open" and len(each.x))
