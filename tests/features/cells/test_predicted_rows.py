"""Rows of predicted expression: probabilities, ranks, stand-ins, and what the trace says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from core.base.types import Flag, Label, Pair
from core.features.cells.predicted_table import (
    LARGEST_LOG_ODDS,
    PRIOR_PRECISION,
    PredictedChanges,
    ProbabilityMap,
    build_rows,
    fit_probability_map,
    signed_log,
)
from core.stats.auroc import auroc
from tests.strength import examples

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
    assert event.content.splitlines() == [
        "predicted log2 fold change −1.5",
        "evidence of a change: |log2 fold change| = 1.5",
    ]


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


def test_an_effect_of_unknown_direction_counts_for_de_alone() -> None:
    labels = (*LABELS[:7], Label.DE)
    made = build_rows(pairs(labels), changes())
    assert (made.base_rates.p_de, made.base_rates.p_up) == (6 / 8, 3 / 5)


EVIDENCE = np.array([0.1, 0.4, 0.2, 1.5, 2.5, 0.9, 3.0, 0.3, 1.1, 0.7])
EFFECT = np.array([0, 0, 1, 1, 1, 0, 1, 0, 0, 1], dtype=np.bool_)
ALL = np.ones(10, dtype=np.bool_)


def test_the_coefficients_minimise_the_penalised_loss() -> None:
    x = np.log(1 + EVIDENCE)
    z = (x - x.mean()) / x.std()

    def loss(coefficients):
        line = coefficients[0] + coefficients[1] * z
        return float(
            np.logaddexp(0, line).sum()
            - line[EFFECT].sum()
            + PRIOR_PRECISION / 2 * coefficients[1] ** 2
        )

    intercept, slope = minimize(loss, [0.0, 0.0], tol=1e-12).x
    found = fit_probability_map(EVIDENCE, EFFECT, ALL)
    assert isinstance(found, ProbabilityMap)
    assert found.slope == pytest.approx(slope / x.std(), rel=1e-3)
    assert found.intercept == pytest.approx(intercept - slope * x.mean() / x.std(), rel=1e-3)
    assert (found.n, found.positives) == (10, 5)


def test_a_map_by_hand() -> None:
    # s(-1) = -log 2, s(0) = 0, s(e - 1) = 1: 1 / (1 + exp(-(0.5 + 2 s)))
    found = ProbabilityMap(0.5, 2.0, 0, 0).probabilities(np.array([-1, 0, np.e - 1, np.nan]))
    assert found[:3] == pytest.approx(
        [1 / (1 + np.exp(-0.5 + 2 * np.log(2))), 1 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(-2.5))]
    )
    assert np.isnan(found[3])


@pytest.mark.soak
@examples(30)
@given(
    st.lists(
        st.integers(-400_000, 400_000).map(lambda n: n / 1000), min_size=4, max_size=60, unique=True
    ),
    st.integers(0, 2**32 - 1),
)
def test_a_map_keeps_the_order_and_with_it_the_auroc(values: list[float], seed: int) -> None:
    """Whatever the labels, also those that the values separate perfectly: no two values become one."""
    x = np.array(values)
    rng = np.random.default_rng(seed)
    positive = rng.random(len(x)) < expit(rng.choice([0.01, 1.0, 100.0]) * x)
    found = fit_probability_map(x, positive, np.ones(len(x), dtype=np.bool_))
    if isinstance(found, str):
        return
    p = found.probabilities(x)
    order = np.argsort(x)
    assert (np.diff(p[order]) > 0).all()
    assert p.min() > 0
    assert p.max() < 1
    assert auroc(positive, p) == auroc(positive, x) == pytest.approx(roc_auc_score(positive, x))


def test_separated_labels_and_strong_evidence_stay_apart() -> None:
    values = np.concatenate([np.linspace(0, 1, 50), np.linspace(300, 308, 50)])  # -log10 p
    found = fit_probability_map(values, values > 100, np.ones(100, dtype=np.bool_))
    assert isinstance(found, ProbabilityMap)
    assert np.abs(found.intercept + found.slope * signed_log(values)).max() <= LARGEST_LOG_ODDS * (
        1 + 1e-12
    )
    assert len(np.unique(np.round(found.probabilities(values), 14))) == 100


@pytest.mark.parametrize(
    ("values", "positive", "problem"),
    [
        (-EVIDENCE, EFFECT, r"a slope of -[\d.]+ on 10 labelled training pairs, expected above 0"),
        (
            EVIDENCE,
            np.zeros(10, dtype=np.bool_),
            "10 covered training pairs with a label, 0 of them positive",
        ),
        (np.full(10, 0.5), EFFECT, "the same value for all of its 10"),
        (np.full(10, np.nan), EFFECT, "0 covered training pairs with a label"),
    ],
)
def test_there_is_no_map_and_it_is_said_why(
    values: np.ndarray, positive: np.ndarray, problem: str
) -> None:
    found = fit_probability_map(values, positive, ALL)
    assert isinstance(found, str)
    assert re.search(problem, found), found


def test_only_marked_pairs_are_fitted_on() -> None:
    used = np.array([True] * 8 + [False] * 2)
    found = fit_probability_map(EVIDENCE, EFFECT, used)
    assert found == fit_probability_map(EVIDENCE, np.where(used, EFFECT, ~EFFECT), used)
    assert isinstance(found, ProbabilityMap)
    assert found.n == 8
