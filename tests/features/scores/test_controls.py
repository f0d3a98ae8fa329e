"""kNN without biology beside a run: 0.5 inside the cells of folds, and not under leave-one-out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.features.scores.space_controls import (
    ANISOTROPIES,
    control_spaces,
    random_space,
    space_to_scramble,
)
from core.runs.workspace import Workspace
from core.scoring.controls import Control
from core.scoring.run_scores import load_scored_rows
from core.store import runs
from tests import worlds
from tests.commands import core, core_json
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

EQUAL, BIASED = "equal weights, folds", "equal weights, leave-one-out"


@pytest.fixture(scope="module")
def found(demo_workspace: Workspace) -> dict[str, Control]:
    """The controls of the demo's first labelled run."""
    with demo_workspace.store.read() as db:
        counts = runs.label_counts(db).set_index("run")["labelled"]
        rows = load_scored_rows(
            db, next(run.id for run in runs.list_all(db) if counts.get(run.id, 0))
        )
    space = space_to_scramble(demo_workspace, rows.run, rows.index)
    assert space is not None
    return {each.name: each for each in control_spaces(rows, space)}


@pytest.mark.parametrize("anisotropy", ANISOTROPIES)
def test_two_random_vectors_have_the_wanted_mean_cosine(anisotropy: float) -> None:
    vectors = random_space(400, anisotropy, np.random.default_rng(1)).columns
    vectors = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    cosines = (vectors @ vectors.T)[np.triu_indices(400, 1)]
    assert cosines.mean() == pytest.approx(anisotropy, abs=0.08)


def test_every_control_is_there_and_none_is_a_rival(found: dict[str, Control]) -> None:
    random = [f"random embedding, mean cosine {anisotropy:g}" for anisotropy in ANISOTROPIES]
    assert list(found)[:-2] == [EQUAL, *random]
    assert list(found)[-2].startswith("scrambled symbols, ")
    assert list(found)[-1] == BIASED
    assert all(each.permuted for each in found.values())
    # what knows no biology has a half inside cells
    assert (found[EQUAL].de.estimate, found[EQUAL].dir.estimate) == (0.5, 0.5)
    for name, each in found.items():
        if name not in (EQUAL, BIASED):
            for value in (each.de, each.dir):
                assert value.estimate == pytest.approx(
                    0.5, abs=4 * value.se / 3
                )  # of nine draws: four standard errors


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
    core_json(place, "knn --space near --folds 2 --name 'near kNN'")
    kept = sorted((place / "cache" / "permuted").iterdir())
    found = core_json(place, "controls", "near kNN")
    assert sorted((place / "cache" / "permuted").iterdir()) == kept  # computed for `knn`, and read
    [vectors] = [each for each in found["controls"] if each["name"] == "permuted vectors"]
    assert vectors["intervals"]["de"]["low"] <= vectors["de"] <= vectors["intervals"]["de"]["high"]
    assert found["scored"] == "inside 2×2 cells, cut 0"


@pytest.mark.soak
def test_the_table_shows_what_the_command_prints(glance: Visit, demo_workspace: Workspace) -> None:
    app = glance(demo_workspace, "scores", run="simulated debate", part="Baselines")
    printed = core_json(demo_workspace, "controls", "simulated debate")
    controls, fingerprint = (
        each.value.set_index("name") for each in app.dataframe if {"name", "DE"} <= set(each.value)
    )
    assert list(controls.index) == [
        "simulated debate",
        *(each["name"] for each in printed["controls"]),
    ]
    for each in printed["controls"]:
        if each["de"] is not None:
            assert controls.loc[each["name"], "DE"].startswith(f"{each['de']:.3f} [")
    assert list(fingerprint.index) == [each["name"] for each in printed["fingerprint"]]
    assert {"DE reversed", "DIR reversed"} <= set(fingerprint)
    assert r"no\-biology baseline" in text_of(app)
