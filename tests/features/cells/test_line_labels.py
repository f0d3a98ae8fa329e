"""On a cell line the test rows have labels too: whatever is predicted must be the same, whichever labels those are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.neighbours import spaces
from core.methods.fusion_settings import FusionSettings
from core.runs import launch
from core.runs.component_loader import WorkspaceComponents, neighbours_of
from core.runs.dependencies import _view_of, find_rows, load_pairs
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.scoring.label_means import training_means
from core.scoring.run_scores import load_scored_rows
from core.store import datasets, pairs, predictions
from core.store import spaces as space_records
from core.store.datasets import Dataset
from core.transfer.knn_settings import KnnSettings, rows_to_predict
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex
from tests import cases, worlds
from tests.commands import core
from tests.derived import save_fusion, save_knn
from tests.runs.methods import Counting

pytestmark = (
    pytest.mark.soak
)  # its two worlds take longer than most files; tests/runs/test_blinded.py has smaller ones

PERTS, GENES = [f"P{i}" for i in range(12)], [f"G{i}" for i in range(8)]
TEST, FOLDS, LOO = (EvaluationProtocol(kind, 2) for kind in ("test", "folds", "loo"))  # type: ignore[arg-type]


def line_with(folder: Path, test_seed: int) -> Workspace:
    """A cell line whose training labels are always the same, and whose test labels (the last three perturbations) are drawn."""
    workspace = worlds.workspace_in(folder)
    train, test = np.random.default_rng(3), np.random.default_rng(test_seed)
    effects, directions = [], []
    for i, pert in enumerate(PERTS):
        rng, split = (train, "train") if i < 9 else (test, "test")
        for gene in GENES:
            effect, up = rng.random(2) < 0.5
            effects.append((pert, gene, int(effect), split))
            directions += [(pert, gene, int(up), split)] * int(effect)
    for name, rows in (("de", effects), ("dir", directions)):
        content = cases.as_csv(["pert", "gene", "label", "split"], rows)
        assert import_upload(workspace, content, f"k562-{name}.csv").rejected == ()
    vectors = {
        symbol: np.random.default_rng(ord(symbol[0]) + int(symbol[1:])).normal(size=3).tolist()
        for symbol in PERTS + GENES
    }
    import_upload(workspace, worlds.table_of(vectors), "near.csv")
    ids = [f"{pert}_{gene}" for pert in PERTS for gene in GENES]
    for name, chosen in (("llm train", ids[: 9 * 8]), ("llm test", ids[9 * 8 :])):
        assert import_upload(
            workspace, worlds.llm(chosen), f"{name}.csv", ImportOptions(name=name)
        ).rows == len(chosen)
    return workspace


Twins = tuple[Workspace, Workspace]  # which differ in labels of test rows alone


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    """Two workspaces that differ in the labels of test rows alone, with the runs that labels are used for."""
    made = [line_with(tmp_path_factory.mktemp("line"), seed) for seed in (1, 2)]
    for workspace in made:
        for protocol in (TEST, FOLDS, LOO):
            save_knn(workspace, line_of(workspace), KnnSettings(("near",), protocol), protocol.kind)
        save_fusion(
            workspace,
            FusionSettings(
                "llm test", ("test",), (0.5,), (0.5,), "train", {"llm test": "llm train"}
            ),
            "fused",
        )
        spaces.embed(
            workspace,
            "coresponse",
            "together",
            {"dataset": "k562", "of": "gene", "columns": 3, "seed": 0},
        )
    return made[0], made[1]


def line_of(workspace: Workspace) -> Dataset:
    with workspace.store.read() as db:
        return datasets.find(db, "k562")


def frame_of(workspace: Workspace) -> pd.DataFrame:
    with workspace.store.read() as db:
        return pairs.frame(db, line_of(workspace).id)


def rows_of(workspace: Workspace, run: str) -> pd.DataFrame:
    with workspace.store.read() as db:
        return load_scored_rows(db, run).frame


def test_the_two_differ_in_labels_of_test_rows_alone(two: Twins) -> None:
    one, other = map(frame_of, two)
    differs = one["label"] != other["label"]
    assert set(one["split"][differs]) == {"test"}
    assert differs.sum() > 6


@pytest.mark.parametrize("run", ["test", "folds", "loo", "fused"])
def test_no_prediction_sees_a_test_label(two: Twins, run: str) -> None:
    one, other = (rows_of(workspace, run) for workspace in two)
    columns = ["pair_id", "p_de", "p_up_given_de", "prediction_up", "prediction_down"]
    pd.testing.assert_frame_equal(one[columns], other[columns])
    assert set(one["split"]) == ({"test"} if run in ("test", "fused") else {"train"})
    assert one["p_de"].nunique() > 5


def test_a_kept_training_label_matters(
    two: Twins, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The guard of the tests here: had a label of training been another, the kNN would be another."""
    workspace = line_with(tmp_path_factory.mktemp("guard"), 1)
    with workspace.store.write() as db:
        db.execute("UPDATE pair SET label = 'none' WHERE split = 'train' AND label = 'up'")
    save_knn(workspace, line_of(workspace), KnnSettings(("near",), TEST), "test")
    assert not rows_of(workspace, "test")["p_de"].equals(rows_of(two[0], "test")["p_de"])


def test_rows_by_protocol(two: Twins) -> None:
    frame = frame_of(two[0])
    index, is_train = RowIndex.of_frame(frame), (frame["split"] == "train").to_numpy()
    for protocol in (FOLDS, LOO):
        np.testing.assert_array_equal(rows_to_predict(index, protocol), np.flatnonzero(is_train))
    np.testing.assert_array_equal(rows_to_predict(index, TEST), np.flatnonzero(~is_train))
    np.testing.assert_array_equal(index.known_positions, np.flatnonzero(is_train))
    assert len(index.labelled_positions) == len(frame)
    assert [index.knows(row) for row in (0, len(frame) - 1)] == [True, False]


def test_a_training_row_is_refused_under_the_protocol_test(
    two: Twins,
) -> None:
    loader = WorkspaceComponents(two[0], line_of(two[0]))
    with pytest.raises(InputError, match="in the knowledge base with its own label"):
        loader.predict_knn(KnnSettings(("near",), TEST), ["P0_G0"])


def test_the_neighbours_of_a_test_row_are_training_rows(two: Twins) -> None:
    found = [
        neighbours_of(
            each, line_of(each), "P9_G0", KnnSettings(("near",), FOLDS), protocol_chosen=False
        )
        for each in two
    ]
    assert (found[0].pair_ids, found[0].labels) == (found[1].pair_ids, found[1].labels)
    assert found[0].settings.protocol.kind == "test"
    assert not {"P9", "P10", "P11"} & {pair_id.split("_")[0] for pair_id in found[0].pair_ids}


def test_a_space_of_labels_is_made_from_training_rows(two: Twins) -> None:
    hashes = []
    for workspace in two:
        with workspace.store.read() as db:
            hashes.append(space_records.find(db, "together").sha256)
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("labels", ["all", "blinded", "folds", "auto"])
@pytest.mark.parametrize("rows", ["split=test", "split=train;sample=9", ""])
def test_label_views_hold_training_rows_alone(two: Twins, labels: str, rows: str) -> None:
    names = []
    for workspace in two:
        spec = launch.resolve(
            workspace, RunRequest("counting", rows=rows, labels=labels), method=lambda _: Counting()
        )
        known = load_pairs(workspace.store, spec.dataset)
        asked = find_rows(known, spec)
        view_of = _view_of(known, asked, spec)
        views = [view_of(row) for row in asked]
        assert all(each.split == "train" for view in views for each in view.rows)
        names.append([view.name for view in views])
        if (
            labels == "auto"
        ):  # test rows are asked for with every training label, training rows inside folds
            assert spec.view.kind == ("folds" if "train" in rows else "all")
    assert names[0] == names[1]


def test_means_over_training_rows_see_no_test_label(two: Twins) -> None:
    means = []
    for workspace in two:
        frame = frame_of(workspace)
        index, splits = RowIndex.of_frame(frame), frame["split"].to_numpy(dtype=object)
        means.append(training_means(index, splits, np.flatnonzero(splits == "test"), "gene"))
    np.testing.assert_array_equal(means[0].p_de, means[1].p_de)
    np.testing.assert_array_equal(means[0].p_up, means[1].p_up)


def test_scores_are_of_test_labels(two: Twins) -> None:
    labels = []
    for workspace in two:
        with workspace.store.read() as db:
            rows = load_scored_rows(db, "test")
            assert predictions.frame(db, rows.run.id)["label"].notna().all()
        labels.append(rows.labels.tolist())
        assert rows.scored == "all rows"
    assert labels[0] != labels[1]


def test_the_command_says_which_scores_it_prints(two: Twins) -> None:
    place = two[0].settings.workspace
    by_gene = core(place, "knn --space near --dataset k562 --protocol test").out
    assert "k562 is judged by the macro AUROC by gene" in by_gene
    assert "--axis pert compares perturbations" in by_gene
    by_pert = core(place, "knn --space near --dataset k562 --protocol test --axis pert").out
    assert "--axis pert" not in by_pert


def test_a_report_names_the_headline(two: Twins, tmp_path: Path) -> None:
    place, out = tmp_path / "copy", tmp_path / "report.html"
    shutil.copytree(two[0].settings.workspace, place)
    assert (
        core(place, "report new line --runs 'llm test,test' --compare 'llm test,test'").status == 0
    )
    assert core(place, "report", "build", "line", "--out", str(out)).status == 0
    assert (
        out.read_text("utf-8").count("macro AUROC by gene, mean of DE and DIR") >= 3
    )  # the table, the ladder, the comparison
