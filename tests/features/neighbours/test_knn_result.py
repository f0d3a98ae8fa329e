from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.base.result import UNMARKED, to_json
from core.cli.base import result_lines
from core.features.neighbours.result import KnnResult, knn_sentence
from core.transfer.permutation_null import KnnNumbers, PermutationNull
from core.transfer.protocols import EvaluationProtocol, KnnInputs, SimilaritySettings, predict_knn
from core.transfer.row_index import knowledge_of, rows_of
from core.transfer.run_cells import evaluate, predict_cuts, score_cuts
from core.transfer.similarity import Space

RNG = np.random.default_rng(0)
ROWS = rows_of(RNG.integers(0, 20, 300), RNG.integers(0, 40, 300))
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), 300)
KNN = KnnInputs(
    ROWS, knowledge_of(LABELS, ROWS), (Space("a", RNG.normal(size=(40, 3))),), SimilaritySettings()
)
NULL = PermutationNull(np.array([[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]), 0)


def numbers(
    protocol: EvaluationProtocol, null: PermutationNull | None = None, *, with_cuts: bool = True
) -> KnnNumbers:
    evaluation = evaluate(LABELS, ROWS, predict_knn(protocol, KNN))
    cuts = (
        score_cuts(LABELS, ROWS, predict_cuts(KNN, 2), 2)
        if protocol.kind == "folds" and with_cuts
        else None
    )
    return KnnNumbers(protocol, evaluation, cuts, null)


FOLDS, LOO = EvaluationProtocol("folds", 2, 7), EvaluationProtocol("loo")


def result_of(numbers: KnnNumbers) -> KnnResult:
    return KnnResult.of(numbers, "a kNN", 0.5, UNMARKED)


def test_a_space_under_folds_stands_beside_its_null() -> None:
    found = numbers(FOLDS, NULL)
    result = result_of(found)
    for part in (found.score.de, found.score.dir):
        assert (
            f"{part.value:.3f} (permuted vectors 0.500 ± 0.250, one-sided p = " in result.sentence
        )
    assert "inside 2×2 cells" in result.sentence
    assert "300 of 300 rows covered (100.0%)" in result.scope
    [scores] = result.tables()
    assert [row["score"] for row in scores.rows][:3] == ["de", "dir", "mean"]
    assert result.permuted["de_mean"] == result.permuted["dir_mean"] == 0.5
    own = found.evaluation.score
    assert (
        f"Cut 7, which a saved run has: DE {own.de.value:.3f}, DIR {own.dir.value:.3f}."
        in result.caveats[0]
    )


def test_without_its_null_nothing_is_said_of_it() -> None:
    assert not any("permuted vectors" in line for line in result_lines(result_of(numbers(FOLDS))))


def test_labels_without_a_direction_have_a_dash() -> None:
    labels = np.where(LABELS == "none", "none", "de").astype(object)
    knn = replace(KNN, known=knowledge_of(labels, ROWS))
    evaluation = evaluate(labels, ROWS, predict_knn(FOLDS, knn))
    null = PermutationNull(np.array([[0.25, np.nan], [0.5, np.nan]]), 0)
    found = KnnNumbers(FOLDS, evaluation, score_cuts(labels, ROWS, predict_cuts(knn, 2), 2), null)
    result = result_of(found)
    assert "DIR – (permuted vectors – ± –, one-sided p = –)" in result.sentence
    shape = to_json(result)
    assert shape["intervals"]["dir"] is None
    assert [
        shape["dir"],
        shape["permuted"]["dir_p"],
        shape["permuted"]["mean_p"],
        shape["cuts"]["dir_sd"],
    ] == [None] * 4
    assert shape["permuted"]["de_p"] in (1 / 3, 2 / 3)


def test_one_cut_is_named() -> None:
    sentence = knn_sentence(numbers(FOLDS, with_cuts=False))
    assert "(2×2 cells, cut 7)" in sentence
    assert "over 300 labelled rows" in sentence


def test_leave_one_out_stands_beside_no_gene_information() -> None:
    found = numbers(LOO)
    result = result_of(found)
    for score, null in (
        (found.score.de, found.evaluation.null.de),
        (found.score.dir, found.evaluation.null.dir),
    ):
        assert f"{score.value:.3f} (with no gene information: {null.value:.3f})" in result.sentence
    assert any("biased" in caveat for caveat in result.caveats)
