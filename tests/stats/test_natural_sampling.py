"""Scores at the base rate of the whole screen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.stats.comparison import compare
from core.stats.natural_sampling import compare_weighted, natural_rate, natural_weights, weighted_influence
from core.stats.scored_rows import scored_rows
from core.stats.scores_and_labels import outcome_of, scores_from_probabilities
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(9)
N = 400
LABELS, DE, UP = some_rows(RNG, N)
PERT, GENE = RNG.integers(0, 30, N), RNG.integers(0, 40, N)
A, B = scores_from_probabilities(DE, UP), scores_from_probabilities(0.7 * DE + 0.3 * RNG.random(N), UP)
ROWS = scored_rows(LABELS, A, PERT, GENE)
EFFECT = LABELS != "none"


def test_each_negative_of_a_gene_stands_for_those_that_were_left_out() -> None:
    labels = np.array(["up", "none", "none", "down", "none", None], dtype=object)
    pert, gene = np.array([0, 1, 2, 3, 0, 9]), np.array([0, 0, 0, 1, 2, 2])
    weights = natural_weights(outcome_of(labels), pert, gene)
    # of 4 perturbations gene 0 has one effect and three pairs without, of which 2 rows are here; gene 2 none and 4 of 1 row
    np.testing.assert_allclose(weights, [1, 1.5, 1.5, 1, 4, 0])
    assert natural_rate(outcome_of(labels), weights) == pytest.approx((2 / 5, 2 / 9))


def test_weighted_aurocs_are_scikit_learns() -> None:
    weights = natural_weights(ROWS.outcome, ROWS.pert, ROWS.gene)
    found = compare_weighted(ROWS, B, weights)
    for scores, part in ((A, found.de.a), (B, found.de.b)):
        assert part.value == pytest.approx(roc_auc_score(EFFECT, scores.p_de, sample_weight=weights), abs=1e-12)
    assert found.de.change.value == pytest.approx(found.de.b.value - found.de.a.value)
    assert found.dir.a.value == pytest.approx(roc_auc_score(LABELS[EFFECT] == "up", A.p_up[EFFECT]), abs=1e-12)


@pytest.mark.parametrize("cells", [None, RNG.integers(0, 3, N)])
def test_equal_weights_give_the_plain_comparison_and_its_intervals(cells: np.ndarray | None) -> None:
    rows = scored_rows(LABELS, A, PERT, GENE, cells)
    plain = compare(LABELS, A, B, PERT, GENE, rows.cells)
    weighted = compare_weighted(rows, B, np.ones(N))
    for name in ("de", "dir", "mean"):
        ours, theirs = getattr(weighted, name).change, getattr(plain, name).change
        assert ours.value == pytest.approx(theirs.value, abs=1e-12)
        for unit in ("row", "pert", "gene", "two_way", "shown"):
            assert getattr(ours, unit).se == pytest.approx(getattr(theirs, unit).se, rel=1e-9)


def test_the_influence_is_the_derivative_by_a_rows_weight() -> None:
    weights = natural_weights(ROWS.outcome, ROWS.pert, ROWS.gene)
    task = ROWS.tasks()[0]
    found = weighted_influence([task], weights, None).parts.sum(axis=0)
    for row in (0, 17, 133):
        more = weights.copy()
        more[row] *= 1 + 1e-6
        moved = [roc_auc_score(EFFECT, A.p_de, sample_weight=each) for each in (weights, more)]
        assert found[row] == pytest.approx((moved[1] - moved[0]) / 1e-6, rel=1e-3, abs=1e-9)
