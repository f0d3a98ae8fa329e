"""What arguments are worth."""

from __future__ import annotations

import math

from core.plots import rubric_worth, theme
from core.stats.intervals import Interval


def interval(estimate: float, low: float, high: float) -> Interval:
    return Interval(estimate, low, high, 0.01, 900, "row", "an example")


NEVER = (*[math.nan] * 3,)
BLOCKS = [
    (
        "<b>names</b>",
        "900 rows yes, 1,600 no",
        [
            ("hit rate", interval(-0.07, -0.11, -0.02), 0.02),
            ("DE contribution", interval(-0.03, -0.06, 0.01), 0.2),
        ],
    ),
    ("never", "0 rows yes, 2,500 no", [("hit rate", interval(*NEVER), math.nan)]),
]


def test_differences_that_are_left_after_the_correction_have_the_chosen_colour() -> None:
    chart = rubric_worth.figure(BLOCKS)
    dots = {trace.marker.color: list(trace.x) for trace in chart.data if trace.mode == "markers"}
    assert dots == {theme.CHOSEN: [-0.07], theme.BASELINE: [-0.03]}
    assert chart.layout.yaxis.ticktext[0] == "<i>&lt;b&gt;names&lt;/b&gt;</i>"  # a name is no markup
    assert chart.layout.yaxis2.ticktext[0] == "900 rows yes, 1,600 no"
    assert chart.layout.yaxis2.ticktext[1] == "−0.070 [−0.110, −0.020]  Holm p 0.02"
    assert [note.text for note in chart.layout.annotations] == ["no difference"]
