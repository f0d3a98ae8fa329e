from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score

from core.stats.auroc import auroc, running_sum, weighted_auroc
from core.stats.scores_and_labels import Task
from tests.stats.oracles import scored_rows


@given(scored_rows(least=1), st.integers(0, 2**32 - 1))
def test_equals_scikit_learn_with_sample_weights(
    rows: tuple[np.ndarray, list[np.ndarray]], seed: int
) -> None:
    positive, (values,) = rows
    weights = np.random.default_rng(seed).integers(0, 4, (len(values), 3)).astype(float)
    weights[:2] += 1  # both classes weigh something
    found = weighted_auroc(_task(positive, values), np.arange(len(values)), len(values))(weights)
    for k in range(3):
        expected = roc_auc_score(positive, values, sample_weight=weights[:, k])
        assert found[k] == pytest.approx(expected, abs=1e-12)


@given(scored_rows(least=1), st.integers(0, 2**32 - 1))
def test_a_cluster_lends_its_weight_to_its_rows(
    rows: tuple[np.ndarray, list[np.ndarray]], seed: int
) -> None:
    positive, (values,) = rows
    rng = np.random.default_rng(seed)
    cluster, weights = rng.integers(0, 5, len(values)), rng.integers(0, 3, (5, 4)).astype(float)
    task = _task(positive, values)
    by_cluster = weighted_auroc(task, cluster, 5)(weights)
    by_row = weighted_auroc(task, np.arange(len(values)), len(values))(weights[cluster])
    np.testing.assert_allclose(by_cluster, by_row, atol=1e-14)


@pytest.mark.parametrize("decimals", [1, 6])
def test_weights_of_one_give_the_auroc_of_many_rows(decimals: int) -> None:
    rng = np.random.default_rng(1)
    positive, values = rng.random(7705) < 0.4, np.round(rng.random(7705), decimals)
    found = weighted_auroc(_task(positive, values), np.arange(7705), 7705)(np.ones((7705, 1)))
    assert found[0] == pytest.approx(auroc(positive, values), abs=1e-12)


def test_a_class_without_weight_is_undefined() -> None:
    kernel = weighted_auroc(_task([1, 0], [2.0, 1.0]), np.arange(2), 2)
    np.testing.assert_equal(
        kernel(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])), [1.0, np.nan, np.nan]
    )


def test_rows_that_do_not_count_are_left_out() -> None:
    rows = np.array([True, True, False])
    kernel = weighted_auroc(
        Task(rows, np.array([True, False, False]), np.array([2.0, 1.0, 9.0])), np.arange(3), 3
    )
    assert kernel(np.ones((3, 1)))[0] == 1.0
    nothing = Task(np.zeros(3, dtype=bool), rows, np.arange(3.0))
    assert np.isnan(weighted_auroc(nothing, np.arange(3), 3)(np.ones((3, 1)))[0])


@pytest.mark.parametrize("side", [1, 2, 7])
def test_running_sum_equals_numpy(side: int) -> None:
    values = np.random.default_rng(side).integers(0, 9, (side**2, 5)).astype(float)
    assert running_sum(values.copy()).tolist() == np.cumsum(values, axis=0).tolist()


def _task(positive: ArrayLike, values: ArrayLike) -> Task:
    flags = np.asarray(positive, dtype=np.bool_)
    return Task(np.ones_like(flags), flags, np.asarray(values, dtype=np.float64))
