from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.base.errors import InputError
from core.stats.delong import two_way_delong
from core.stats.official_score import official_score, point_score, score_with_intervals
from core.stats.scores_and_labels import scores_from_probabilities
from tests.stats.oracles import delong_covariance, some_rows


def test_official_score_by_hand() -> None:
    # p_de: up .6, down .4, none .4, none .2. Effects beat nones in .6>.4, .6>.2, .4=.4 (half), .4>.2: 3.5 of 4.
    # p_up given an effect: up row .5/.6, down row .1/.4: the up row is above the down row.
    score = official_score(
        ["up", "down", "none", "none"], [0.5, 0.1, 0.2, 0.1], [0.1, 0.3, 0.2, 0.1]
    )
    assert (score.de, score.dir, score.mean) == (0.875, 1.0, 0.9375)
    assert (score.n, score.n_labelled, score.n_de) == (4, 4, 2)


def test_official_score_equals_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    labels = rng.choice(["up", "down", "none"], 500)
    parts = np.round(rng.random((2, 500)) / 2, 2)
    effect, total = labels != "none", parts.sum(axis=0)
    share = np.divide(parts[0], total, out=np.zeros(500), where=total > 0)
    score = official_score(labels, *parts)
    assert score.de == pytest.approx(roc_auc_score(effect, total), abs=1e-12)
    assert score.dir == pytest.approx(
        roc_auc_score(labels[effect] == "up", share[effect]), abs=1e-12
    )


def test_nothing_at_all_counts_as_zero_officially_and_as_missing_elsewhere() -> None:
    labels, up, down = ["up", "up", "down", "none"], [0.0, 0.6, 0.2, 0.1], [0.0, 0.2, 0.6, 0.1]
    assert official_score(labels, up, down).dir == 0.5  # 0 < 1/4 loses, 3/4 > 1/4 wins
    scores = scores_from_probabilities([0.0, 0.8, 0.8, 0.2], [np.nan, 0.75, 0.25, 0.5])
    assert point_score(labels, scores).dir == 1.0  # the one pair that has both directions
    assert point_score(labels, scores).de == official_score(labels, up, down).de


def test_without_labels_there_is_no_score() -> None:
    score = official_score([None, "", np.nan], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3])
    assert (score.n, score.n_labelled, score.n_de) == (3, 0, 0)
    assert np.isnan([score.de, score.dir, score.mean]).all()


def test_unlabelled_rows_do_not_count() -> None:
    rng = np.random.default_rng(2)
    labels, de, up = some_rows(rng)
    hidden = np.where(rng.random(200) < 0.3, None, labels.astype(object))
    known = hidden != None  # noqa: E711 (elementwise)
    some, alone = (
        point_score(hidden, scores_from_probabilities(de, up)),
        point_score(labels[known], scores_from_probabilities(de[known], up[known])),
    )
    assert (some.de, some.dir, some.n_labelled) == (alone.de, alone.dir, known.sum())


def test_data_sets_of_one_kind_have_half_a_score() -> None:
    changed = point_score(["de", "none", "none"], scores_from_probabilities([3, 2, 1], [0.5] * 3))
    assert (changed.de, changed.n_de) == (1.0, 1)
    assert np.isnan([changed.dir, changed.mean]).all()
    directed = point_score(
        ["up", "down", "up"], scores_from_probabilities([3, 2, 1], [0.9, 0.5, 0.1])
    )
    assert directed.dir == 0.5
    assert np.isnan([directed.de, directed.mean]).all()


@pytest.mark.parametrize(
    ("up", "down", "message"),
    [
        ([0.1, np.nan], [0.1, 0.1], "prediction_up: row Myc_Cd9: got nan"),
        ([0.1, 0.1], [np.inf, 0.1], "prediction_down: row Atg7_Cd9: got inf"),
        ([0.1, -0.1], [0.1, 0.1], "prediction_up: row Myc_Cd9: got -0.1"),
        ([0.9, 0.1], [0.9, 0.1], "row Atg7_Cd9: got 1.8; expected at most 1"),
        ([0.1], [0.1, 0.1], "prediction_up has 1, prediction_down has 2"),
    ],
)
def test_broken_rows_are_errors_that_name_them(
    up: list[float], down: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        official_score(["up", "none"], up, down, ids=["Atg7_Cd9", "Myc_Cd9"])


def test_intervals_of_each_metric_are_those_of_its_rows() -> None:
    rng = np.random.default_rng(3)
    labels, de, up = some_rows(rng)
    pert, gene = rng.integers(0, 20, 200), rng.integers(0, 30, 200)
    found = score_with_intervals(labels, scores_from_probabilities(de, up), pert, gene)
    effect = labels != "none"
    assert found.de == two_way_delong(effect, np.round(de, 9), pert, gene)
    directed = two_way_delong(
        labels[effect] == "up", np.round(up[effect], 9), pert[effect], gene[effect]
    )
    for unit in ("row", "pert", "gene", "two_way"):
        ours, alone = getattr(found.dir, unit), getattr(directed, unit)
        assert (ours.estimate, ours.n, ours.unit) == (alone.estimate, alone.n, alone.unit)
        assert ours.se == pytest.approx(alone.se, abs=1e-12)


def test_the_mean_adds_the_variances_and_the_covariance() -> None:
    rng = np.random.default_rng(4)
    labels, de, up = some_rows(rng)
    found = score_with_intervals(
        labels, scores_from_probabilities(de, up), np.arange(200), np.arange(200)
    )
    effect = labels != "none"
    variances = (
        delong_covariance(effect, [de])[0, 0],
        delong_covariance(labels[effect] == "up", [up[effect]])[0, 0],
    )
    doubled = 4 * found.mean.row.se**2 - sum(variances)  # twice the covariance of DE and DIR
    assert abs(doubled) < 2 * np.sqrt(variances[0] * variances[1])
    assert found.mean.value == (found.de.value + found.dir.value) / 2
    assert found.mean.n == 200
    # each row its own cluster on both axes: all four intervals are DeLong's
    assert found.mean.two_way.se == pytest.approx(found.mean.row.se, abs=1e-12)


def test_no_labels_have_no_intervals_either() -> None:
    found = score_with_intervals(
        [None] * 3, scores_from_probabilities([0.1] * 3, [0.1] * 3), list("abc"), list("def")
    )
    assert (found.n, found.n_labelled) == (3, 0)
    assert np.isnan([found.mean.value, found.mean.row.low, found.mean.two_way.high]).all()
