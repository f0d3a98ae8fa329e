"""Step histograms of a score by label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.features.scores.plots import score_histograms
from core.plots import drawing

TABLE = pd.DataFrame(
    {"label": ["up", "up", "down", "up", "up"], "value": [0.99, 1.0, 0.0, 0.5, 0.1]}
)


def test_shares_of_each_label_by_hand() -> None:
    up, down = score_histograms.figure(TABLE, "P(up | DE)").data
    # Bins are 1/30 wide: .1 opens bin 3, .5 bin 15; .99 and 1 share bin 29. Each of four rows is a quarter.
    assert (up.name, down.name) == ("up", "down")
    expected = np.zeros(30)
    expected[[3, 15, 29]] = 25, 25, 50
    np.testing.assert_allclose(up.y, [0, *expected, 0])
    np.testing.assert_allclose(up.x, [0, *np.linspace(0, 1, 31)], atol=1e-9)
    np.testing.assert_allclose(down.y, [0, 100, *np.zeros(30)])
    assert (up.line.color, down.line.color) == (drawing.UP, drawing.DOWN)
    assert up.hovertext[30] == "0.97 to 1.00: 2 of 4 rows, 50.0%"
