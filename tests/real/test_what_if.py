"""What-if on the published labelled pool: what the page shows is what the run holds that its button saves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from core.actions import derived_runs, launch
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.methods.fusion_components import FusionSettings
from core.scoring import run_scores
from core.stats.official_score import ScoreIntervals
from core.stats.scores_and_labels import scores_from_probabilities
from core.store import runs
from core.store.runs import Run
from core.transfer.knn_settings import KnnSettings
from core.transfer.live_fusion import LiveFusion
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from core.ui.shared import loaders
from core.ui.what_if import fusion_controls
from core.ui.what_if.fusion_controls import KNN, FusionChoice
from tests.commands import core_json

pytestmark = pytest.mark.real
POOL = "track_a_logprobs_train2499"
W_DE, W_DIR = 0.35, 0.7


@pytest.fixture(scope="module")
def workspace(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The challenge with the labelled pool and a space of the gene descriptions, as the workspace that pages show."""
    folder = tmp_path_factory.mktemp("pool")
    files = [shared_data / "challenge" / f"{split}.csv" for split in ("train", "test")]
    files += [shared_data / "knowledge" / "gene_desc.json", shared_data / "perturbagent" / f"{POOL}.zip"]
    core_json(folder, "import", *map(str, files))
    core_json(folder, "embed", "text", "--name", "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERTURBDESK_WORKSPACE", str(folder))
        st.cache_resource.clear()
        st.cache_data.clear()
        yield open_workspace(Settings(workspace=folder, author="tester"))
    st.cache_resource.clear()
    st.cache_data.clear()


def prepare(workspace: Workspace, settings: KnnSettings) -> tuple[FusionChoice, LiveFusion]:
    loaders.refresh()
    base = next(run for run in loaders.all_runs() if run.name == POOL)
    dataset = default_dataset(workspace, None)
    choice = FusionChoice(dataset, base, (KNN,), settings, (W_DE,), (W_DIR,), "population", (), labelled=True)
    return choice, fusion_controls.prepare_fusion(choice, base)


def score_saved(workspace: Workspace, run: Run) -> ScoreIntervals:
    """The score of a run as it lies in the store, inside the cells that it inherits."""
    with workspace.store.read() as db:
        known = {each.id: each for each in runs.list_all(db)}
    rows = loaders.run_rows(run.id)
    index = WorkspaceComponents(workspace, default_dataset(workspace, None)).index()
    protocol = run_scores.inherited_protocol(run, known)
    cells = run_scores.cells_under(protocol, index, index.positions_of(rows["pair_id"].tolist()))
    scores = scores_from_probabilities(rows["p_de"], rows["p_up_given_de"])
    return run_scores.score_rows(rows, scores, cells, protocol)


@pytest.mark.parametrize("protocol", [EvaluationProtocol("folds"), EvaluationProtocol("loo")], ids=lambda each: each.kind)
def test_the_page_shows_the_score_of_the_run_that_it_saves(workspace: Workspace, protocol: EvaluationProtocol) -> None:
    settings = KnnSettings(("text",), protocol, SimilaritySettings(centre=True))
    choice, live = prepare(workspace, settings)
    shown = live.score_at(choice.settings().weights())
    knn = launch.start(workspace, derived_runs.knn_request(choice.dataset, settings, f"knn {protocol.kind}"))
    saved = FusionSettings(choice.base.id, (knn.id,), choice.w_de, choice.w_dir)
    run = launch.start(workspace, derived_runs.fusion_request(choice.dataset.id, saved, f"fused {protocol.kind}"))
    loaders.refresh()
    found = score_saved(workspace, run)
    assert found.scored == {"folds": "inside 5×5 cells, cut 0", "loo": "leave-one-out"}[protocol.kind]
    for page, store in ((shown.de, found.de), (shown.dir, found.dir), (shown.mean, found.mean)):
        for unit in ("row", "pert", "gene", "two_way"):
            one, other = getattr(page.after, unit), getattr(store, unit)
            assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high), abs=1e-12)


def test_a_weight_that_moves_computes_no_prior(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = KnnSettings(("text",), EvaluationProtocol("folds"))
    prepare(workspace, settings)
    monkeypatch.setattr("core.transfer.live_knn.knn_priors", None)  # whoever computes one now fails
    _, live = prepare(workspace, settings)
    assert live.percentiles.de.shape[0] == 2
