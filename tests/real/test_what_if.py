"""What-if on the published labelled pool: what the page shows is what the run holds that its button saves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.features.fuse.page import fusion_controls, results
from core.features.fuse.page.fusion_controls import KNN, FusionChoice
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader, launch
from core.runs.component_loader import default_dataset
from core.runs.workspace import Workspace
from core.scoring.compare_runs import add_cut_noise
from core.transfer.fusion import LiveFusion
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from core.ui.loaders.cache import refresh
from core.ui.loaders.records import all_runs
from core.ui.loaders.scores import run_score
from tests.commands import core_json
from tests.ui.conftest import forget
from tests.worlds import workspace_in

pytestmark = pytest.mark.real
POOL = "track_a_logprobs_train2499"
W_DE, W_DIR = 0.35, 0.7


@pytest.fixture(scope="module")
def workspace(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The challenge with the labelled pool and a space of the gene descriptions, as the workspace that pages show."""
    folder = tmp_path_factory.mktemp("pool")
    files = [shared_data / "challenge" / f"{split}.csv" for split in ("train", "test")]
    files += [
        shared_data / "knowledge" / "gene_desc.json",
        shared_data / "perturbagent" / f"{POOL}.zip",
    ]
    core_json(folder, "import", *map(str, files))
    core_json(folder, "embed text --name text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERTURBDESK_WORKSPACE", str(folder))
        forget()
        yield workspace_in(folder)
    forget()


def prepare(workspace: Workspace, settings: KnnSettings) -> tuple[FusionChoice, LiveFusion]:
    refresh()
    base = next(run for run in all_runs() if run.name == POOL)
    dataset = default_dataset(workspace, None)
    how = FusionSettings(others=(), w_de=(), w_dir=())
    choice = FusionChoice(dataset, base, (KNN,), settings, (W_DE,), (W_DIR,), how, labelled=True)
    return choice, fusion_controls.prepare_fusion(choice, base)


@pytest.mark.soak
@pytest.mark.parametrize(
    "protocol",
    [EvaluationProtocol("folds"), pytest.param(EvaluationProtocol("loo"), marks=pytest.mark.soak)],
    ids=lambda each: each.kind,
)
def test_the_page_shows_the_score_of_the_run_that_it_saves(
    workspace: Workspace, protocol: EvaluationProtocol
) -> None:
    settings = KnnSettings(("text",), protocol, SimilaritySettings(centre=True))
    choice, live = prepare(workspace, settings)
    shown = live.score_at(choice.settings().weights())
    noise = results.find_noise(choice, choice.base)
    assert (noise is not None) == (protocol.kind == "folds")
    if noise is not None:
        shown = add_cut_noise(shown, noise.before, noise.scores_at(choice.settings().weights()))
    knn = launch.start(
        workspace, component_loader.knn_request(choice.dataset, settings, f"knn {protocol.kind}")
    )
    saved = FusionSettings(choice.base.id, (knn.id,), choice.w_de, choice.w_dir)
    run = launch.start(
        workspace,
        component_loader.fusion_request(choice.dataset.id, saved, f"fused {protocol.kind}"),
    )
    refresh()
    found = run_score(run.id)
    assert (
        found.whole.scored
        == {"folds": "inside 5×5 cells, cut 0", "loo": "leave-one-out"}[protocol.kind]
    )
    assert len(found.cuts) == (10 if protocol.kind == "folds" else 0)
    for page, store in (
        (shown.de, found.whole.de),
        (shown.dir, found.whole.dir),
        (shown.mean, found.whole.mean),
    ):
        for unit in ("row", "pert", "gene", "two_way", "shown"):
            one, other = getattr(page.after, unit), getattr(store, unit)
            assert (one.estimate, one.low, one.high) == pytest.approx(
                (other.estimate, other.low, other.high), abs=1e-12
            )
    command = core_json(workspace, "score", run.name)
    assert command["mean"]["estimate"] == pytest.approx(found.whole.mean.value, abs=1e-12)
    assert command["scored"] == found.whole.scored
    if protocol.kind == "folds":  # the cut that the run was made under is the first of the ten
        assert found.cuts[0] == pytest.approx(
            [found.whole.de.value, found.whole.dir.value], abs=1e-12
        )


@pytest.mark.soak
def test_a_weight_that_moves_computes_no_prior(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = KnnSettings(("text",), EvaluationProtocol("folds"))
    prepare(workspace, settings)
    monkeypatch.setattr(
        "core.transfer.protocols.knn_priors", None
    )  # whoever computes one now fails
    _, live = prepare(workspace, settings)
    assert live.percentiles.de.shape[0] == 2
