"""The volcano of a perturbation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.features.cells.screen_figures import draw_volcano
from core.plots import theme

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
        "unknown": ([-3.0], [5.0], theme.LABEL_COLOURS["unknown"]),
        "none": ([0.1], [0.30103], theme.NONE),
        "down": ([-2.0], [300.0], theme.DOWN),
        "up": ([2.0], [10.0], theme.UP),
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
