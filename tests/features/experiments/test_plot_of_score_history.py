"""The scores of what was tried, in order."""

from __future__ import annotations

import numpy as np

from core.features.experiments import plots

STEPS = [
    {"step": "base <b>", "score": 0.569, "half width": 0.05, "rows": 904, "verdict": None},
    {"step": "kNN", "score": 0.606, "half width": 0.05, "rows": 904, "verdict": "confirmed"},
    {"step": "blend", "score": 0.558, "half width": None, "rows": None, "verdict": "undecided"},
]


def test_steps_in_order_with_the_noise_of_one_score() -> None:
    [line] = plots.figure(STEPS).data
    assert list(line.y) == [0.569, 0.606, 0.558]
    np.testing.assert_allclose(np.asarray(line.error_y.array, dtype=float), [0.05, 0.05, np.nan])
    assert list(line.marker.symbol) == ["circle", "star", "circle"]
    assert list(line.x) == ["1. base &lt;b&gt;", "2. kNN", "3. blend"]
