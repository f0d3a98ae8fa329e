"""Small screens for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from tests.features.cells.cases import SMALL, write_case

WriteCells = Callable[..., Path]  # writes a file of cells; returns its path


@pytest.fixture
def screen_file(tmp_path: Path) -> WriteCells:
    """Writes a small screen with some settings changed; returns its path."""

    def write(*, seed: int = 0, sparse: bool = True, **changes: Any) -> Path:
        path = tmp_path / f"screen{len(list(tmp_path.glob('*.h5ad')))}.h5ad"
        write_case(path, SMALL, seed=seed, sparse=sparse, **changes)
        return path

    return write


@pytest.fixture
def cells_file(tmp_path: Path) -> WriteCells:
    """Writes cells from values (dense or CSR), columns of obs and gene names; returns the path."""

    def write(values: Any, obs: dict[str, list[str]], genes: list[str]) -> Path:
        path = tmp_path / f"cells{len(list(tmp_path.glob('*.h5ad')))}.h5ad"
        index = pd.Index([f"cell{i}" for i in range(values.shape[0])], dtype=object)
        frame = pd.DataFrame(
            {name: pd.Series(column, index=index, dtype=object) for name, column in obs.items()},
            index=index,
        )
        kept = values if isinstance(values, csr_matrix) else np.asarray(values)
        anndata.AnnData(
            X=kept, obs=frame, var=pd.DataFrame(index=pd.Index(genes, dtype=object))
        ).write_h5ad(path)
        return path

    return write
