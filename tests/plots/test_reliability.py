"""The reliability curve and its table."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.plots import reliability

POSITIVE, PROBABILITY = [1, 0, 1, 1], [0.2, 0.3, 0.9, 0.9]


def test_table_by_hand() -> None:
    table, summary = reliability.table(POSITIVE, PROBABILITY, bins=2)
    # Below .5: rows at .2 and .3, one of two happened. Above: both at .9 happened.
    assert table[["predicted", "observed", "n"]].to_numpy().tolist() == [[0.25, 0.5, 2], [pytest.approx(0.9), 1.0, 2]]
    # Wilson for 1 of 2, z² = 3.8415: 1/2 ± z · √(1/8 + z²/16) / (1 + z²/2) = .5 ± 1.96 · .6045 / 2.9207
    assert table.loc[0, ["low", "high"]].tolist() == pytest.approx([0.0945, 0.9055], abs=1e-4)
    # ECE (2 · |.25 - .5| + 2 · |.9 - 1|) / 4 = .175; Brier (.64 + .09 + .01 + .01) / 4 = .1875
    assert summary == "expected calibration error 0.175, Brier score 0.188 (0 is perfect)"


def test_empty_bins_are_left_out() -> None:
    assert reliability.table(POSITIVE, PROBABILITY)[0]["n"].tolist() == [1, 1, 2]


def test_figure_shows_the_curve_its_whiskers_and_the_perfect_line() -> None:
    table, _ = reliability.table(POSITIVE, PROBABILITY, bins=2)
    chart = reliability.figure(table, "P(DE)")
    curve = chart.data[0]
    assert (list(curve.x), list(curve.y)) == ([0.25, pytest.approx(0.9)], [0.5, 1.0])
    np.testing.assert_allclose(curve.error_y.arrayminus, table["observed"] - table["low"])
    np.testing.assert_allclose(curve.error_y.array, table["high"] - table["observed"])
    assert curve.hovertext[0] == "0.500 [0.095, 0.905]<br>n 2"
    assert [note.text for note in chart.layout.annotations] == ["perfect"]
    line = chart.layout.shapes[0]
    assert (line.x0, line.y0, line.x1, line.y1) == (0, 0, 1, 1)
    assert chart.layout.xaxis.title.text == "predicted P(DE), mean of a bin"


def test_one_row_is_drawn() -> None:
    assert list(reliability.figure(reliability.table([1], [0.7])[0], "P(DE)").data[0].y) == [1.0]


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InputError, match="reliability: missing columns low, high"):
        reliability.figure(reliability.table([1], [0.7])[0].drop(columns=["low", "high"]), "P(DE)")
