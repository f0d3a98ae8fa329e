from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import spearmanr

from core.stats.official_score import point_score
from core.stats.row_changes import agreement, row_changes
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from tests.stats.oracles import scored_rows, some_rows, wins


@given(scored_rows(runs=2))
def test_contributions_sum_to_the_change(rows: tuple[np.ndarray, list[np.ndarray]]) -> None:
    positive, (first, second) = rows
    labels = np.where(positive, "de", "none")
    nothing = np.full(len(first), np.nan)
    change, _ = row_changes(labels, Scores(first, nothing), Scores(second, nothing))
    difference = wins(positive, second) - wins(positive, first)
    assert change.contribution.sum() == pytest.approx(change.change, abs=1e-12)
    assert change.change == pytest.approx(difference.mean(), abs=1e-12)
    # pairs gained less pairs lost, half to each row of the pair
    np.testing.assert_allclose(
        change.contribution[positive], difference.sum(axis=1) / (2 * difference.size), atol=1e-14
    )
    np.testing.assert_allclose(
        change.contribution[~positive], difference.sum(axis=0) / (2 * difference.size), atol=1e-14
    )


def test_by_hand() -> None:
    # b lifts the up row over both others: DE gains the pair (up, none) of 2, DIR the pair (up, down) of 1
    labels = ["up", "down", "none"]
    de, direction = row_changes(
        labels,
        scores_from_probabilities([1, 3, 2], [1, 3, 2]),
        scores_from_probabilities([4, 3, 2], [4, 3, 2]),
    )
    assert de.contribution.tolist() == [0.25, 0.0, 0.25]
    assert (de.change, de.wins, de.losses, de.even) == (0.5, 2, 0, 1)
    assert direction.contribution.tolist() == [0.5, 0.5, 0.0]  # the none row does not count
    assert (direction.change, direction.wins, direction.losses, direction.even) == (1.0, 2, 0, 0)


def test_changes_of_many_rows_sum_in_both_metrics() -> None:
    rng = np.random.default_rng(1)
    labels, de, up = some_rows(rng, 2000)
    a, b = (
        scores_from_probabilities(de, up),
        scores_from_probabilities(de + rng.random(2000), up + rng.random(2000)),
    )
    for change, metric in zip(row_changes(labels, a, b), ("de", "dir"), strict=True):
        assert change.contribution.sum() == pytest.approx(
            getattr(point_score(labels, b), metric) - getattr(point_score(labels, a), metric),
            abs=1e-12,
        )
        assert change.wins == (change.contribution > 0).sum()
        assert change.losses == (change.contribution < 0).sum()


def test_without_labels_nothing_changes() -> None:
    de, _ = row_changes(
        [None, None],
        scores_from_probabilities([1, 2], [1, 2]),
        scores_from_probabilities([2, 1], [2, 1]),
    )
    assert np.isnan(de.change)
    assert (de.contribution.tolist(), de.wins, de.losses, de.even) == ([0.0, 0.0], 0, 0, 0)


def test_agreement_equals_scipy() -> None:
    rng = np.random.default_rng(2)
    _, de, up = some_rows(rng)
    a = scores_from_probabilities(de, np.where(rng.random(200) < 0.1, np.nan, up))
    b = scores_from_probabilities(de + 0.5 * rng.random(200), up + 0.5 * rng.random(200))
    found, both = agreement(a, b), ~np.isnan(a.p_up)
    assert found.de == pytest.approx(spearmanr(a.p_de, b.p_de).statistic)
    assert found.up == pytest.approx(spearmanr(a.p_up[both], b.p_up[both]).statistic)
    assert (found.n, found.n_up) == (200, both.sum())


def test_a_constant_run_agrees_with_nothing() -> None:
    assert np.isnan(
        agreement(
            scores_from_probabilities([1, 1], [1, 1]), scores_from_probabilities([1, 2], [1, 2])
        ).de
    )
