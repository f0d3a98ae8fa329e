"""Rows of predicted expression: probabilities, ranks, stand-ins, and what the trace says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from core.base.types import Flag, Label, Pair
from core.features.cells.predicted_rows import ProbabilityMap, build_rows
from core.features.cells.predicted_table import PredictedChanges

# 8 labelled training pairs: 5 with an effect, 3 of them up; a test pair; one that the model lacks.
LABELS = (Label.UP, Label.UP, Label.DOWN, Label.NONE, Label.NONE, Label.UP, Label.DOWN, Label.NONE)
SIGNED = np.array([2.0, 1.0, -1.5, 0.2, -0.1, 0.3, 0.4, 0.6, 0.5, np.nan])


def pairs(labels: tuple[Label | None, ...] = LABELS) -> list[Pair]:
    rows = [Pair(f"P_G{i}", "P", f"G{i}", label, "train") for i, label in enumerate(labels)]
    return [*rows, Pair("P_T", "P", "T", None, "test"), Pair("P_N", "P", "N", Label.UP, "test")]


def changes(signed: np.ndarray = SIGNED) -> PredictedChanges:
    return PredictedChanges(np.abs(signed), signed, signed, "log2_fc", {})


def test_numbers_come_from_the_maps_and_are_written_down() -> None:
    made = build_rows(pairs(), changes())
    assert (made.scale, made.why, made.uncovered) == ("probabilities", "", 1)
    de, direction = made.maps["DE"], made.maps["DIR"]
    assert isinstance(de, ProbabilityMap)
    assert isinstance(direction, ProbabilityMap)
    assert (de.n, de.positives, direction.n, direction.positives) == (
        8,
        5,
        5,
        3,
    )  # the labelled test pair is not used
    third = made.rows[2].prediction  # of -1.5
    p_de = expit(de.intercept + de.slope * np.log(2.5))
    p_up = expit(direction.intercept - direction.slope * np.log(2.5))
    assert (third.p_de, third.p_up_given_de) == pytest.approx((p_de, p_up))
    assert third.prediction_up + third.prediction_down == pytest.approx(p_de)
    assert third.flags == ()
    [event] = made.rows[2].events
    assert dict(event.meta) == {"evidence": 1.5, "signed": -1.5, "log2_fc": -1.5}
    assert f"P(DE) {p_de:.4f} = logistic(" in event.content
    assert "· log(1 + 1.5))" in event.content


def test_a_pair_that_the_model_lacks_has_the_base_rates_of_the_training_split() -> None:
    last = build_rows(pairs(), changes()).rows[-1]
    assert (last.prediction.p_de, last.prediction.p_up_given_de) == (5 / 8, 3 / 5)
    assert last.prediction.flags == (Flag.NOT_PREDICTED,)
    assert "base rates 0.6250 and 0.6000 stand in" in last.events[0].content


def test_without_labels_rows_are_ranked() -> None:
    made = build_rows(pairs((None,) * 8), changes())
    assert made.scale == "rank_only"
    assert "0 covered training pairs with a label" in made.why
    # evidence of nine pairs: .1 .2 .3 .4 .5 .6 1 1.5 2; mid-rank / 10
    assert [row.prediction.p_de for row in made.rows] == pytest.approx(
        [0.9, 0.7, 0.8, 0.2, 0.1, 0.3, 0.4, 0.6, 0.5, 0.5]
    )
    assert made.rows[2].prediction.p_up_given_de == pytest.approx(
        0.1
    )  # the lowest of the signed ones
    assert (made.base_rates.p_de, made.base_rates.n) == (0.5, 0)


def test_a_slope_below_0_is_said_and_ranks_count() -> None:
    made = build_rows(pairs(), changes(-SIGNED))
    assert made.scale == "rank_only"
    assert made.why.startswith("DIR: a slope of -")
    assert made.rows[-1].prediction.p_de == 5 / 8
    assert made.record()["maps"]["DIR"] == made.maps["DIR"]


def test_ranks_can_be_asked_for() -> None:
    made = build_rows(pairs(), changes(), rank_only=True)
    assert (made.scale, made.why) == ("rank_only", "ranks were asked for")
    assert made.rows[0].prediction.p_de == pytest.approx(0.9)
    assert "percentile of 2" in made.rows[0].events[0].content


def test_an_effect_of_unknown_direction_counts_for_de_alone() -> None:
    labels = (*LABELS[:7], Label.DE)
    made = build_rows(pairs(labels), changes())
    assert (made.base_rates.p_de, made.base_rates.p_up) == (6 / 8, 3 / 5)
