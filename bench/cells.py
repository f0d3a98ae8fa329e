"""Labels of a 2 GB file of cells, streamed: seconds and peak memory, beside reading it once.

The file repeats the cells of a simulated screen under new names until it is large enough; what is measured depends on its size,
not on what it says.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.sparse import csr_matrix

from bench.measure import alone
from core.base.config import Settings
from core.features.cells.actions import LabelRequest, label_cells
from core.features.cells.anndata_file import open_cells
from core.features.cells.simulator import ScreenSettings, SimulatedScreen, simulate_screen
from core.runs.workspace import open_workspace
from tests.features.cells.cases import write_screen

BYTES = 2_000_000_000
SCREEN = ScreenSettings(
    n_cells=20_000, n_genes=4_000, n_perturbations=30, share_control=0.02, depth=1.0
)


def run() -> dict[str, Any]:
    """Seconds of labelling and of reading every block once, the peak memory of each in MB, and the file's size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "screen.h5ad"
        n_cells = write_large_screen(path)
        rows, ours_s, ours_mb = alone(label, path)
        read, reference_s, reference_mb = alone(read_once, path)
        return {
            "name": "cells",
            "ours_s": ours_s,
            "reference_s": reference_s,
            "ratio": ours_s / reference_s,
            "peak_mb_ours": ours_mb,
            "peak_mb_reference": reference_mb,
            "file_mb": path.stat().st_size / 1e6,
            "cells": n_cells,
            "cells_read": read,
            "genes": SCREEN.n_genes,
            "rows": rows,
        }


def write_large_screen(path: Path) -> int:
    """Writes a screen of at least BYTES; returns how many cells it has."""
    screen = simulate_screen(SCREEN, 0)
    return _write_repeated(path, screen, -(-BYTES // (screen.counts.nnz * 8)))


def write_repeated_screen(path: Path, settings: ScreenSettings, repeats: int) -> int:
    """Writes a screen whose cells are there so many times; returns how many cells it has."""
    return _write_repeated(path, simulate_screen(settings, 0), repeats)


def _write_repeated(path: Path, screen: SimulatedScreen, repeats: int) -> int:
    write_screen(_repeated_obs(screen, repeats), path)
    counts = screen.counts.astype(np.float32)
    with h5py.File(path, "a") as file:
        group = file["X"]
        group.attrs["shape"] = np.array([counts.shape[0] * repeats, counts.shape[1]])
        for name in ("data", "indices", "indptr"):
            del group[name]
        for name, values in (("data", counts.data), ("indices", counts.indices)):
            stored = group.create_dataset(name, (len(values) * repeats,), values.dtype)
            for i in range(repeats):
                stored[i * len(values) : (i + 1) * len(values)] = values
        ends = np.concatenate(
            [counts.indptr[1:].astype(np.int64) + i * counts.nnz for i in range(repeats)]
        )
        group.create_dataset("indptr", data=np.concatenate([[0], ends]))
    return counts.shape[0] * repeats


def _repeated_obs(screen: SimulatedScreen, repeats: int) -> SimulatedScreen:
    """The screen with every cell's columns repeated under new names, and no counts."""
    obs = screen.obs.iloc[np.tile(np.arange(len(screen.obs)), repeats)].copy()
    obs.index = [f"cell{i}" for i in range(len(obs))]
    return replace(
        screen, obs=obs, counts=csr_matrix((len(obs), len(screen.genes)), dtype=np.int32)
    )


def label(path: Path) -> int:
    """How many rows the dataset has that the file is made into, in a workspace of its own."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(Settings(workspace=Path(folder)))
        made = label_cells(workspace, path, LabelRequest("screen"), lambda _: None)
        return int(made.record["rows"])


def read_once(path: Path) -> int:
    """How many cells the blocks of a file hold."""
    with open_cells(path) as file:
        return sum(block.shape[0] for _, block in file.blocks())
