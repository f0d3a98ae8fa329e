from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.errors import InputError
from core.stats.count_controls import count_matched_scores, count_only, rarer_gene
from core.stats.scored_rows import scored_rows
from core.stats.scores_and_labels import scores_from_probabilities
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(101)
N = 500
LABELS, DE, UP = some_rows(RNG, N)
PERT = RNG.integers(0, 40, N)
GENE = np.where(np.arange(N) < 60, 1000 + np.arange(N), RNG.integers(0, 110, N))  # the first sixty are alone
GENE_ROWS = np.bincount(GENE)[GENE]
EFFECT = LABELS != "none"
ROWS = scored_rows(LABELS, scores_from_probabilities(DE, UP), PERT, GENE)


def test_without_genes_of_a_single_row() -> None:
    found = count_matched_scores(ROWS, GENE_ROWS)
    several = GENE_ROWS > 1
    assert found.without_single.n == several.sum()
    assert found.without_single.de.value == pytest.approx(roc_auc_score(EFFECT[several], DE[several]), abs=1e-12)
    assert found.single == (~several).sum() >= 60


def test_matched_rows_have_genes_with_as_many_rows() -> None:
    won = pairs = 0.0
    for count in np.unique(GENE_ROWS):
        inside = count == GENE_ROWS
        n = EFFECT[inside].sum() * (~EFFECT[inside]).sum()
        if n:
            won, pairs = won + n * roc_auc_score(EFFECT[inside], DE[inside]), pairs + n
    assert count_matched_scores(ROWS, GENE_ROWS).matched.de.value == pytest.approx(won / pairs, abs=1e-12)


def test_what_depends_on_the_gene_s_count_alone_has_a_half() -> None:
    by_count = scored_rows(LABELS, scores_from_probabilities(-rarer_gene(GENE), rarer_gene(GENE)), PERT, GENE)
    found = count_matched_scores(by_count, GENE_ROWS).matched
    assert (found.de.value, found.dir.value) == pytest.approx((0.5, 0.5), abs=1e-12)


def test_the_count_control_of_a_sampling_that_leaks_falls() -> None:
    labels = np.where(GENE_ROWS == 1, "none", LABELS)  # as in the challenge
    leaking = scored_rows(labels, scores_from_probabilities(count_only(PERT, GENE), rarer_gene(GENE)), PERT, GENE)
    found = count_matched_scores(leaking, GENE_ROWS)
    plain = roc_auc_score(labels != "none", count_only(PERT, GENE))
    assert plain - found.without_single.de.value > 0.05
    assert plain - found.matched.de.value > 0.05


def test_cells_are_kept_and_lengths_checked() -> None:
    cells = RNG.integers(0, 3, N)
    found = count_matched_scores(scored_rows(LABELS, ROWS.scores, PERT, GENE, cells), GENE_ROWS).matched
    again = count_matched_scores(ROWS, GENE_ROWS * 10 + cells).matched
    assert found.de.value == pytest.approx(again.de.value, abs=1e-12)
    with pytest.raises(InputError, match="gene_rows has 3"):
        count_matched_scores(ROWS, [1, 2, 3])
