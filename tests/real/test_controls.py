"""Controls and baselines on the published files, against figures measured with independent code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.runs.workspace import Workspace
from tests.commands import core_json

pytestmark = pytest.mark.real

# (DE, DIR) of means over rows outside the row's part, on all of train; they vary by the cut.
FINGERPRINT = {
    "gene mean, outside its part": (0.267, 0.867),
    "perturbation mean, outside its part": (0.375, 0.716),
}
CUT_NOISE = 0.012


@pytest.fixture(scope="module")
def place(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The challenge with a kNN over the text space on all of train; for this file to change."""
    folder = tmp_path_factory.mktemp("controls")
    files = ["challenge/train.csv", "challenge/test.csv", "knowledge/gene_desc.json"]
    core_json(folder, "import", *(str(shared_data / name) for name in files))
    core_json(folder, "embed text --name text")
    core_json(
        folder,
        "knn --space text --dataset bmdm --permutations 0 --name 'text kNN'",
    )
    return folder


def named(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in found}


@pytest.fixture(scope="module")
def of_knn(place: Path) -> dict[str, Any]:
    return core_json(place, "controls", "text kNN")


@pytest.mark.soak
def test_what_knows_no_biology_on_all_of_train(of_knn: dict[str, Any]) -> None:
    controls = named(of_knn["controls"])
    for name in ("base rate", "gene mean", "perturbation mean"):
        assert [controls[name][axis] for axis in ("de", "dir", "mean")] == pytest.approx(
            [0.5] * 3, abs=1e-12
        )
    # inside the cells; over all pairs 0.6726 and 0.5694
    assert controls["count-only"]["de"] == pytest.approx(0.6726, abs=0.003)
    assert controls["rarer gene"]["dir"] == pytest.approx(0.5694, abs=0.01)
    for axis in ("de", "dir"):
        assert controls["permuted vectors"][axis] == pytest.approx(0.5, abs=0.02)
    assert of_knn["beats_no_biology"] == {"de": False, "dir": False}
    assert of_knn["best"] == {"de": "count-only", "dir": "rarer gene"}


@pytest.mark.soak
def test_the_fingerprint_of_the_sampling(of_knn: dict[str, Any]) -> None:
    found = named(of_knn["fingerprint"])
    for name, (de, direction) in FINGERPRINT.items():
        assert (found[name]["de"], found[name]["dir"]) == pytest.approx(
            (de, direction), abs=CUT_NOISE
        )
        assert found[name]["reversed"]["de"] == 1 - found[name]["de"]
    assert found["gene mean, leave-one-out"]["de"] == pytest.approx(0.110, abs=0.002)


@pytest.mark.soak
def test_no_published_run_with_labels_beats_row_counts(real_workspace: Workspace) -> None:
    found = core_json(real_workspace, "controls", "track_a_logprobs_train2499")
    assert found["beats_no_biology"] == {"de": False, "dir": False}
    assert named(found["controls"])["count-only"]["de"] > 0.66


@pytest.mark.soak
def test_a_knn_without_biology_has_a_half_inside_cells_and_not_under_leave_one_out(
    of_knn: dict[str, Any],
) -> None:
    controls = named(of_knn["controls"])
    assert (
        controls["equal weights, folds"]["de"],
        controls["equal weights, folds"]["dir"],
    ) == pytest.approx((0.5, 0.5), abs=1e-12)
    biased = controls["equal weights, leave-one-out"]
    assert (biased["de"], biased["dir"]) == pytest.approx((0.558, 0.061), abs=0.005)
    drawn = [
        each
        for name, each in controls.items()
        if name.startswith(("random embedding", "scrambled symbols"))
    ]
    assert len(drawn) == 5
    for each in drawn:
        for axis in ("de", "dir"):
            spread = (
                each["intervals"][axis]["high"] - each["intervals"][axis]["low"]
            )  # of nine draws
            assert each[axis] == pytest.approx(0.5, abs=spread / 2)
