"""Control cells of the same batch, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.target_ranking.controls import MatchedControls, as_matched, match_controls, subtract_controls
from core.target_ranking.expression import ExpressionSet


def cells_of(conditions: list[str], batches: list[str]) -> ExpressionSet:
    """Cell i has the expression (i, 2 i)."""
    number = np.arange(len(conditions), dtype=np.float32)
    return ExpressionSet(np.stack([number, 2 * number], axis=1), ("A", "B"), np.array(conditions), np.array(batches))


def test_controls_are_of_the_same_batch_and_differ() -> None:
    cells = cells_of(["ctrl"] * 40 + ["A"] * 4, ["x", "y"] * 22)
    asked = cells.take(~cells.is_control)
    found = match_controls(asked, cells, np.random.default_rng(0))
    assert found.rows.shape == (4, 16)
    assert found.n_unmatched == 0
    for batch, row in zip(asked.batches, found.rows, strict=True):
        # cell 0, 2, … are of batch x, the others of y
        assert {float(each) % 2 for each in found.cells[row, 0]} == {0.0 if batch == "x" else 1.0}
        assert len(set(row.tolist())) == 16


def test_few_controls_are_repeated_and_a_batch_without_is_counted() -> None:
    cells = cells_of(["ctrl", "ctrl", "A", "A", "A"], ["x", "x", "x", "z", "z"])
    found = match_controls(cells.take(~cells.is_control), cells, np.random.default_rng(0), n_matched=4)
    assert [sorted(row) for row in found.rows.tolist()] == [[0, 0, 1, 1]] * 3
    assert found.n_unmatched == 2


def test_means_and_changes_by_hand() -> None:
    x = np.array([[1, 2], [3, 4], [8, 0]], dtype=np.float32)
    found = MatchedControls(x, np.array([[0, 1], [2, 2]]))
    assert found.means().tolist() == [[2, 3], [8, 0]]
    assert subtract_controls(np.ones((2, 2), np.float32), found).tolist() == [[-1, -2], [-7, 1]]
    assert subtract_controls(np.ones((2, 2), np.float32), x[0]).tolist() == [[0, -1], [0, -1]]
    assert found.take(np.array([1])).means().tolist() == [[8, 0]]


def test_profiles_are_controls_of_their_own() -> None:
    profile = np.array([1, 2], dtype=np.float32)
    assert as_matched(profile, 3).means().tolist() == [[1, 2]] * 3
    each = np.array([[1, 2], [0, 0], [1, 2]], dtype=np.float32)
    assert as_matched(each, 3).means().tolist() == each.tolist()
    assert len(as_matched(each, 3).cells) == 2


def test_what_does_not_fit_is_refused() -> None:
    cells = cells_of(["A", "B"], ["x", "x"])
    with pytest.raises(InputError, match="none among 2 cells"):
        match_controls(cells, cells, np.random.default_rng(0))
    other = ExpressionSet(cells.x, ("A", "C"), np.array(["ctrl", "ctrl"]), cells.batches)
    with pytest.raises(InputError, match="other genes"):
        match_controls(cells, other, np.random.default_rng(0))
    with pytest.raises(InputError, match="one for each of 3 cells"):
        as_matched(cells.x, 3)
    with pytest.raises(InputError, match="expected those of 3"):
        as_matched(MatchedControls(cells.x, np.zeros((2, 1), dtype=np.intp)), 3)
