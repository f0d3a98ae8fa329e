"""Signs of labels and the key above a plot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import label_signs


def test_what_is_not_known_is_called_so() -> None:
    table = pd.DataFrame({"label": ["up", None, "", np.nan, "mixed"]})
    assert label_signs.label_column(table).tolist() == [
        "up",
        "unknown",
        "unknown",
        "unknown",
        "mixed",
    ]


def test_the_key_counts_the_labels_there_are() -> None:
    words = label_signs.counts_by_label(pd.Series(["none"] * 1200 + ["up"]))
    assert words == [
        f"{label_signs.sign_markup('up')} up 1",
        f"{label_signs.sign_markup('none')} none 1,200",
    ]
    chart = go.Figure()
    label_signs.draw_key(chart, [*words, "size: share"])
    assert all(part in chart.layout.annotations[0].text for part in [*words, "size: share"])
