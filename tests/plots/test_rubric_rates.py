"""Rates of an answer by role, and what arguments are worth."""

from __future__ import annotations

import math

from core.plots import rubric_rates, rubric_worth, theme
from core.stats.intervals import Interval


def interval(estimate: float, low: float, high: float) -> Interval:
    return Interval(estimate, low, high, 0.01, 900, "row", "an example")


LINES = [
    ("EFFECT", "raw", 2000, interval(0.135, 0.12, 0.15)),
    ("EFFECT", "corrected", 12, None),
    ("all", "raw", 8000, interval(0.2, 0.18, 0.22)),
    ("all", "corrected", 100, interval(0.11, 0.07, 0.16)),
]
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


def test_each_role_has_a_block_with_both_rates() -> None:
    chart = rubric_rates.figure(LINES, "yes")
    names = ["as judged", "corrected"]
    assert list(chart.layout.yaxis.ticktext) == ["<i>EFFECT</i>", *names, "<i>all</i>", *names]
    words = list(chart.layout.yaxis2.ticktext)
    assert words[1:3] == ["13.5% [12.0%, 15.0%]  2,000 texts read", "–  12 labels"]
    dots = {trace.marker.color: list(trace.x) for trace in chart.data if trace.mode == "markers"}
    assert dots == {theme.BASELINE: [0.135, 0.2], theme.CHOSEN: [0.11]}
    assert chart.layout.xaxis.range[0] <= 0
    assert chart.layout.xaxis.title.text == "share of texts: yes"


def test_differences_that_are_left_after_the_correction_have_the_chosen_colour() -> None:
    chart = rubric_worth.figure(BLOCKS)
    dots = {trace.marker.color: list(trace.x) for trace in chart.data if trace.mode == "markers"}
    assert dots == {theme.CHOSEN: [-0.07], theme.BASELINE: [-0.03]}
    assert chart.layout.yaxis.ticktext[0] == "<i>&lt;b&gt;names&lt;/b&gt;</i>"  # a name is no markup
    assert chart.layout.yaxis2.ticktext[0] == "900 rows yes, 1,600 no"
    assert chart.layout.yaxis2.ticktext[1] == "−0.070 [−0.110, −0.020]  Holm p 0.02"
    assert [note.text for note in chart.layout.annotations] == ["no difference"]
