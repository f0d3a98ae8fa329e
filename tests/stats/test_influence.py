from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.stats.influence import (
    Influence,
    carrying_rows,
    cluster_counts,
    covariance,
    effective_clusters,
    influence_of,
    squared_influence,
    variance_of,
)
from core.stats.scores_and_labels import outcome_of, scores_from_probabilities, tasks
from tests.stats.oracles import some_rows

RNG_SEED = 11


def test_influence_is_the_derivative_of_the_weighted_auroc() -> None:
    labels, de, up = some_rows(np.random.default_rng(RNG_SEED), 60)
    influence = influence_of(tasks(outcome_of(labels), scores_from_probabilities(de, up)))
    moved = influence.parts[0] + influence.parts[1]
    step, positive = 1e-6, labels != "none"
    for row in range(60):
        weights = np.ones(60)
        weights[row] += step
        slope = (
            roc_auc_score(positive, de, sample_weight=weights) - roc_auc_score(positive, de)
        ) / step
        assert moved[row] == pytest.approx(slope, abs=1e-6)


def test_covariance_of_de_and_dir_is_the_sum_over_the_rows_of_both() -> None:
    labels, de, up = some_rows(np.random.default_rng(RNG_SEED), 300)
    influence = influence_of(tasks(outcome_of(labels), scores_from_probabilities(de, up)))
    found = covariance(influence)[0]
    by_row = influence.parts[0] + influence.parts[1], influence.parts[2] + influence.parts[3]
    # the two share the m rows with an effect, where the small-sample factor is m / (m - 1)
    m = (labels != "none").sum()
    assert found[0, 1] == pytest.approx(by_row[0] @ by_row[1] * m / (m - 1), abs=1e-15)
    assert found[1, 0] == found[0, 1]


def test_clusters_are_counted_among_the_rows_that_count() -> None:
    labels, de, up = some_rows(np.random.default_rng(RNG_SEED), 300)
    cluster, stratum = np.random.default_rng(1).integers(0, 90, (2, 300))
    stratum %= 4
    found = cluster_counts(
        influence_of(tasks(outcome_of(labels), scores_from_probabilities(de, up)), stratum, 4),
        cluster,
    )
    for s in range(4):
        assert found[0, s] == len(set(cluster[stratum == s]))
        assert found[1, s] == len(set(cluster[(stratum == s) & (labels != "none")]))


def test_a_weight_of_zero_keeps_an_undefined_auroc_out() -> None:
    labels = ["de", "de", "none", "none"]  # no direction is known: DIR is undefined, DE is not
    influence = influence_of(
        tasks(outcome_of(labels), scores_from_probabilities([4, 2, 3, 1], [0.5] * 4))
    )
    matrix = covariance(influence)
    assert influence.combine(np.array([1.0, 0.0]))[0] == 0.75
    assert variance_of(np.array([1.0, 0.0]), matrix)[0] > 0
    assert np.isnan(influence.combine(np.array([0.5, 0.5]))[0])


def test_clusters_of_one_row_carry_as_much_as_normal_rows_and_large_ones_as_clusters() -> None:
    rng = np.random.default_rng(3)
    n = 6000
    x = rng.normal(size=n)
    found = Influence(
        np.array([[0.5]]),
        np.array([[n]]),
        np.stack([x, np.zeros(n)]),
        np.ones((2, n), bool),
        np.zeros(n, int),
    )
    squared = squared_influence(found, np.ones(1))
    assert carrying_rows(squared)[0] == pytest.approx(n / 3, rel=0.05)
    assert effective_clusters(found, squared, [np.arange(n)])[0][0] == pytest.approx(n, rel=0.15)
    assert effective_clusters(found, squared, [np.arange(n) % 30])[0][0] == pytest.approx(
        30, rel=0.05
    )
