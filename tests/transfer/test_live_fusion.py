from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.stats.comparison import compare
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.fusion import Component, fuse, percentiles_of, weights_of
from core.transfer.knn import Weighting
from core.transfer.live_fusion import live_fusion
from core.transfer.live_knn import live_knn
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings, predict_priors
from core.transfer.row_index import knowledge_of, rows_of
from core.transfer.similarity import Space

N = 500
RNG = np.random.default_rng(11)
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), N)
ROWS = rows_of(RNG.integers(0, 25, N), RNG.integers(0, 70, N))
BASE = Component("base", RNG.random(N), np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N)))
OTHER = Component(
    "other", *(RNG.random((2, N)) + 0.4 * np.stack((LABELS != "none", LABELS == "up")))
)
SPACES = [
    Space(str(n), np.where(RNG.random((70, 1)) < 0.8, RNG.normal(size=(70, n)), np.nan))
    for n in (6, 3)
]
WEIGHTS = weights_of([0.3], [0.6])


def test_a_verdict_is_the_comparison_of_the_fusion_with_the_baseline() -> None:
    baseline = scores_from_probabilities(BASE.p_de, BASE.p_up)
    found = live_fusion(LABELS, ROWS, [BASE, OTHER], baseline=baseline).score_at(WEIGHTS)
    fused = fuse(percentiles_of([BASE, OTHER]), WEIGHTS)
    np.testing.assert_array_equal(found.fused.p_de, fused.p_de)
    expected = compare(
        LABELS, baseline, scores_from_probabilities(fused.p_de, fused.p_up), ROWS.pert, ROWS.gene
    )
    for ours, theirs in (
        (found.de, expected.de),
        (found.dir, expected.dir),
        (found.mean, expected.mean),
    ):
        assert (ours.before, ours.after, ours.change) == (theirs.a, theirs.b, theirs.change)
    assert (found.n, found.n_labelled, found.n_de) == (
        expected.n,
        expected.n_labelled,
        expected.n_de,
    )


def test_the_base_alone_against_itself_does_not_change() -> None:
    found = live_fusion(LABELS, ROWS, [BASE, OTHER]).score_at(weights_of([0.0], [0.0]))
    assert (found.mean.change.value, found.mean.change.two_way.se) == (0.0, 0.0)


def test_without_labels_there_is_no_score() -> None:
    found = live_fusion([None] * N, ROWS, [BASE, OTHER]).score_at(WEIGHTS)
    assert found.n_labelled == 0
    assert np.isnan(found.mean.after.value)


def test_priors_are_those_of_the_protocol_whatever_was_asked_before() -> None:
    known = knowledge_of(LABELS, ROWS)
    kept = live_knn(EvaluationProtocol(), ROWS, known, SPACES)
    for names, similarity in (
        (("6",), SimilaritySettings()),
        (("6", "3"), SimilaritySettings(Weighting(power=3.0, k=9), centre=True)),
        (("3", "6"), SimilaritySettings(Weighting(axis="both"))),
        (("6",), SimilaritySettings(centre=True)),
    ):
        expected = predict_priors(
            EvaluationProtocol(), ROWS, known, [s for s in SPACES if s.name in names], similarity
        ).priors
        found = kept.priors(names, similarity)
        np.testing.assert_allclose(found.de, expected.de, atol=1e-9)
        np.testing.assert_allclose(found.up, expected.up, atol=1e-9)


def test_a_space_from_the_same_labels_is_refused() -> None:
    space = Space(
        "leak", SPACES[0].columns, built_from="view", rebuild=lambda _rows: SPACES[0].columns
    )
    with pytest.raises(InputError, match="space leak: built from the labels of view"):
        live_knn(EvaluationProtocol(), ROWS, knowledge_of(LABELS, ROWS), [space], evaluated="view")
