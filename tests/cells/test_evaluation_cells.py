"""The cells that cell-eval compares: shared genes and perturbations, one scale, drawn cells, a limit of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.cells.evaluation_cells import CONTROL, PERTURBATION, CellChoice, load_cell_pair
from core.cells.predicted_expression import CellOptions
from core.errors import InputError

WriteCells = Callable[..., Path]
COUNTS = np.array([[10, 40, 50], [30, 20, 50], [40, 0, 60], [80, 10, 10], [5, 5, 90]], dtype=np.float32)
LABELS = ["ctrl", "ctrl", "A+ctrl", "A+ctrl", "B+ctrl"]


@pytest.fixture
def real(cells_file: WriteCells) -> Path:
    return cells_file(COUNTS, {"condition": LABELS}, ["G", "H", "I"])


@pytest.mark.soak
def test_both_files_are_brought_to_one_order_and_scale(cells_file: WriteCells, real: Path) -> None:
    values = np.log1p(np.array([[3_001.0, 2_002.0], [3_003.0, 2_004.5], [2_005.0, 2_006.0]]))
    path = cells_file(values, {"condition": ["A", "C", "A"]}, ["H", "G"])
    pair = load_cell_pair(CellChoice(path, CellOptions(real=real)))
    assert list(pair.real.var_names) == list(pair.predicted.var_names) == ["G", "H"]
    # Of the predictions A, then the real controls, since they have none: counts times 100, as log1p.
    assert list(pair.predicted.obs[PERTURBATION]) == ["A", "A", CONTROL, CONTROL]
    expected = [[2_002, 3_001], [2_006, 2_005], [1_000, 4_000], [3_000, 2_000]]
    np.testing.assert_allclose(np.expm1(pair.predicted.X), expected, rtol=1e-4)
    assert list(pair.real.obs[PERTURBATION]) == [CONTROL, CONTROL, "A", "A"]
    np.testing.assert_allclose(np.expm1(pair.real.X[2:]), [[4_000, 0], [8_000, 1_000]], rtol=1e-4)
    assert (pair.n_perturbations, pair.fewest) == (1, 2)
    assert pair.left_out == (
        "1 perturbations only in the predictions",
        "1 perturbations only in the real cells",
        "1 genes only in the real cells",
    )


def test_cells_are_drawn_evenly_and_the_same_each_time(screen_file: Callable[..., Path]) -> None:
    path = screen_file()
    first, again, other = (
        load_cell_pair(CellChoice(path, CellOptions(real=path), sample=20, seed=seed)).predicted for seed in (1, 1, 2)
    )
    assert first.obs[PERTURBATION].value_counts().tolist() == [20] * 11
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_what_does_not_fit_is_refused(cells_file: WriteCells, real: Path) -> None:
    path = cells_file(COUNTS, {"condition": ["X"] * 5}, ["G", "H", "I"])
    with pytest.raises(InputError, match="no perturbation in common"):
        load_cell_pair(CellChoice(path, CellOptions(real=real)))
    # 10 cells and 3 genes: 0.7 GB, and 4 times 120 bytes
    with pytest.raises(InputError, match=r"about 0.7 GB of memory for 10 cells and 3 genes, and 0.6 GB are free. .* --sample"):
        load_cell_pair(CellChoice(real, CellOptions(real=real), most_bytes=600_000_000))
    assert load_cell_pair(CellChoice(real, CellOptions(real=real), most_bytes=800_000_000)).n_perturbations == 2
