"""Rows of a classifier and scores spread over genes, by hand."""

from __future__ import annotations

import numpy as np

from core.target_ranking.expression import ExpressionSet
from core.target_ranking.models.training_cells import flag_columns, make_class_rows, spread_scores, take_perturbed


def test_a_double_is_a_row_for_each_target_with_half_its_weight() -> None:
    x = np.array([[1, 1, 1, 1], [2, 1, 1, 1], [1, 1, 1, 5]], dtype=np.float32)
    cells = ExpressionSet(x, ("A", "B", "C", "D"), np.array(["ctrl", "B", "B+D"]), np.array(["x"] * 3))
    rows = make_class_rows(take_perturbed(cells, cells, np.random.default_rng(0), "training"))
    assert rows.columns.tolist() == [1, 3]
    assert rows.classes.tolist() == [0, 0, 1]
    assert rows.weights.tolist() == [1, 0.5, 0.5]
    assert rows.x.tolist() == [[1, 0, 0, 0], [0, 0, 0, 4], [0, 0, 0, 4]]


def test_genes_that_are_no_class_cannot_be_scored() -> None:
    columns = np.array([1, 3])
    assert spread_scores(np.array([[0.2, 0.8]]), columns, 4).tolist() == [[-np.inf, 0.2, -np.inf, 0.8]]
    assert flag_columns(columns, 4).tolist() == [False, True, False, True]
