"""Baselines of the published cell lines: nulls, and scores that a loop over genes with scikit-learn gives too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.evidence.packs import Packs, Source
from core.features.perturbqa.baselines.material import (
    GeneKnowledge,
    Material,
    make_graphs,
    make_material,
)
from core.features.perturbqa.baselines.table import BASELINES, score_baselines
from core.scoring.baselines import Baseline, BaselineScore, dataset_baselines
from core.transfer.row_index import RowIndex

pytestmark = pytest.mark.real

VOTE = "retrieval vote, own gene"
FILES = ("string_edges", "mouse_to_human_ortholog")


@pytest.fixture(scope="module", params=["k562", pytest.param("hepg2", marks=pytest.mark.soak)])
def frame(shared_data: Path, request: pytest.FixtureRequest) -> pd.DataFrame:
    """A cell line as pair_id, pert, gene, label, split, put together from its two files without the reader of this project."""
    de, direction = (
        pd.read_csv(shared_data / f"perturbqa/{request.param}-{task}.csv", na_filter=False)
        for task in ("de", "dir")
    )
    both = de.merge(
        direction[["pert", "gene", "label"]], on=["pert", "gene"], how="left", suffixes=("", "_up")
    )
    known = np.where(both["label_up"] == 1, "up", np.where(both["label_up"] == 0, "down", "de"))
    both["label"] = np.where(both["label"] == 0, "none", known)
    both["pair_id"] = both["pert"] + "_" + both["gene"]
    return both[["pair_id", "pert", "gene", "label", "split"]]


@pytest.fixture(scope="module")
def material(frame: pd.DataFrame, shared_data: Path) -> Material:
    """Its test split with the network and no gene space, whose making takes long."""
    contents = {
        name: json.loads((shared_data / f"knowledge/{name}.json").read_text()) for name in FILES
    }
    packs = Packs(
        edges=[tuple(edge) for edge in contents["string_edges"]],
        orthologs=contents["mouse_to_human_ortholog"],
        sources={
            "edges": Source("string_edges", "0" * 64),
            "orthologs": Source("orthologs", "0" * 64),
        },
    )
    index = RowIndex.of_frame(frame)
    genes = GeneKnowledge(*make_graphs(packs, index.symbols))
    return make_material(index, frame["split"].to_numpy(dtype=object), "test", genes)


@pytest.fixture(scope="module")
def table(material: Material) -> tuple[Baseline, ...]:
    return score_baselines(material)


@pytest.mark.soak
def test_nulls_are_a_half_in_every_gene(frame: pd.DataFrame) -> None:
    found = {each.name: each for each in dataset_baselines(frame, "test")}
    for name in ("constant", "gene's training mean"):
        for score in (found[name].de, found[name].dir):
            assert score is not None
            assert score.macro.value == 0.5
            assert score.genes > 100


@pytest.mark.soak
def test_scores_are_those_of_a_loop_with_scikit_learn(
    frame: pd.DataFrame, material: Material, table: tuple[Baseline, ...]
) -> None:
    test, train = (frame[frame["split"] == split] for split in ("test", "train"))
    directed = test["label"].isin(["up", "down"]).to_numpy()
    rate_de = (train["label"] != "none").mean()
    rate_up = (train["label"] == "up").sum() / train["label"].isin(["up", "down"]).sum()
    predicted = BASELINES[VOTE].make(material)
    [scored] = [each for each in table if each.name == VOTE]
    de = np.where(np.isnan(predicted.de), rate_de, predicted.de).round(14)
    assert_same(scored.de, test, de, (test["label"] != "none").to_numpy())
    assert predicted.up is not None
    up = np.where(np.isnan(predicted.up), rate_up, predicted.up).round(14)[directed]
    assert_same(scored.dir, test[directed], up, (test["label"] == "up").to_numpy()[directed])


def assert_same(
    found: BaselineScore | None, rows: pd.DataFrame, score: np.ndarray, positive: np.ndarray
) -> None:
    scored = rows.assign(score=score, positive=positive)
    share = scored.groupby("gene")["positive"].transform("mean")
    by_gene = scored[(share > 0) & (share < 1)].groupby("gene")
    values = [
        roc_auc_score(part["positive"].to_numpy(), part["score"].to_numpy()) for _, part in by_gene
    ]
    assert found is not None
    assert found.genes == len(values)
    assert found.macro.value == pytest.approx(np.mean(values), abs=1e-12)
    assert found.micro.value == pytest.approx(roc_auc_score(positive, score), abs=1e-12)


@pytest.mark.soak
def test_lines_without_a_language_model_know_something(table: tuple[Baseline, ...]) -> None:
    """The vote of a gene's own rows is above chance on both questions, as the published retrieval is."""
    [vote] = [each for each in table if each.name == VOTE]
    assert vote.de is not None
    assert vote.dir is not None
    assert vote.de.macro.shown.low > 0.5
    assert vote.dir.macro.shown.low > 0.5
