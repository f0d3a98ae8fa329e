from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.scoring import json_shapes
from core.scoring.sentences import knn_sentence, knn_sentences
from core.transfer.cuts import predict_cuts, score_cuts
from core.transfer.evaluation import evaluate
from core.transfer.labelled_rows import knowledge_of, rows_of
from core.transfer.permutation_null import KnnNumbers, PermutationNull
from core.transfer.protocols import EvaluationProtocol, KnnInputs, SimilaritySettings, predict_knn
from core.transfer.similarity import Space

RNG = np.random.default_rng(0)
ROWS = rows_of(RNG.integers(0, 20, 300), RNG.integers(0, 40, 300))
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), 300)
KNN = KnnInputs(ROWS, knowledge_of(LABELS, ROWS), (Space("a", RNG.normal(size=(40, 3))),), SimilaritySettings())
NULL = PermutationNull(np.array([[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]), 0)


def numbers(protocol: EvaluationProtocol, null: PermutationNull | None = None, *, with_cuts: bool = True) -> KnnNumbers:
    evaluation = evaluate(LABELS, ROWS, predict_knn(protocol, KNN))
    cuts = score_cuts(LABELS, ROWS, predict_cuts(KNN, 2), 2) if protocol.kind == "folds" and with_cuts else None
    return KnnNumbers(protocol, evaluation, cuts, null)


FOLDS, LOO = EvaluationProtocol("folds", 2, 7), EvaluationProtocol("loo")


def test_a_space_under_folds_is_told_beside_its_null() -> None:
    found = numbers(FOLDS, NULL)
    de, direction = found.score.de.value, found.score.dir.value
    assert knn_sentence(found) == (
        f"neighbours alone: DE {de:.3f} (permuted vectors 0.500 ± 0.250, one-sided p = 0.75), "
        f"DIR {direction:.3f} (permuted vectors 0.500 ± 0.250, one-sided p = 0.5) over 300 labelled rows, scored "
        "only on genes and perturbations whose labels the neighbours never saw: mean of ten cuts (seeds 0–9), inside 2×2 cells"
    )
    told = knn_sentences(found)
    assert told[0] == "300 of 300 rows covered (100.0%)"
    assert told[1].startswith("mean of ten cuts (seeds 0–9), inside 2×2 cells, over all rows")
    assert [line.split()[0] for line in told[2:5]] == ["DE", "DIR", "mean"]
    assert all("permuted vectors 0.500" in line for line in told[2:5])
    own = found.evaluation.score
    assert f"cut 7, which a saved run has: DE {own.de.value:.3f}, DIR {own.dir.value:.3f}" in told
    assert not any("empty space" in line for line in told)


def test_without_its_null_nothing_is_said_of_it() -> None:
    assert not any("permuted" in line for line in [*knn_sentences(numbers(FOLDS)), knn_sentence(numbers(FOLDS))])


def test_labels_without_a_direction_have_a_dash() -> None:
    labels = np.where(LABELS == "none", "none", "de").astype(object)
    knn = replace(KNN, known=knowledge_of(labels, ROWS))
    evaluation = evaluate(labels, ROWS, predict_knn(FOLDS, knn))
    null = PermutationNull(np.array([[0.25, np.nan], [0.5, np.nan]]), 0)
    found = KnnNumbers(FOLDS, evaluation, score_cuts(labels, ROWS, predict_cuts(knn, 2), 2), null)
    assert "DIR – (permuted vectors – ± –, one-sided p = –)" in knn_sentence(found)
    assert "DIR of the single cuts: – to –, SD –" in knn_sentences(found)
    shape = json_shapes.knn(found, 0.0)
    assert shape["intervals"]["dir"] is None
    assert np.isnan([shape["dir"], shape["permuted"]["dir_p"], shape["permuted"]["mean_p"], shape["cuts"]["dir_sd"]]).all()
    assert shape["permuted"]["de_p"] in (1 / 3, 2 / 3)


def test_one_cut_is_named() -> None:
    found = numbers(FOLDS, with_cuts=False)
    told = knn_sentence(found)
    assert told.startswith("neighbours alone: DE 0.")
    assert told.endswith(
        " over 300 labelled rows, scored only on genes and perturbations whose labels the neighbours never saw (2×2 cells, cut 7)"
    )


@pytest.mark.parametrize("told", [lambda found: knn_sentence(found), lambda found: " ".join(knn_sentences(found))])
def test_leave_one_out_stands_beside_no_gene_information(told: object) -> None:
    found = numbers(LOO)
    text = told(found)  # type: ignore[operator]
    for score, null in ((found.score.de, found.evaluation.null.de), (found.score.dir, found.evaluation.null.dir)):
        assert f"{score.value:.3f}" in text
        assert f"{null.value:.3f}" in text
    assert text.count("with no gene information") == 2
