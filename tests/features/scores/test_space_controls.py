"""kNN without biology beside a run: 0.5 inside the cells of folds, and not under leave-one-out."""

from __future__ import annotations

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
    assert found[EQUAL].de is not None
    assert found[EQUAL].dir is not None
    assert (found[EQUAL].de.estimate, found[EQUAL].dir.estimate) == (0.5, 0.5)
    for name, each in found.items():
        if name not in (EQUAL, BIASED):
            for value in (each.de, each.dir):
                assert value is not None
                assert value.estimate == pytest.approx(
                    0.5, abs=4 * value.se / 3
                )  # of nine draws: four standard errors
