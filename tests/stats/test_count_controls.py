from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.stats.count_controls import count_only, rarer_gene, score_count_controls

PERT = ["Myc", "Myc", "Myc", "Atg7", "Atg7", "Atg7"]
GENE = ["Cd9", "Il6", "Tnf", "Cd9", "Il6", "Cd9"]


def test_count_only_by_hand() -> None:
    # Cd9 has 3 rows (2·1/3), Il6 2 (2·1/2), Tnf 1 (score 0). Myc has 3 rows, one of a gene that occurs once: 9/2;
    # Atg7 has 3 of others: 9/3
    expected = [4.5 * 2 / 3, 4.5, 0.0, 3 * 2 / 3, 3.0, 3 * 2 / 3]
    assert count_only(PERT, GENE).tolist() == pytest.approx(expected)


def test_a_perturbation_of_single_genes_alone_divides_by_one() -> None:
    assert count_only(["Myc", "Atg7", "Atg7"], ["Tnf", "Cd9", "Cd9"]).tolist() == [0.0, 4.5, 4.5]


def test_rarer_genes_score_higher() -> None:
    assert rarer_gene(GENE).tolist() == [-3.0, -2.0, -1.0, -3.0, -2.0, -3.0]


def test_scores_equal_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    labels = rng.choice(["up", "down", "none"], 300)
    pert, gene = (
        rng.integers(0, 40, 300).astype(str),
        np.round(rng.exponential(60, 300)).astype(int).astype(str),
    )
    found = score_count_controls(labels, pert, gene)
    effect, single = labels != "none", rarer_gene(gene) == -1
    score = np.round(count_only(pert, gene), 9)
    assert found.count_only_de.value == pytest.approx(roc_auc_score(effect, score))
    assert found.count_only_de_without_singletons.value == pytest.approx(
        roc_auc_score(effect[~single], score[~single])
    )
    assert found.rarer_up_dir.value == pytest.approx(
        roc_auc_score(labels[effect] == "up", rarer_gene(gene)[effect])
    )
    assert (found.singletons, found.singletons_none) == (single.sum(), (single & ~effect).sum())
    assert (
        found.count_only_de.two_way.low
        < found.count_only_de.value
        < found.count_only_de.two_way.high
    )


def test_without_labels_there_are_counts_and_no_scores() -> None:
    found = score_count_controls([None] * 6, PERT, GENE)
    assert np.isnan([found.count_only_de.value, found.rarer_up_dir.value]).all()
    assert (found.singletons, found.singletons_none) == (1, 0)
