"""Cells that models are fitted and chosen on, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.target_ranking.expression import ExpressionSet
from core.target_ranking.models.training_cells import (
    average_conditions,
    choice_cells,
    mean_reciprocal_rank,
    notes_on_controls,
    take_perturbed,
    take_validation,
)

X = np.array([[0, 0, 0], [1, 2, 3], [3, 2, 1], [5, 5, 5]], dtype=np.float32)
CELLS = ExpressionSet(X, ("A", "B", "C"), np.array(["ctrl", "A", "A", "A+C"]), np.array(["x", "x", "x", "y"]))


def test_targets_and_changes() -> None:
    found = take_perturbed(CELLS, CELLS, np.random.default_rng(0), "training")
    assert found.targets.astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
    assert found.changes.tolist() == X[1:].tolist()
    assert notes_on_controls(found) == (
        "1 of 3 cells are from batches without control cells and were compared with controls of all batches.",
    )
    with pytest.raises(InputError, match="training cells: none is perturbed"):
        take_perturbed(CELLS.take(CELLS.is_control), CELLS, np.random.default_rng(0), "training")


def test_reciprocal_ranks_of_cells() -> None:
    found = take_perturbed(CELLS, CELLS, np.random.default_rng(0), "test")
    # A is first: 1; A is third: 1/3; A and C of three tied genes: one of them first in 2 of 3 orders, second else
    scores = np.array([[3.0, 2, 1], [0, 1, 2], [4, 4, 4]])
    assert mean_reciprocal_rank(scores, found) == pytest.approx((1 + 1 / 3 + (2 + 1 / 2) / 3) / 3)


def test_averages_of_conditions_by_batch() -> None:
    found = average_conditions(take_validation(CELLS, CELLS, np.random.default_rng(0)))
    assert found.conditions.tolist() == ["A", "A+C"]
    assert found.x.tolist() == [[2, 2, 2], [5, 5, 5]]
    assert found.targets.astype(int).tolist() == [[1, 0, 0], [1, 0, 1]]
    assert found.controls.means().tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_tenth_of_the_training_cells_takes_the_place_of_validation_cells_without_a_trained_target() -> None:
    n = 20
    x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    cells = ExpressionSet(x, ("A", "B", "C"), np.array(["ctrl"] + ["A"] * (n - 2) + ["B"]), np.array(["x"] * n))
    rng = np.random.default_rng(0)
    trained = take_perturbed(cells.of_conditions(["A"]), cells, rng, "training")
    other, same = (take_perturbed(cells.of_conditions([name]), cells, rng, "validation") for name in ("B", "A"))
    assert choice_cells(trained, same, rng) == (trained, same, ())
    fitted, chosen_on, notes = choice_cells(trained, other, rng)
    assert (len(fitted.x), len(chosen_on.x)) == (16, 2)  # of 18
    assert sorted(np.concatenate([fitted.x, chosen_on.x])[:, 0].tolist()) == x[1:-1, 0].tolist()
    assert notes == ("No validation cell has a trained target; 2 random training cells were held out to choose on instead.",)
