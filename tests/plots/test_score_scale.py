"""The figure of scores between no biology and a replicate."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from core.errors import InputError
from core.plots import score_scale

NAN = math.nan
TABLE = pd.DataFrame(
    [("<i> · DE", 0.4, 0.2, 0.6, 0.6, 0.5, 0.75, 60, True), ("a · DIR", NAN, NAN, NAN, 0.6, 0.5, 0.5, 20, False)],
    columns=list(score_scale.COLUMNS),
)


def test_the_ends_of_the_scale_are_drawn_and_what_has_none_says_so() -> None:
    chart = score_scale.figure(TABLE)
    assert list(chart.layout.yaxis.ticktext) == ["<b>&lt;i&gt; · DE</b>", "a · DIR"]
    assert list(chart.layout.yaxis2.ticktext) == ["0.40 [0.20, 0.60]", "no scale"]
    assert [note.text for note in chart.layout.annotations] == ["no-biology baseline", "replicate"]
    low, high = chart.layout.xaxis.range
    assert low < 0 < 1 < high
    with pytest.raises(InputError, match="missing column ceiling"):
        score_scale.figure(TABLE.drop(columns="ceiling"))
