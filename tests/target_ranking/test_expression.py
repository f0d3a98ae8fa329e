"""Expression of cells: shapes, targets, the normalisation by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.errors import InputError
from core.target_ranking.expression import ExpressionSet, normalise

CELLS = ExpressionSet(
    np.arange(8, dtype=np.float32).reshape(4, 2),
    ("A", "B"),
    np.array(["ctrl", "A", "A+B", "A"]),
    np.array(["b1", "b1", "b2", "b2"]),
)


def test_cells_are_told_by_condition() -> None:
    assert CELLS.is_control.tolist() == [True, False, False, False]
    assert CELLS.perturbed == ("A", "A+B")
    assert [CELLS.targets_of(name) for name in ("ctrl", "A", "A+B")] == [(), (0,), (0, 1)]
    assert CELLS.of_conditions(["A"]).conditions.tolist() == ["ctrl", "A", "A"]
    assert CELLS.of_conditions(["A"], controls=False).x.tolist() == [[2, 3], [6, 7]]


def test_counts_become_log1p_of_counts_per_10_000() -> None:
    found = normalise(np.array([[1, 3], [0, 0]]))
    assert found.dtype == np.float32
    assert found[0].tolist() == pytest.approx([math.log1p(2500), math.log1p(7500)])
    assert found[1].tolist() == [0, 0]


def test_another_shape_or_an_unknown_target_is_refused() -> None:
    x = np.zeros((1, 2), dtype=np.float32)
    with pytest.raises(InputError, match="2 conditions, 1 batches, 2 genes"):
        ExpressionSet(x, ("A", "B"), np.array(["A", "B"]), np.array(["b"]))
    with pytest.raises(InputError, match="perturbed genes C: not among the 2 genes measured"):
        ExpressionSet(x, ("A", "B"), np.array(["A+C"]), np.array(["b"]))
    with pytest.raises(InputError, match="perturbed genes C"):
        CELLS.targets_of("C")
