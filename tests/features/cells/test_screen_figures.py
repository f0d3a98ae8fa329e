"""The volcano of a perturbation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.features.cells.screen_figures import draw_effect_counts, draw_knockdown, draw_volcano
from core.plots import drawing

CHANGES = pd.DataFrame(
    [
        ("A", 2.0, 1e-10, "up"),
        ("<b>B", -2.0, 0.0, "down"),
        ("C", 0.1, 0.5, "none"),
        ("T", -3.0, 1e-5, None),
        ("D", np.nan, np.nan, None),
    ],
    columns=["gene", "log2_fc", "fdr", "label"],
)


def test_marks_stand_at_fold_change_and_minus_log_fdr() -> None:
    chart = draw_volcano(CHANGES, "T", 0.05, 0.5)
    drawn = {
        trace.name: (list(trace.x), [round(y, 6) for y in trace.y], trace.marker.color)
        for trace in chart.data
    }
    assert drawn == {  # D was not tested; an FDR of 0 is drawn as 1e-300
        "unknown": ([-3.0], [5.0], drawing.LABEL_COLOURS["unknown"]),
        "none": ([0.1], [0.30103], drawing.NONE),
        "down": ([-2.0], [300.0], drawing.DOWN),
        "up": ([2.0], [10.0], drawing.UP),
    }


def test_thresholds_and_names_are_drawn() -> None:
    chart = draw_volcano(CHANGES, "T", 0.01, 0.5)
    assert [(shape.x0, shape.y0) for shape in chart.layout.shapes] == [
        (0, 2.0),
        (-0.5, 0),
        (0.5, 0),
    ]
    named = [note.text for note in chart.layout.annotations]
    assert named[:3] == ["&lt;b&gt;B", "A", "T, the target itself"]


EFFECTS = pd.DataFrame({"pert": ["A", "<i>B", "C"], "up": [1, 6, 0], "down": [2, 4, 0]})


def test_the_perturbation_with_the_most_effects_comes_first() -> None:
    chart = draw_effect_counts(EFFECTS, 3)
    drawn = {trace.name: list(trace.y) for trace in chart.data}
    assert drawn == {"down": [4, 2, 0], "up": [6, 1, 0]}
    assert chart.data[0].hovertext[0] == "&lt;i&gt;B"
    assert "2 of 3 have enough" in chart.layout.xaxis.title.text
    assert chart.layout.shapes[0].y0 == 3


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
    assert list(guides.marker.color) == [drawing.CHOSEN, drawing.WARNING, drawing.WARNING]
    assert guides.hovertext[1] == "A, guide A_2<br>30 cells, 80% remains, failed"
