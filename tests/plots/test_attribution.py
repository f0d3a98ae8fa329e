"""The figure of an attribution."""

from __future__ import annotations

import math

import pandas as pd

from core.plots import attribution, theme

TABLE = pd.DataFrame(
    [("gene_class", 0.14, 0.13, 0.16, 60, 0.006, True), ("<b>", 0.05, math.nan, math.nan, 60, 0.5, False)],
    columns=list(attribution.COLUMNS),
)


def test_tools_stand_over_the_band_of_the_floor() -> None:
    chart = attribution.figure(TABLE, (0.05, 0.04, 0.06))
    assert list(chart.layout.yaxis.ticktext) == ["<b>gene_class</b>", "&lt;b&gt;"]
    assert list(chart.layout.yaxis2.ticktext) == [
        "0.140 [0.130, 0.160] · one-sided p after Holm 0.0060",
        "0.050 [no interval] · one-sided p after Holm 0.5000",
    ]
    [band] = [shape for shape in chart.layout.shapes if shape.type == "rect"]
    assert (band.x0, band.x1) == (0.04, 0.06)
    assert [note.text for note in chart.layout.annotations] == ["asking again 0.050"]
    assert {trace.marker.color for trace in chart.data if trace.x[0] is not None} == {theme.CHOSEN, theme.BASELINE}
    assert chart.layout.xaxis.range[0] <= 0


def test_without_an_interval_there_is_no_band() -> None:
    chart = attribution.figure(TABLE, (0.05, math.nan, math.nan))
    assert not [shape for shape in chart.layout.shapes if shape.type == "rect"]
