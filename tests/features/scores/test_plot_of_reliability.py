"""The reliability curve and its table."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from core.features.scores.calibration import bin_rows, summary
from core.features.scores.plots import reliability
from core.stats.calibration import Reliability
from core.stats.calibration import reliability as reliability_of


def found(positive: list[int], probability: list[float], bins: int = 2) -> Reliability:
    rows = range(len(positive))
    return reliability_of(positive, probability, rows, rows, bins)


FOUND = found([1, 0, 1, 1], [0.2, 0.3, 0.9, 0.9])
TABLE = pd.DataFrame(bin_rows(FOUND))


def test_table_by_hand() -> None:
    # Below .5: rows at .2 and .3, one of two happened. Above: both at .9 happened.
    assert TABLE[["predicted", "observed", "n"]].to_numpy().tolist() == [
        [0.25, 0.5, 2],
        [pytest.approx(0.9), 1.0, 2],
    ]
    assert TABLE[["band_low", "band_high"]].to_numpy().tolist() == [
        [one.band_low, one.band_high] for one in FOUND.bins
    ]
    # ECE (2 · |.25 - .5| + 2 · |.9 - 1|) / 4 = .175; Brier (.64 + .09 + .01 + .01) / 4 = .1875. The residuals .8 and -.3
    # have a standard error of .55, so that noise of this size around .25 has a mean of .484; the second bin has none:
    # (2 · (.5 - .484) + 2 · .1) / 4 = .058
    assert re.findall(r"\d\.\d{3}", summary(FOUND)) == ["0.175", "0.058", "0.188"]


def test_figure_shows_the_curve_the_bands_and_the_perfect_line() -> None:
    chart = reliability.figure(TABLE.assign(n=[5, 5]), "P(DE)")
    bands, curve = chart.data
    assert list(bands.x[:3]) == [0.25, 0.25, None]
    assert list(bands.y[:2]) == TABLE.loc[0, ["band_low", "band_high"]].tolist()
    assert (list(curve.x), list(curve.y)) == ([0.25, pytest.approx(0.9)], [0.5, 1.0])
    line = chart.layout.shapes[0]
    assert (line.x0, line.y0, line.x1, line.y1) == (0, 0, 1, 1)


def test_a_bin_of_a_handful_of_rows_has_no_band() -> None:
    """It would reach from 0 to 1."""
    bands, curve = reliability.figure(TABLE.assign(n=[4, 5]), "P(DE)").data
    assert bands.x[0] == pytest.approx(0.9)
    assert len(curve.x) == 2


def test_recalibrated_probabilities_are_drawn_hollow() -> None:
    chart = reliability.figure(TABLE, "P(DE)", TABLE.assign(observed=[0.3, 0.8]))
    assert (chart.data[2].marker.symbol, list(chart.data[2].y)) == ("diamond-open", [0.3, 0.8])
