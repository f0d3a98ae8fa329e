"""A score between no biology and a replicate: by hand, and undefined where the replicate is no better than the floor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.stats.official_score import scaled_scores
from core.stats.scores_and_labels import Scores, outcome_of

LABELS = ["up", "down", "none", "none"] * 6
PERT = np.repeat(np.arange(6), 4)


def scores(values: list[float]) -> Scores:
    p = np.array(values * 6)
    return Scores(p, p)


def test_the_scale_is_that_of_the_three_aurocs() -> None:
    # DE, one perturbation like the other: the run wins 3 of the 4 pairs of effect and none, the control 2, the replicate 4
    run, control, replicate = scores([0.9, 0.4, 0.5, 0.1]), scores([0.5, 0.5, 0.5, 0.5]), scores([0.9, 0.8, 0.2, 0.1])
    de, direction = scaled_scores(outcome_of(LABELS), (run, control, replicate), PERT)
    assert (de.score, de.floor, de.ceiling) == (0.75, 0.5, 1.0)
    assert (de.value, de.low, de.high) == (0.5, 0.5, 0.5)  # perturbations are alike, so that each draw is
    assert (direction.score, direction.ceiling, direction.value) == (1.0, 1.0, 1.0)


def test_a_replicate_no_better_than_the_floor_makes_no_scale() -> None:
    flat = scores([0.5] * 4)
    de, _ = scaled_scores(outcome_of(LABELS), (scores([0.9, 0.8, 0.2, 0.1]), flat, flat), PERT)
    assert (de.score, de.ceiling) == (1.0, 0.5)
    assert math.isnan(de.value)
    assert math.isnan(de.low)


def test_the_interval_holds_the_value() -> None:
    rng = np.random.default_rng(3)
    effect = rng.random(300) < 0.5
    labels = np.where(effect, np.where(rng.random(300) < 0.5, "up", "down"), "none")
    arms = [Scores(value, value) for value in (effect * strength + rng.normal(size=300) for strength in (1.0, 0.1, 3.0))]
    de, _ = scaled_scores(outcome_of(labels), arms, np.arange(300) // 10, resamples=60)
    assert de.low < de.value < de.high
    assert de.value == pytest.approx((de.score - de.floor) / (de.ceiling - de.floor))
