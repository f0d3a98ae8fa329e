"""Predicted expression at full size: 2 GB of predicted cells in little memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from core.base.config import REPOSITORY
from soak.conftest import Record

N_CELLS, N_GENES, N_PERTS = 100_000, 5_000, 200  # float32: 2.0 GB
MOST_MB = 2_000
CODE = """
import resource, sys
from pathlib import Path
from core.features.cells.predicted_table import WantedPairs
from core.features.cells.predicted_expression import CellOptions, read_predicted_cells
from core.base.types import Pair
pairs = [Pair(f"P{p}_G{g}", f"P{p}", f"G{g}", None, "train") for p in range(200) for g in range(0, 5000, 5)]
found = read_predicted_cells(Path(sys.argv[1]), WantedPairs(pairs), CellOptions(values="log1p"))
print(int(found.covered.sum()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write_large(path: Path) -> None:
    """Predicted cells of 2 GB, dense log1p values, written in parts."""
    import anndata

    names = pd.Index(["control", *(f"P{i}" for i in range(N_PERTS))], dtype=object)
    labels = pd.Categorical.from_codes(np.arange(N_CELLS) % (N_PERTS + 1), names)
    obs = pd.DataFrame(
        {"perturbation": labels}, index=pd.Index([f"c{i}" for i in range(N_CELLS)], dtype=object)
    )
    var = pd.DataFrame(index=pd.Index([f"G{i}" for i in range(N_GENES)], dtype=object))
    anndata.AnnData(
        X=np.zeros((N_CELLS, 1), dtype=np.float32), obs=obs, var=var.iloc[:1]
    ).write_h5ad(path)
    small = path.with_name("var.h5ad")
    anndata.AnnData(
        X=np.zeros((1, N_GENES), dtype=np.float32), obs=obs.iloc[:1], var=var
    ).write_h5ad(small)
    rng = np.random.default_rng(0)
    with h5py.File(path, "a") as file, h5py.File(small) as genes:
        del file["var"]
        genes.copy("var", file)
        attributes = dict(file["X"].attrs)
        del file["X"]
        values = file.create_dataset("X", (N_CELLS, N_GENES), np.float32)
        values.attrs.update(attributes)
        for start in range(0, N_CELLS, 5_000):
            values[start : start + 5_000] = rng.random((5_000, N_GENES), dtype=np.float32) * 3


def test_two_gigabytes_of_predicted_cells_stream(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "large.h5ad"
    write_large(path)
    start = time.perf_counter()
    done = subprocess.run(
        (sys.executable, "-c", CODE, str(path)),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    covered, peak_mb = map(int, done.stdout.split())
    record(
        file_mb=path.stat().st_size // 10**6,
        seconds=f"{time.perf_counter() - start:.0f}",
        peak_mb=peak_mb,
        covered=covered,
    )
    assert covered == N_PERTS * N_GENES // 5
    assert peak_mb < MOST_MB
