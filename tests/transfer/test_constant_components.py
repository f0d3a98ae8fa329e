"""A component of a fusion that is constant inside a cell is named, with the cells and rows."""

from __future__ import annotations

import numpy as np

from core.scoring.score_result import constant_sentences, count_constant_cells

NAN = float("nan")
CELLS = np.array(
    [0, 0, 0, 1, 1, 2, 2, 3], dtype=np.intp
)  # the last cell has one row, in which nothing has an order


def test_cells_are_counted_by_hand() -> None:
    # cell 0: 0.3 twice and a missing one; cell 1: two values; cell 2: one value and a missing one
    assert count_constant_cells(
        np.array([0.3, 0.1 + 0.2, NAN, 0.2, 0.4, 0.5, NAN, 0.1]), CELLS
    ) == (1, 2, 2)
    assert count_constant_cells(np.arange(8.0), CELLS) == (0, 3, 0)
    assert count_constant_cells(np.full(8, 0.5), CELLS) == (3, 3, 7)
    assert count_constant_cells(np.full(8, NAN), CELLS) == (0, 0, 0)


def test_each_number_that_changes_no_order_is_said() -> None:
    varied, by_cell = np.arange(8.0), CELLS.astype(float)
    names = ["base", "kNN"]
    [sentence] = constant_sentences(names, [varied, by_cell], [varied, varied], CELLS)
    assert (
        sentence
        == "kNN has one P(DE) inside 3 of 3 cells (7 rows): there its weight changes no order."
    )
    assert not constant_sentences(names, [varied, by_cell], [varied, varied], None)
    [everywhere] = constant_sentences(["base"], [varied], [np.full(8, 0.5)], None)
    assert everywhere == "base has one P(up | DE) in all 8 rows: there its weight changes no order."
