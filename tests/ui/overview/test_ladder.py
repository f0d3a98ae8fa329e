"""The ladder compares runs on the same rows that are scored alike, and says what it knows of public scores."""

from __future__ import annotations

from core.actions import component_loader
from core.actions import runs as actions
from core.actions.workspace import Workspace
from core.methods.fusion_settings import FusionSettings
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests.derived import save_fusion, save_knn
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run
from tests.ui.test_transfer_pages import LABELLED


def made(workspace: Workspace) -> Workspace:
    """The demo with a kNN by folds, its fusion with a debate, and a public score."""
    dataset = component_loader.default_dataset(workspace, None)
    knn = save_knn(workspace, dataset, KnnSettings(("simulated",), EvaluationProtocol("folds", 5, 0)), "knn")
    save_fusion(workspace, FusionSettings(the_run(workspace, LABELLED).id, (knn.id,), (0.5,), (0.5,)), "fused")
    actions.set_values(workspace, "simulated debate test", {"public_score": "0.61"})
    return workspace


def test_runs_are_grouped_by_rows_and_by_how_they_are_scored(visit: Visit, demo_copy: Workspace) -> None:
    app = visit(made(demo_copy), "overview")
    assert not app.exception
    text = text_of(app).replace("\\", "")
    tables = [set(each.value["run"]) for each in app.dataframe if "chosen" in each.value]
    assert tables[0] == {LABELLED, "simulated collapsed debate"}  # the same rows, over all of them
    assert {"knn"} in tables
    assert {"fused"} in tables
    assert "labelled rows · all rows" in text
    assert "labelled rows · inside 5×5 cells, cut 0" in text
    assert "runs with labels beats the no-biology baseline" in text
    # the noise of a public score is computed, and the page says how
    assert "Public scores" in text
    assert "half of those without a label" in text
    assert "904" not in text


def test_the_best_of_a_group_comes_first(visit: Visit, demo_workspace: Workspace) -> None:
    app = visit(demo_workspace, "overview")
    first = next(each.value for each in app.dataframe if "chosen" in each.value)
    assert first["score"].is_monotonic_decreasing
