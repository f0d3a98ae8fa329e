"""The figure of a benchmark's deltas."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import benchmark_deltas

TABLE = pd.DataFrame(
    [
        ("mean", "change", "by rows alone", 0.02, 0.01, 0.03, 100),
        ("mean", "noise", "the arm against itself", 0.0, -0.004, 0.004, 100),
        ("placebo", "placebo", "DE <within> gene", 0.0, np.nan, np.nan, 100),
    ],
    columns=list(benchmark_deltas.COLUMNS),
)


def test_every_number_stands_under_its_metric() -> None:
    chart = benchmark_deltas.figure(TABLE, 0.01)
    names = ["<i>mean</i>", "by rows alone", "the arm against itself", "<i>placebo</i>", "DE &lt;within&gt; gene"]
    assert list(chart.layout.yaxis.ticktext) == names
    assert list(chart.layout.yaxis2.ticktext) == ["", "+0.020 [+0.010, +0.030]", "±0.004", "", "+0.000 [no interval]"]
    assert {trace.marker.color for trace in chart.data if trace.x[0] is not None} == {"#009E73", "#E69F00", "#8C8C8C"}
