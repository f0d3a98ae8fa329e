"""Cells, their conditions, controls, averages and masks, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.targets.expression import (
    CONTROL,
    ExpressionSet,
    MatchedControls,
    mask_expression,
    match_controls,
    normalise,
    parse_condition,
    take_perturbed,
    targets_in,
)

X = np.array([[0, 0, 0], [1, 2, 3], [3, 2, 1], [5, 5, 5]], dtype=np.float32)
CELLS = ExpressionSet(
    X, ("A", "B", "C"), np.array(["ctrl", "A", "A", "A+C"]), np.array(["x", "x", "x", "y"])
)


@pytest.mark.parametrize(
    ("text", "canonical", "targets"),
    [
        ("ctrl", CONTROL, ()),
        ("A+ctrl", "A", ("A",)),
        ("ctrl+A", "A", ("A",)),
        (" B + A ", "A+B", ("A", "B")),
        ("HLA-A+ctrl", "HLA-A", ("HLA-A",)),
    ],
)
def test_conditions_have_one_name(text: str, canonical: str, targets: tuple[str, ...]) -> None:
    assert parse_condition(text) == canonical
    assert targets_in(canonical) == targets


@pytest.mark.parametrize(
    ("text", "message"), [("", "empty part"), ("A++B", "empty part"), ("A+A", "names a gene twice")]
)
def test_what_is_no_condition_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_condition(text)


def test_cells_by_condition() -> None:
    assert CELLS.is_control.tolist() == [True, False, False, False]
    assert CELLS.perturbed == ("A", "A+C")
    assert CELLS.of_conditions(["A"]).conditions.tolist() == ["ctrl", "A", "A"]


def test_counts_become_log1p_of_counts_per_10_000() -> None:
    values = normalise(np.array([[1, 3], [0, 0]]))
    assert values.dtype == np.float32
    assert values[0].tolist() == pytest.approx([math.log1p(2500), math.log1p(7500)])
    assert values[1].tolist() == [0, 0]


def numbered(conditions: list[str], batches: list[str]) -> ExpressionSet:
    """Cell i has the expression (i, 2 i)."""
    number = np.arange(len(conditions), dtype=np.float32)
    return ExpressionSet(
        np.stack([number, 2 * number], axis=1), ("A", "B"), np.array(conditions), np.array(batches)
    )


def test_controls_are_of_the_same_batch_and_differ() -> None:
    cells = numbered(["ctrl"] * 40 + ["A"] * 4, ["x", "y"] * 22)
    perturbed = cells.take(~cells.is_control)
    controls = match_controls(perturbed, cells, np.random.default_rng(0))
    assert controls.rows.shape == (4, 16)
    assert controls.n_unmatched == 0
    for batch, row in zip(perturbed.batches, controls.rows, strict=True):
        # cell 0, 2, … are of batch x, the others of y
        assert {float(value) % 2 for value in controls.cells[row, 0]} == {
            0.0 if batch == "x" else 1.0
        }
        assert len(set(row.tolist())) == 16


def test_few_controls_are_repeated_and_a_batch_without_is_counted() -> None:
    cells = numbered(["ctrl", "ctrl", "A", "A", "A"], ["x", "x", "x", "z", "z"])
    controls = match_controls(
        cells.take(~cells.is_control), cells, np.random.default_rng(0), n_matched=4
    )
    assert [sorted(row) for row in controls.rows.tolist()] == [[0, 0, 1, 1]] * 3
    assert controls.n_unmatched == 2
    with pytest.raises(InputError, match="none among 3 cells"):
        match_controls(cells, cells.take(~cells.is_control), np.random.default_rng(0))


def test_means_of_controls_by_hand() -> None:
    x = np.array([[1, 2], [3, 4], [8, 0]], dtype=np.float32)
    controls = MatchedControls(x, np.array([[0, 1], [2, 2]]))
    assert controls.means().tolist() == [[2, 3], [8, 0]]
    assert controls.take(np.array([1])).means().tolist() == [[8, 0]]


def test_targets_changes_and_averages() -> None:
    cells = take_perturbed(CELLS, CELLS, np.random.default_rng(0), "training")
    assert cells.targets.astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
    assert cells.target_columns == [[0], [0], [0, 2]]
    assert cells.changes.tolist() == X[1:].tolist()
    averages = cells.average(by_batch=True)
    assert averages.conditions.tolist() == ["A", "A+C"]
    assert averages.x.tolist() == [[2, 2, 2], [5, 5, 5]]
    assert averages.targets.astype(int).tolist() == [[1, 0, 0], [1, 0, 1]]
    assert averages.controls.means().tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(InputError, match="training cells: none is perturbed"):
        take_perturbed(CELLS.take(CELLS.is_control), CELLS, np.random.default_rng(0), "training")


def test_averages_keep_batches_apart_or_not() -> None:
    cells = numbered(["ctrl", "ctrl", "A", "A"], ["x", "y", "y", "x"])
    perturbed = take_perturbed(cells, cells, np.random.default_rng(0), "test")
    assert perturbed.average(by_batch=False).x.tolist() == [[2.5, 5]]
    by_batch = perturbed.average(by_batch=True)
    assert (by_batch.batches.tolist(), by_batch.x[:, 0].tolist()) == (["x", "y"], [3, 2])
    assert by_batch.controls.means()[:, 0].tolist() == [0, 1]


def test_masks_put_the_controls_value_in_the_place_of_genes() -> None:
    control, x = (np.ones((2, 14), dtype=np.float32) for _ in range(2))
    x[0] += np.arange(14) / 10  # the last ten differ most
    x[1] -= np.arange(14)[::-1] / 10  # the first ten differ most, downwards
    assert np.array_equal(mask_expression(x, control, "none", ()), x)
    strongest = mask_expression(x, control, "strongest", ())
    assert np.array_equal(strongest[0, :4], x[0, :4])
    assert np.all(strongest[0, 4:] == 1)
    assert np.all(strongest[1, :10] == 1)
    assert np.array_equal(strongest[1, 10:], x[1, 10:])
    targets = mask_expression(x, control, "targets", (0, 13))
    assert np.all(targets[:, [0, 13]] == 1)
    assert np.array_equal(targets[:, 1:13], x[:, 1:13])
