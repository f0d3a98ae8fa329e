"""Labels permuted inside groups."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.stats.official_score import point_score
from core.stats.permutations import scores_of_permuted_labels
from core.stats.scores_and_labels import ScoredRows, Scores, scored_rows, scores_from_probabilities
from core.stats.within_axis import score_within
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(11)
N = 400
LABELS, DE, UP = some_rows(RNG, N)
PERT, GENE, CELLS = RNG.integers(0, 20, N), RNG.integers(0, 30, N), RNG.integers(0, 3, N)
ALONE = np.arange(N)


def rows_of(scores: Scores | None = None, cells: np.ndarray | None = None) -> ScoredRows:
    return scored_rows(LABELS, scores or scores_from_probabilities(DE, UP), PERT, GENE, cells)


def permuted(
    rows: ScoredRows, group: np.ndarray, n: int = 3, seed: int = 0, macro: np.ndarray | None = None
) -> np.ndarray:
    return scores_of_permuted_labels(rows, group, n, np.random.default_rng(seed), macro)


@pytest.mark.parametrize("cells", [None, CELLS], ids=["all rows", "cells"])
def test_labels_that_cannot_move_give_the_score_itself(cells: np.ndarray | None) -> None:
    rows = rows_of(cells=cells)
    own = point_score(LABELS, rows.scores, rows.cells)
    np.testing.assert_allclose(permuted(rows, ALONE), [[own.de, own.dir]] * 3, atol=1e-12)


@pytest.mark.parametrize("cells", [None, CELLS], ids=["all rows", "cells"])
def test_macro_averages_are_those_of_the_genes(cells: np.ndarray | None) -> None:
    rows = rows_of(cells=cells)
    own = score_within(rows, "gene")
    found = permuted(rows, ALONE, n=1, macro=rows.gene)
    np.testing.assert_allclose(found, [[own.de.macro.value, own.dir.macro.value]], atol=1e-12)


def test_a_score_of_genes_alone_keeps_all_of_itself_within_genes_and_nothing_within_perturbations() -> (
    None
):
    share = np.array([np.mean(LABELS[gene == GENE] != "none") for gene in range(30)])[GENE]
    rows = rows_of(Scores(share, share))
    whole = roc_auc_score(LABELS != "none", share)
    within_genes = permuted(rows, GENE, n=20)
    np.testing.assert_allclose(
        within_genes[:, 0], whole, atol=1e-12
    )  # permuting a gene's labels leaves its share as it is
    assert abs(permuted(rows, np.zeros(N, dtype=int), n=99)[:, 0].mean() - 0.5) < 0.02


def test_a_seed_gives_the_same_permutations_and_unlabelled_rows_stay_so() -> None:
    rows = rows_of()
    np.testing.assert_array_equal(permuted(rows, GENE, seed=4), permuted(rows, GENE, seed=4))
    assert (permuted(rows, GENE, seed=4) != permuted(rows, GENE, seed=5)).any()
    labels = LABELS.astype(object)
    labels[::2] = None
    some = scored_rows(labels, rows.scores, PERT, GENE)
    own = point_score(labels, rows.scores)
    np.testing.assert_allclose(permuted(some, ALONE), [[own.de, own.dir]] * 3, atol=1e-12)
