"""The decision curve as a figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError
from core.plots import decision_curve

TABLE = pd.DataFrame(
    [(0.25, 80, 0.2, 0.1, 0.3, 0.15), (0.5, 20, 0.05, np.nan, np.nan, -0.2), (0.75, 5, 0.01, -0.02, 0.04, -1.5)],
    columns=list(decision_curve.COLUMNS),
)


def test_the_curve_stands_beside_all_and_none() -> None:
    chart = decision_curve.figure(TABLE, "P(DE)")
    high, low, everything, curve = chart.data
    assert (list(high.x), list(low.y)) == ([0.25, 0.75], [0.1, -0.02])
    assert (list(everything.y), list(curve.y)) == ([0.15, -0.2, -1.5], [0.2, 0.05, 0.01])
    assert curve.hovertext[0] == "80 rows, net benefit +0.200 [+0.100, +0.300]"
    assert [note.text for note in chart.layout.annotations] == ["none"]
    assert chart.layout.yaxis.range[0] > -0.5  # the line of all rows may leave the picture


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InputError, match="decision_curve: missing column chosen"):
        decision_curve.figure(TABLE.drop(columns="chosen"), "P(DE)")
