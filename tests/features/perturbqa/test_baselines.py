"""Each baseline's prediction against a loop over rows, and the table of their scores against scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.base.errors import InputError
from core.evidence.packs import Packs
from core.features.perturbqa.baselines.material import (
    Material,
    Prediction,
    make_gene_graph,
    make_material,
)
from core.features.perturbqa.baselines.split import load_published_scores
from core.features.perturbqa.baselines.table import (
    BASELINES,
    Share,
    measure_coverage,
    score_baselines,
)
from core.features.perturbqa.retrieval import graph_of_packs
from core.scoring.baselines import BaselineScore
from core.transfer.row_index import RowIndex, rows_of
from tests.features.perturbqa import cases

FRAME, PACKS = cases.screen(), cases.packs()
MATERIAL = cases.material(FRAME, PACKS)
TRAIN, TEST = (FRAME[FRAME["split"] == split].reset_index(drop=True) for split in ("train", "test"))
FREE = ("retrieval vote", "retrieval vote, own gene", "physical edge", "text kNN", "network kNN")


def predict(name: str, material: Material = MATERIAL) -> Prediction:
    return BASELINES[name].make(material)


def macro(
    frame: pd.DataFrame, score: np.ndarray, is_positive: Callable[[pd.Series], pd.Series]
) -> tuple[float, int]:
    """The mean over genes with both classes of each gene's AUROC by scikit-learn, and their number."""
    values = []
    for _, part in frame.assign(score=score, positive=is_positive(frame["label"])).groupby("gene"):
        if part["positive"].nunique() == 2:
            values.append(roc_auc_score(part["positive"], part["score"]))
    return float(np.mean(values)) if values else math.nan, len(values)


@pytest.mark.soak
def test_a_knn_weighs_training_rows_by_both_symbols() -> None:
    space = MATERIAL.genes.text
    assert space is not None
    vectors = {symbol: space.columns[i] for i, symbol in enumerate(MATERIAL.symbols)}

    def alike(a, b):
        if a == b:
            return 1.0
        cosine = vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b])
        return max(float(cosine), 0.0) if np.isfinite(cosine) else 0.0

    found = predict("text kNN")
    for i, row in TEST.iterrows():
        weights = np.array(
            [
                (alike(row["pert"], p) * alike(row["gene"], g)) ** 2
                for p, g in zip(TRAIN["pert"], TRAIN["gene"], strict=True)
            ]
        )
        changed, up = (TRAIN["label"] != "none").to_numpy(), (TRAIN["label"] == "up").to_numpy()
        assert found.de[i] == pytest.approx(
            weights @ changed / weights.sum() if weights.sum() else np.nan, nan_ok=True
        )
        directed = weights @ changed
        assert found.up[i] == pytest.approx(
            weights @ up / directed if directed else np.nan, nan_ok=True
        )
    # PERT22 has no description, and PERT23 is described under the name of its ortholog
    assert (TEST["pert"][~found.covered] == "PERT22").all()
    assert (~found.covered).sum() == cases.N_GENES


def test_an_edge_says_effect_and_nothing_of_a_direction() -> None:
    found = predict("physical edge")
    assert found.up is None
    known = TEST["gene"].isin(["GENE0", "GENE1"]) & (
        TEST["pert"] != "PERT22"
    )  # other genes are in no edge
    np.testing.assert_array_equal(found.covered, known)
    joined = ((TEST["pert"] == "PERT20") & (TEST["gene"] == "GENE0")) | (
        (TEST["pert"] == "PERT21") & (TEST["gene"] == "GENE1")
    )
    np.testing.assert_array_equal(found.de[known], joined[known].astype(float))


def test_a_vote_of_the_genes_own_rows_prefers_close_perturbations() -> None:
    graph, found = graph_of_packs(PACKS, 900), predict("retrieval vote, own gene")
    for i, row in TEST.iterrows():
        close = graph.close_to(graph.node(row["pert"]))
        own = TRAIN[TRAIN["gene"] == row["gene"]]
        near = own[[graph.node(pert) in close for pert in own["pert"]]]
        changed = (near if len(near) >= 5 else own)["label"] != "none"
        assert found.de[i] == pytest.approx(changed.mean())


@pytest.mark.soak
def test_scores_are_those_of_a_loop_with_scikit_learn() -> None:
    by_name = {each.name: each for each in score_baselines(MATERIAL)}
    base_de, base_up = (
        (TRAIN["label"] != "none").mean(),
        (TRAIN["label"] == "up").sum() / (TRAIN["label"] != "none").sum(),
    )
    for name in FREE:
        predicted, scored = predict(name), by_name[name]
        de = np.where(predicted.covered, predicted.de, base_de).round(
            14
        )  # so that rounding errors of sums break no tie
        check(scored.de, TEST, de, lambda label: label != "none")
        if predicted.up is None:
            assert scored.dir is None
        else:
            directed = (TEST["label"] != "none").to_numpy()
            up = np.where(np.isnan(predicted.up), base_up, predicted.up).round(14)
            check(scored.dir, TEST[directed], up[directed], lambda label: label == "up")
        if scored.on_covered is not None:
            rows = predicted.covered
            assert (scored.on_covered.rows, scored.on_covered.of) == (rows.sum(), len(rows))
            if scored.on_covered.de is not None:
                check(scored.on_covered.de, TEST[rows], de[rows], lambda label: label != "none")
        else:
            assert predicted.covered.all()


def check(
    found: BaselineScore | None,
    frame: pd.DataFrame,
    score: np.ndarray,
    is_positive: Callable[[pd.Series], pd.Series],
) -> None:
    value, genes = macro(frame, score, is_positive)
    assert found.genes == genes
    assert found.macro.value == pytest.approx(value, abs=1e-12, nan_ok=True)
    assert found.micro.value == pytest.approx(
        roc_auc_score(is_positive(frame["label"]), score), abs=1e-12
    )


@pytest.mark.soak
def test_coverage_counts_perturbations_genes_and_rows() -> None:
    [network, descriptions] = measure_coverage(MATERIAL)
    assert (network.perts, descriptions.perts) == (Share(5, 6), Share(5, 6))
    assert (network.genes, descriptions.genes) == (Share(2, 10), Share(0, 10))
    assert (network.rows, descriptions.rows) == (Share(10, 60), Share(0, 60))


def test_what_is_lacking_is_said_and_the_others_are_computed() -> None:
    only_text = Packs(
        descriptions=PACKS.descriptions, sources={"descriptions": PACKS.sources["descriptions"]}
    )
    found = {each.name: each for each in score_baselines(cases.material(FRAME, only_text))}
    assert "string_edges.json" in found["network kNN"].lacks
    assert "string_edges.json" in found["retrieval vote"].lacks
    assert found["text kNN"].lacks is None
    assert found["text kNN"].de is not None
    assert "--attention" in found["graph attention network"].lacks


@pytest.mark.parametrize(
    ("split", "message"),
    [("train", "from their own labels"), ("final", "got no labelled row in it")],
)
def test_a_split_that_cannot_be_predicted_is_refused(split: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_material(
            RowIndex.of_frame(FRAME), FRAME["split"].to_numpy(dtype=object), split, MATERIAL.genes
        )


def test_published_scores_name_baselines_that_exist() -> None:
    published = load_published_scores()
    assert list(published.lines) == ["k562", "rpe1", "hepg2", "jurkat", "k562_set"]
    of_k562 = {each.method: each for each in published.of("K562")}
    assert (of_k562["SUMMER"].de, of_k562["retrieval without LLM"].dir, of_k562["GAT"].dir) == (
        0.62,
        0.69,
        None,
    )
    assert {each.beside for each in of_k562.values()} - {None} <= set(BASELINES)
    assert published.of("bmdm") == ()


# a – b – c – d – e in a row, f – g apart. The symbols are a, c, e, f, one whose node is b, and one that the network lacks.
NEIGHBOURS = {"a": "b", "b": "ac", "c": "bd", "d": "ce", "e": "d", "f": "g", "g": "f"}
A, C, E, F, X, Z = range(6)
GRAPH = make_gene_graph(NEIGHBOURS, ["a", "c", "e", "f", "b", "z"])


def test_edges_of_rows_and_symbols_that_the_network_covers() -> None:
    rows = rows_of([A, A, A, A, A, Z, A, Z], [X, C, E, F, Z, Z, A, A])
    assert GRAPH.are_joined(rows).tolist() == [True, *[False] * 7]
    assert GRAPH.covered.tolist() == [True, True, True, True, True, False]


def test_edges_between_symbols_of_the_dataset() -> None:
    expected = np.zeros((6, 6))
    for i, j in ((A, X), (X, C)):  # the others have an end outside
        expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(GRAPH.between_symbols().toarray(), expected)
