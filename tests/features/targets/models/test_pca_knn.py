"""Votes of the nearest training cells, against loops."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.cells.simulator import ScreenSettings
from core.features.targets.models import pca_knn
from core.features.targets.models.base import FitSettings, FittedModel, fit_model
from tests.features.targets import screens
from tests.features.targets.cases import profile


def made(directions: list[list[float]], votes: list[list[bool]], k: int) -> FittedModel:
    """A model whose two components are the first two of three genes, which alone can be targets."""
    arrays = {
        "mean": np.zeros(3, np.float32),
        "components": np.eye(2, 3, dtype=np.float32),
        "directions": np.array(directions, np.float32),
        "votes": np.array(votes),
    }
    return FittedModel("pca_knn", np.arange(2), arrays, facts={"k": k})


def test_cosines_of_the_neighbours_by_hand() -> None:
    model = made([[1, 0], [0.6, 0.8], [0, -1]], [[True, False], [True, True], [False, True]], k=2)
    control = profile(np.ones(3, np.float32), 2)
    # Less the control: (1, 0), whose cosines are 1, 0.6, 0; and (0, -3): 0, -0.8, 1, of which the second nearest has 0
    x = np.array([[2, 1, 9], [1, -2, 0]], dtype=np.float32)
    scores = model.score(x, control)
    assert scores[0, :2].tolist() == pytest.approx([(1 + 0.6) / 2, 0.6 / 2])
    assert scores[1, :2].tolist() == pytest.approx([0, 1 / 2])
    assert np.isneginf(scores[:, 2]).all()
    assert model.columns.tolist() == [0, 1]


def test_a_cell_that_equals_its_control_has_no_direction_and_no_votes() -> None:
    model = made([[1, 0]], [[True, False]], k=1)
    assert model.score(np.ones((1, 3), np.float32), profile(np.ones(3, np.float32), 1))[0, 0] == 0


def test_both_numbers_are_those_of_the_best_validation_mrr(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = screens.split_screen(
        screens.make_screen(ScreenSettings(300, 120, 8, share_failed_guides=0.0, depth=6.0), 0),
        2,
        1,
    )
    # 20 numbers of neighbours for 20, then 50, then 100 components: the best is 50 with 3; 100 with 1 is as good, but later
    mrrs = iter([0.1] * 20 + [0.1, 0.2, 0.9] + [0.3] * 17 + [0.9] + [0.2] * 19)
    monkeypatch.setattr(pca_knn, "mean_reciprocal_rank", lambda *_: next(mrrs))
    model = fit_model("pca_knn", parts.train, parts.validation, FitSettings())
    assert (len(model.arrays["components"]), model.facts["k"]) == (50, 3)
    assert not [*mrrs]
