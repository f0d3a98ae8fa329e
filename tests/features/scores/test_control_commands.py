"""The commands about the baselines without biology."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.runs.workspace import Workspace
from tests import worlds
from tests.commands import core, core_json

CONTROLS = ["base rate", "gene mean", "perturbation mean", "count-only", "rarer gene"]
PERMUTED = ["labels permuted within genes", "labels permuted within perturbations"]


@pytest.fixture
def place(workspace: Workspace) -> Path:
    """A screen with an LLM's runs and a gene space."""
    worlds.furnish(workspace)
    return workspace.settings.workspace


@pytest.mark.soak
def test_controls_of_a_run(demo_workspace: Workspace) -> None:
    place = demo_workspace.settings.workspace
    found = core_json(place, "controls", "simulated debate")
    names = [each["name"] for each in found["controls"]]
    assert names[:7] == CONTROLS + PERMUTED
    assert [name.partition(",")[0] for name in names[7:]] == [
        "equal weights",
        *["random embedding"] * 4,
        "scrambled symbols",
        "equal weights",
    ]
    assert {"name", "de", "dir", "mean"} <= set(found["controls"][0])
    assert found["scored"] == "all rows"
    assert set(found["best"]) == set(found["beats_no_biology"]) == {"de", "dir"}
    assert len(found["fingerprint"]) == 4
    text = core(place, "controls", "simulated debate").out
    assert "Scores that the sampling alone gives away" in text
    assert text.startswith("DE ")


@pytest.mark.soak
def test_a_knn_has_permuted_vectors_from_the_cache_of_its_space(place: Path) -> None:
    core_json(place, "knn", "--space", "near", "--folds", "2", "--name", "near kNN")
    kept = sorted((place / "cache" / "permuted").iterdir())
    found = core_json(place, "controls", "near kNN")
    assert sorted((place / "cache" / "permuted").iterdir()) == kept  # computed for `knn`, and read
    [vectors] = [each for each in found["controls"] if each["name"] == "permuted vectors"]
    assert vectors["intervals"]["de"]["low"] <= vectors["de"] <= vectors["intervals"]["de"]["high"]
    assert found["scored"] == "inside 2×2 cells, cut 0"
