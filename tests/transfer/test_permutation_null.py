from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.transfer.knn import Weighting
from core.transfer.permutation_null import PermutationNull, content_key, permutation_null
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    SimilaritySettings,
    predict_priors,
)
from core.transfer.row_index import knowledge_of, rows_of
from core.transfer.run_cells import cut_values, evaluate
from core.transfer.similarity import Space

RNG = np.random.default_rng(8)
N, PERTS, GENES, K = 1200, 40, 60, 3
ROWS = rows_of(RNG.integers(0, PERTS, N), RNG.integers(0, GENES, N))
KIND = RNG.integers(0, 2, GENES)  # genes of one kind respond more often, and upwards
LABELS = np.where(
    RNG.random(N) < np.where(KIND[ROWS.gene], 0.3, 0.6),
    "none",
    np.where(RNG.random(N) < 0.3 + 0.4 * KIND[ROWS.gene], "up", "down"),
).astype(object)
COVERED = RNG.random((GENES, 1)) < 0.9
NEAR = Space(
    "near",
    np.where(
        COVERED, np.stack((KIND, 1 - KIND), axis=1) + RNG.normal(scale=0.3, size=(GENES, 2)), np.nan
    ),
)
FAR = Space("far", np.where(COVERED, RNG.normal(size=(GENES, 4)), np.nan))
KNN = KnnInputs(ROWS, knowledge_of(LABELS, ROWS), (NEAR,), SimilaritySettings())


def test_each_value_is_the_mean_of_ten_cuts_of_the_space_with_its_vectors_exchanged() -> None:
    """The random numbers of a permutation rank the covered symbols, which get each other's vectors in that order."""
    found = permutation_null(KNN, LABELS, K, n=3, seed=5)
    keys = np.random.default_rng(5).random((3, GENES))
    covered = np.flatnonzero(COVERED)
    for value, key in zip(found.values, keys, strict=True):
        exchanged = NEAR.columns.copy()
        exchanged[covered] = NEAR.columns[covered[np.argsort(key[covered])]]
        scores = [
            evaluate(
                LABELS,
                ROWS,
                predict_priors(
                    EvaluationProtocol("folds", K, seed), ROWS, KNN.known, [Space("x", exchanged)]
                ),
            )
            for seed in range(10)
        ]
        expected = np.mean([[each.score.de.value, each.score.dir.value] for each in scores], axis=0)
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_space_that_knows_something_is_above_its_null_and_a_random_one_is_not() -> None:
    for space, expected in ((NEAR, True), (FAR, False)):
        knn = replace(KNN, spaces=(space,))
        tests = permutation_null(knn, LABELS, K, n=39).test(cut_values(knn, LABELS, K).mean(axis=0))
        assert [test.p == 1 / 40 for test in tests] == [expected] * 3
        assert all(abs(test.mean - 0.5) < 0.05 for test in tests)


def test_p_by_hand() -> None:
    null = PermutationNull(np.array([[0.5, 0.4], [0.6, 0.5], [0.55, 0.7]]), 0)
    de, direction, mean = null.test((0.55, 0.71))
    assert (de.p, direction.p, mean.p) == (
        3 / 4,
        1 / 4,
        1 / 4,
    )  # equal counts; 0.63 is above 0.45, 0.55 and 0.625
    assert null.test((0.55 + 1e-15, 0.71))[0].p == 3 / 4  # a rounding error is no difference
    assert (de.mean, de.sd) == pytest.approx((0.55, 0.05))
    assert np.isnan(
        [null.test((float("nan"), 0.5))[0].p, null.test((float("nan"), 0.5))[2].p]
    ).all()


def test_the_same_seed_gives_the_same_null_and_progress_is_told() -> None:
    told = []
    first = permutation_null(KNN, LABELS, K, n=2, seed=1, progress=told.append)
    np.testing.assert_array_equal(
        first.values, permutation_null(KNN, LABELS, K, n=2, seed=1).values
    )
    assert (first.values != permutation_null(KNN, LABELS, K, n=2, seed=2).values).any()
    assert told == pytest.approx(np.arange(1, 21) / 20)


@pytest.mark.soak
def test_a_space_from_these_labels_is_rebuilt_for_each_cell() -> None:
    def rebuild(rows):
        return (
            NEAR.columns + 0.01 * np.bincount(KNN.known.rows.gene[rows], minlength=GENES)[:, None]
        )

    leaky = replace(
        KNN, spaces=(Space("leaky", rebuild(np.arange(N)), "labels", rebuild),), evaluated="labels"
    )
    found = permutation_null(leaky, LABELS, K, n=4)
    assert found.values.shape == (4, 2)
    assert np.isfinite(found.values).all()
    assert cut_values(leaky, LABELS, K).mean(axis=0)[0] > found.values[:, 0].max()


def test_the_key_names_all_that_the_null_depends_on() -> None:
    other_labels = LABELS.copy()
    other_labels[0] = "up" if LABELS[0] != "up" else "down"
    keys = [
        content_key(KNN, LABELS, K, 99, 0),
        content_key(KNN, LABELS, 5, 99, 0),
        content_key(KNN, LABELS, K, 98, 0),
        content_key(KNN, LABELS, K, 99, 1),
        content_key(KNN, other_labels, K, 99, 0),
        content_key(replace(KNN, spaces=(FAR,)), LABELS, K, 99, 0),
        content_key(replace(KNN, spaces=(NEAR, FAR)), LABELS, K, 99, 0),
        content_key(
            replace(KNN, similarity=SimilaritySettings(Weighting(power=3.0))), LABELS, K, 99, 0
        ),
        content_key(replace(KNN, similarity=SimilaritySettings(centre=True)), LABELS, K, 99, 0),
        content_key(replace(KNN, queries=ROWS.take(np.arange(9))), LABELS[:9], K, 99, 0),
    ]
    assert len(set(keys)) == len(keys)
    renamed = replace(KNN, spaces=(Space("another name", NEAR.columns),))
    assert content_key(renamed, LABELS, K, 99, 0) == keys[0]


def test_no_permutations_are_refused() -> None:
    with pytest.raises(InputError, match="permutations: got 0"):
        permutation_null(KNN, LABELS, K, n=0)
