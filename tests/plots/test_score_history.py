"""The scores of what was tried, in order."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import score_history, theme

TABLE = pd.DataFrame(
    [
        (0, "base <b>", 0.569, 0.52, 0.62, None, True, 904),
        (1, "kNN", 0.606, 0.56, 0.66, "confirmed", True, 904),
        (2, "blend", 0.558, np.nan, np.nan, "undecided", False, np.nan),
    ],
    columns=list(score_history.COLUMNS),
)


def test_steps_in_order_with_the_noise_of_one_score() -> None:
    band, line, points = score_history.figure(TABLE).data
    assert list(line.y) == [0.569, 0.606, 0.558]
    assert list(band.x) == [0, 1, 1, 0]  # there and back, without the step whose noise is unknown
    assert list(band.y) == [0.62, 0.66, 0.56, 0.52]
    assert list(points.marker.color) == [theme.CHOSEN, theme.CHOSEN, theme.BASELINE]
    assert list(points.marker.symbol) == ["circle", "star", "circle"]
