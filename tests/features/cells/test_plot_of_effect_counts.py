"""Bars of the genes that perturbations change."""

from __future__ import annotations

import pandas as pd

from core.features.cells.screen_figures import draw_effect_counts

EFFECTS = pd.DataFrame({"pert": ["A", "<i>B", "C"], "up": [1, 6, 0], "down": [2, 4, 0]})


def test_the_perturbation_with_the_most_effects_comes_first() -> None:
    chart = draw_effect_counts(EFFECTS, 3)
    drawn = {trace.name: list(trace.y) for trace in chart.data}
    assert drawn == {"down": [4, 2, 0], "up": [6, 1, 0]}
    assert chart.data[0].hovertext[0] == "&lt;i&gt;B"
    assert "2 of 3 have enough" in chart.layout.xaxis.title.text
    assert chart.layout.shapes[0].y0 == 3
