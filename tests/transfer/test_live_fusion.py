from __future__ import annotations

import numpy as np

from core.stats.comparison import compare
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.fusion import Component, fuse, live_fusion, percentiles_of, weights_of
from core.transfer.row_index import rows_of

N = 500
RNG = np.random.default_rng(11)
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), N)
ROWS = rows_of(RNG.integers(0, 25, N), RNG.integers(0, 70, N))
BASE = Component("base", RNG.random(N), np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N)))
OTHER = Component(
    "other", *(RNG.random((2, N)) + 0.4 * np.stack((LABELS != "none", LABELS == "up")))
)
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
        assert ours == theirs
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
