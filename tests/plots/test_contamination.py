"""The figure of an experiment with other gene names."""

from __future__ import annotations

import math

import pandas as pd

from core.plots import contamination, theme

TABLE = pd.DataFrame(
    [("coded", 0.52, -0.3, -0.4, -0.2, 60, 0.001, True), ("<b>", 0.8, 0.0, math.nan, math.nan, 60, math.nan, False)],
    columns=list(contamination.COLUMNS),
)


def test_arms_that_fall_stand_out_beside_the_line_of_no_change() -> None:
    chart = contamination.figure(TABLE)
    assert list(chart.layout.yaxis.ticktext) == ["<b>coded</b>", "&lt;b&gt;"]
    assert chart.layout.yaxis2.ticktext[0] == "−0.300 [−0.400, −0.200] · p after Holm 0.0010"
    assert [note.text for note in chart.layout.annotations] == ["as it is"]
    assert {trace.marker.color for trace in chart.data if trace.x[0] is not None} == {theme.CHOSEN, theme.BASELINE}
