"""Ideas and external scores on the published files, against figures measured with independent code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import core_json

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def place(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ideas")
    files = ["challenge/train.csv", "knowledge/collectri_mouse_signed.json"]
    core_json(folder, "import", *(str(shared_data / name) for name in files))
    graph = str(shared_data / "perturbagent" / "grn_features_train.csv")
    core_json(
        folder, "import", graph, "--de", "connectivity", "--dir", "kd_up_score", "--name", "graph"
    )
    return folder


@pytest.mark.soak
def test_published_graph_features_say_little_of_an_effect(place: Path) -> None:
    assert core_json(place, "score", "graph")["de"]["estimate"] == pytest.approx(0.51, abs=0.002)
    found = core_json(place, "experiment run graph_features")
    own = {arm["name"]: arm for arm in found["arms"]}
    assert own["connectivity"]["de"]["estimate"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.soak
def test_the_cell_cycle_does_not_go_down(place: Path) -> None:
    found = core_json(place, "experiment run program_priors")
    [row] = [row for row in found["details"][0]["rows"] if row["program"] == "cell cycle"]
    assert (row["expected"], row["up"], row["down"]) == ("down", 19, 11)
