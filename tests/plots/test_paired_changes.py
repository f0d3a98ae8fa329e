"""Paired differences and their table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.plots import paired_changes, theme
from core.stats.comparison import compare
from core.stats.scores_and_labels import scores_from_probabilities

TABLE = pd.DataFrame(
    [
        ("DE", "row", 0.02, 0.01, 0.03, 2499),
        ("DE", "perturbation and gene", 0.02, -0.01, 0.05, 2499),
        ("mean", "row", -0.01, np.nan, np.nan, 2499),
    ],
    columns=list(paired_changes.COLUMNS),
)


def test_table_holds_every_interval_of_a_comparison() -> None:
    labels = ["up", "down", "none", "none", "up", "down"]
    a = scores_from_probabilities([0.9, 0.2, 0.5, 0.1, 0.6, 0.3], [0.9, 0.8, 0.5, 0.5, 0.4, 0.1])
    b = scores_from_probabilities([0.9, 0.8, 0.5, 0.1, 0.6, 0.7], [0.9, 0.1, 0.5, 0.5, 0.4, 0.2])
    comparison = compare(labels, a, b, list("ppqqrr"), list("xyxyxy"))
    table = paired_changes.table(comparison)
    assert table["metric"].tolist() == ["DE"] * 4 + ["DIR"] * 4 + ["mean"] * 4
    assert table["unit"].tolist() == ["perturbation and gene", "row", "perturbation", "gene"] * 3
    # DE: a loses the pairs (.2, .5) and (.3, .5) of 4 · 2, b loses none. DIR: a wins .9 > .8, .9 > .1, .4 > .1, b all 4.
    assert table.groupby("metric")["estimate"].first().to_dict() == pytest.approx({"DE": 0.25, "DIR": 0.25, "mean": 0.25})
    shown = table[(table["metric"] == "DIR") & (table["unit"] == "perturbation")].iloc[0]
    expected = comparison.dir.change.pert
    np.testing.assert_equal([shown["low"], shown["high"], shown["n"]], [expected.low, expected.high, expected.n])


def test_differences_stand_under_their_metric() -> None:
    chart = paired_changes.figure(TABLE, 0.024)
    both = "allowing for shared perturbations and genes"
    assert list(chart.layout.yaxis.ticktext) == ["<i>DE</i>", "by rows alone", f"<b>{both}</b>", "<i>mean</i>", "by rows alone"]
    others, judged, _ = chart.data  # what the runs are judged by stands out
    assert (others.marker.color, judged.marker.color) == (theme.BASELINE, theme.CHOSEN)
    assert (list(others.x), list(others.y)) == ([0.02, -0.01], [1, 4])
    assert list(others.marker.symbol) == ["circle", "circle-open"]
    assert (list(judged.x), list(judged.y)) == ([0.02], [2])
    words = ["", "+0.020 [+0.010, +0.030]", "+0.020 [−0.010, +0.050]", "detectable ±0.024", "−0.010 [no interval]"]
    assert list(chart.layout.yaxis2.ticktext) == words


@pytest.mark.soak
def test_what_cannot_be_seen_is_shaded_in_the_rows_of_the_mean() -> None:
    chart = paired_changes.figure(TABLE, 0.1)
    band = chart.layout.shapes[1]
    assert (band.type, band.x0, band.x1, band.y0, band.y1) == ("rect", -0.1, 0.1, 2.5, 4.5)
    low, high = chart.layout.xaxis.range
    assert low < -0.1 < 0.1 < high
    assert len(paired_changes.figure(TABLE[TABLE["metric"] == "DE"], 0.1).layout.shapes) == 1  # no mean, no band
