"""Predicted cells as .vcc: what is written is what is read, in the layout that cell-eval prepares."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import anndata
import numpy as np
import pytest

from core.cells.challenge_cells import write_challenge_cells
from core.cells.predicted_expression import CellOptions
from core.datasets.archives import predictions_in
from core.errors import InputError

GENES = ["G1", "G2", "G3"]


@pytest.fixture
def predicted(cells_file: Callable[..., Path]) -> Path:
    values = np.array([[30, 50, 20], [10, 10, 80], [1, 2, 7], [5, 0, 5]])
    return cells_file(values, {"perturbation": ["ctrl", "A", "A+B", "nan"]}, GENES)


def test_an_archive_holds_the_cells_in_log1p_of_ten_thousand(predicted: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.vcc"
    assert write_challenge_cells(predicted, out, CellOptions(), ["G3", "G1"]) == (3, 2)
    with tarfile.open(out) as archive:
        assert archive.getnames() == ["pred.h5ad.zst", "watermark.txt"]
    with predictions_in(out) as path:
        found = anndata.read_h5ad(path)
    assert list(found.obs["target_gene"]) == ["non-targeting", "A", "A+B"]
    assert list(found.var_names) == ["G3", "G1"]
    # 20 of 100 counts are 2,000 of 10,000; 80 and 10 of 100; 7 and 1 of 10
    np.testing.assert_allclose(found.X.expm1().toarray(), [[2000, 3000], [8000, 1000], [7000, 1000]], rtol=1e-5)
    assert predicted.exists()


def test_what_cannot_be_written_is_said(predicted: Path, tmp_path: Path, cells_file: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="1 of the 2 genes are not in it: H"):
        write_challenge_cells(predicted, tmp_path / "p.vcc", CellOptions(), ["G1", "H"])
    (tmp_path / "there.vcc").touch()
    with pytest.raises(InputError, match="exists, expected a new file"):
        write_challenge_cells(predicted, tmp_path / "there.vcc", CellOptions())
    with pytest.raises(InputError, match="no control cells"):
        write_challenge_cells(
            cells_file(np.eye(2), {"perturbation": ["A", "B"]}, ["G1", "G2"]), tmp_path / "q.vcc", CellOptions()
        )
