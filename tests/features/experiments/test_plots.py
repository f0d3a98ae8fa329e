"""The figures of experiments: their arms, and the scores of what was tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.features.experiments import plots
from core.features.experiments.result import ArmResult, judge_arms
from core.plots import drawing
from core.stats.intervals import normal_interval
from tests.estimates import plain_estimate


def estimate(value: float, se: float = 0.01) -> object:
    return plain_estimate(normal_interval(value, se**2, 200, "row", "an example", (-1.0, 1.0)))


ARM = ArmResult("an arm", "", 200, "all rows")
CODED = replace(
    ARM, name="coded", mean=estimate(0.53), delta_mean=estimate(-0.08), delta_de=estimate(-0.07)
)
SWAPPED = replace(ARM, name="swapped", mean=estimate(0.6), delta_mean=estimate(0.001))
BASE = replace(ARM, name="as it is", mean=estimate(0.61), is_base=True)


def test_changes_stand_in_blocks_beside_the_base_and_the_smallest_effect() -> None:
    chart = plots.draw_arms(
        judge_arms([BASE, CODED, SWAPPED], "mean", 0.02), "score", "mean", 0.02
    ).chart
    assert [*chart.layout.yaxis.ticktext] == [
        "<i>DE</i>",
        "coded",
        "<i>mean</i>",
        "<b>coded</b>",
        "swapped",
    ]
    assert {each.text for each in chart.layout.annotations} == {"as it is", "smallest effect 0.02"}
    assert "p after Holm" in chart.layout.yaxis2.ticktext[3]
    assert "p after Holm" not in chart.layout.yaxis2.ticktext[1]


def test_without_a_base_own_scores_stand_beside_chance() -> None:
    arms = [replace(ARM, name="least", de=estimate(0.55)), replace(ARM, name="none")]
    chart = plots.draw_arms(arms, "score", "mean", 0.01).chart
    assert [*chart.layout.yaxis.ticktext] == ["<i>DE</i>", "least"]
    assert [each.text for each in chart.layout.annotations] == ["chance 0.5"]
    assert chart.layout.xaxis.title.text == "AUROC"


def test_answers_stand_above_those_of_asking_again() -> None:
    moved = replace(ARM, name="no tool", moved=estimate(0.08), floor=estimate(0.05))
    chart = plots.draw_arms([BASE, moved], "answers", "mean", 0.01).chart
    assert [*chart.layout.yaxis.ticktext] == ["no tool", "  asked again"]
    assert drawing.WARNING in {trace.marker.color for trace in chart.data}
    assert chart.layout.xaxis.title.text == "mean |Δ| of the answers"


STEPS = [
    {"step": "base <b>", "score": 0.569, "half width": 0.05, "rows": 904, "verdict": None},
    {"step": "kNN", "score": 0.606, "half width": 0.05, "rows": 904, "verdict": "confirmed"},
    {"step": "blend", "score": 0.558, "half width": None, "rows": None, "verdict": "undecided"},
]


def test_steps_in_order_with_the_noise_of_one_score() -> None:
    [line] = plots.draw_scores(STEPS).data
    assert list(line.y) == [0.569, 0.606, 0.558]
    np.testing.assert_allclose(np.asarray(line.error_y.array, dtype=float), [0.05, 0.05, np.nan])
    assert list(line.marker.symbol) == ["circle", "star", "circle"]
    assert list(line.x) == ["1. base &lt;b&gt;", "2. kNN", "3. blend"]
