"""The cells of each perturbation, and what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.cells.anndata_file import open_cells
from core.features.cells.conditions import ReadingSettings, read_conditions
from core.features.cells.groups import CellGroups, GroupSettings, group_cells
from tests.features.cells.conftest import WriteCells

CONDITIONS = ["ctrl", "ctrl", "ctrl", "A+ctrl", "A+ctrl", "ctrl+A", "B", "B", "A+B", "", "NT", "C"]
GENES = ["A", "B", "X"]


def grouped(
    cells_file: WriteCells,
    settings: GroupSettings,
    conditions: list[str] = CONDITIONS,
    **columns: list[str],
) -> CellGroups:
    values = np.ones((len(conditions), len(GENES)), dtype=np.float32)
    values[1] = 0
    with open_cells(cells_file(values, {"condition": conditions, **columns}, GENES)) as file:
        return group_cells(
            file,
            read_conditions(file, ReadingSettings()),
            values.sum(axis=1, dtype=float),
            settings,
        )


def test_cells_are_grouped_by_their_single_target(cells_file: WriteCells) -> None:
    """Cell 1 has no counts, cell 9 no condition; A+B has two genes; NT names a control too; C has one cell."""
    groups = grouped(cells_file, GroupSettings(2, leave_out_small=True, keep_unknown=True))
    assert groups.targets == ("A", "B")
    assert groups.of_cell.tolist() == [-1, -2, -1, 0, 0, 0, 1, 1, -2, -2, -1, -2]
    assert groups.n_cells.tolist() == [3, 2]
    assert (groups.n_control, groups.unassigned, groups.empty) == (3, 1, 1)
    assert (groups.multiple, groups.small, groups.unknown) == (("A+B",), ("C",), ())


def test_batches_without_controls_are_named(cells_file: WriteCells) -> None:
    batch = ["1"] * 6 + ["2"] + ["1"] * 5  # the first cell of B
    groups = grouped(
        cells_file, GroupSettings(2, leave_out_small=True, keep_unknown=True), batch=batch
    )
    assert groups.without_controls == ("B",)
    assert groups.confounded == ("B",)  # one of two cells beside the controls is a stray one


@pytest.mark.soak
@pytest.mark.parametrize(("n_beside", "confounded"), [(0, ("B",)), (1, ("B",)), (2, ())])
def test_a_perturbation_without_controls_in_its_batch_is_confounded(
    cells_file: WriteCells, n_beside: int, confounded: tuple[str, ...]
) -> None:
    """n_beside: controls in the batch of B; a single one is not enough to compare with."""
    conditions = ["A"] * 3 + ["B"] * 3 + ["ctrl"] * 6
    batch = ["1"] * 3 + ["2"] * 3 + ["2"] * n_beside + ["1"] * (6 - n_beside)
    assert grouped(cells_file, GroupSettings(2), conditions, batch=batch).confounded == confounded


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            GroupSettings(2, keep_unknown=True),
            r"fewer than 2 cells for 1 of 3 perturbations: C \(1\); leave",
        ),
        (
            GroupSettings(4, leave_out_small=True),
            r"fewer than 4 cells for 3 of 3 perturbations: .*; set --min-cells",
        ),
        (
            GroupSettings(2, leave_out_small=True),
            "perturbed genes that are not among its 3 genes: C, but A, B, X",
        ),
    ],
)
def test_what_is_wrong_is_named(
    cells_file: WriteCells, settings: GroupSettings, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        grouped(cells_file, settings)


def test_controls_have_to_be_enough(cells_file: WriteCells) -> None:
    with pytest.raises(
        InputError, match=r"1 control cells \(condition = 'ctrl'\), expected at least 2"
    ):
        grouped(cells_file, GroupSettings(2), ["ctrl", "A", "A", "A"])


def test_one_gene_has_to_be_perturbed(cells_file: WriteCells) -> None:
    with pytest.raises(InputError, match="no perturbation of a single gene"):
        grouped(cells_file, GroupSettings(2), ["ctrl", "ctrl", "A+B", "A+B"])
    with pytest.raises(InputError, match="min_cells: got 1, expected a whole number, 2 or more"):
        GroupSettings(1)
