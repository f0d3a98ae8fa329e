"""Step histograms of a score by label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plots import score_histograms, theme

TABLE = pd.DataFrame({"label": ["up", "up", "down", "up", "up"], "value": [0.99, 1.0, 0.0, 0.5, 0.1]})


def test_shares_of_each_label_by_hand() -> None:
    up, down = score_histograms.figure(TABLE, "P(up | DE)").data
    # Bins are 1/30 wide: .1 opens bin 3, .5 bin 15; .99 and 1 share bin 29. Each of four rows is a quarter.
    assert (up.name, down.name) == ("up", "down")
    expected = np.zeros(30)
    expected[[3, 15, 29]] = 25, 25, 50
    np.testing.assert_allclose(up.y, [0, *expected, 0])
    np.testing.assert_allclose(up.x, [0, *np.linspace(0, 1, 31)], atol=1e-9)
    np.testing.assert_allclose(down.y, [0, 100, *np.zeros(30)])
    assert (up.line.color, down.line.color) == (theme.UP, theme.DOWN)
    assert up.hovertext[30] == "0.97 to 1.00: 2 of 4 rows, 50.0%"


def test_names_lead_to_the_bin_where_a_label_stands_out() -> None:
    down, up = score_histograms.figure(TABLE, "P(up | DE)").layout.annotations
    assert up.text.endswith("▲</span> up, 4 rows")
    assert (up.x, up.y, up.xanchor) == (pytest.approx(59 / 60), 50, "right")
    assert (down.x, down.y, down.xanchor) == (pytest.approx(1 / 60), 100, "left")
    assert theme.DOWN in down.text


@pytest.mark.soak
@given(st.floats(0, 1), st.floats(0, 1))
def test_no_leader_crosses_a_name(up: float, down: float) -> None:
    chart = score_histograms.figure(pd.DataFrame({"label": ["up", "down"], "value": [up, down]}), "P(up | DE)")
    for name in chart.layout.annotations:
        start, end = (name.x, name.x + 1 / 3) if name.xanchor == "left" else (name.x - 1 / 3, name.x)
        assert -1e-9 < start < end < 1 + 1e-9  # a third of the axis is room for a name
        assert name.ay <= chart.layout.yaxis.range[1]
        higher = [other for other in chart.layout.annotations if other.ay > name.ay]
        assert not any(start < other.x < end for other in higher)
