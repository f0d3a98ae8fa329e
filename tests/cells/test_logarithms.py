"""Logarithms to another base are refused with a factor that, followed, gives the same dataset."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from core.cells.predicted_expression import CellOptions, read_predicted_cells
from core.errors import InputError
from tests.cells.conventions import CONVENTIONS, COUNTS, TOTALS, Convention, with_values, write
from tests.cells.test_conventions import labelled
from tests.cells.test_scales import PAIRS

LOGARITHMS = {2: np.log2, 10: np.log10}


@pytest.mark.parametrize("base", LOGARITHMS)
@pytest.mark.parametrize("dense", [True, False])
def test_the_factor_gives_the_same_dataset(tmp_path: Path, base: int, dense: bool) -> None:
    values = LOGARITHMS[base](1 + COUNTS / TOTALS * 1e4)
    path = write(Convention("", "", with_values(values if dense else csr_matrix(values))), tmp_path / "x.h5ad")
    with pytest.raises(InputError, match="looks log-transformed"):
        labelled(path)
    with pytest.raises(InputError, match=rf"the values are log{base}: .* sums to 10,000 in all cells") as caught:
        labelled(path, values="log1p")
    factor = re.search(r"multiply them by ([\d.]+)", str(caught.value))
    assert factor is not None
    made = write(Convention("", "", with_values(csr_matrix(values * float(factor[1])))), tmp_path / "y.h5ad")
    expected = labelled(write(CONVENTIONS[0], tmp_path / "plain.h5ad"))
    pd.testing.assert_frame_equal(labelled(made, values="log1p"), expected)


def test_predictions_are_refused_too(tmp_path: Path) -> None:
    path = write(Convention("", "", with_values(np.log2(1 + COUNTS / TOTALS * 1e4))), tmp_path / "x.h5ad")
    with pytest.raises(InputError, match="the values are log2"):
        read_predicted_cells(path, PAIRS, CellOptions(values="log1p"))


def test_logarithms_of_counts_of_any_sum_are_taken(tmp_path: Path) -> None:
    """Of raw counts no base gives one sum: what a person says holds."""
    path = write(Convention("", "", with_values(np.log1p(COUNTS))), tmp_path / "x.h5ad")
    expected = labelled(write(CONVENTIONS[0], tmp_path / "plain.h5ad"))
    pd.testing.assert_frame_equal(labelled(path, values="log1p"), expected)
