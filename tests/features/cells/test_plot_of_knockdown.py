"""What is left of a target's expression."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.features.cells.screen_figures import draw_knockdown
from core.plots import theme

GUIDES = pd.DataFrame(
    [
        ("A", "", 60, 0.5),
        ("A", "A_1", 30, 0.2),
        ("A", "A_2", 30, 0.8),
        ("B", "", 40, 0.1),
        ("C", "", 40, np.nan),
        ("B", "B_1", 40, 9.0),
    ],
    columns=["target", "guide", "n_cells", "remaining"],
)


def test_perturbations_stand_in_the_order_of_what_remains() -> None:
    guides, whole = draw_knockdown(GUIDES, 0.7).data
    assert (list(whole.x), list(whole.y)) == ([1, 2], [10, 50])  # B, A; nobody knows of C
    assert (list(guides.x), list(guides.y)) == ([2, 2, 1], [20, 80, 200])  # 900% is drawn at 200
    assert list(guides.marker.color) == [theme.CHOSEN, theme.WARNING, theme.WARNING]
    assert guides.hovertext[1] == "A, guide A_2<br>30 cells, 80% remains, failed"
