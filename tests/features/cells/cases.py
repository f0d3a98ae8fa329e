"""A small screen, written as a file, for the tests of several rooms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd

from core.features.cells.simulator import ScreenSettings, SimulatedScreen, simulate_screen

SMALL = ScreenSettings(n_cells=1_500, n_genes=80, n_perturbations=10, depth=6)
# Half of the perturbations change enough genes for rows in every split.
LABELLED = replace(
    SMALL,
    n_cells=2_000,
    n_genes=160,
    n_perturbations=20,
    n_doubles=1,
    n_programs=4,
    share_in_programs=0.7,
)


def write_case(
    path: Path,
    settings: ScreenSettings = LABELLED,
    *,
    seed: int = 0,
    sparse: bool = True,
    **changes: Any,
) -> SimulatedScreen:
    """Writes a screen with some settings changed; returns it with its truth."""
    screen = simulate_screen(replace(settings, **changes), seed)
    write_screen(screen, path, sparse=sparse)
    return screen


def write_screen(screen: SimulatedScreen, path: Path, *, sparse: bool = True) -> None:
    """Writes a screen as .h5ad with raw counts (float32) in X."""
    counts = screen.counts.astype(np.float32)
    # anndata writes Python texts, but not yet those of pandas 3
    obs = screen.obs.apply(
        lambda column: column.cat.set_categories(column.cat.categories.astype(object))
    )
    obs.index = obs.index.astype(object)
    var = pd.DataFrame(index=pd.Index(screen.genes, dtype=object))
    anndata.AnnData(X=counts if sparse else counts.toarray(), obs=obs, var=var).write_h5ad(path)


def write_anndata(cells: Any, path: Path) -> Path:
    """Writes cells whose names and columns pandas 3 holds as texts that anndata does not write yet; returns the path."""
    obs = cells.obs.apply(lambda column: pd.Categorical(column.astype(object)))
    obs.index = obs.index.astype(object)
    var = pd.DataFrame(index=cells.var_names.astype(object))
    anndata.AnnData(X=cells.X, obs=obs, var=var).write_h5ad(path)
    return path
