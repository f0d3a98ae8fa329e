"""The design of a comparison of cells: its strata, replicates and mock perturbations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd

from core.base.fields.setting import Count, setting
from core.features.cells.anndata_file import COUNTS_PER_CELL, CountSummary
from core.features.cells.groups import CellGroups
from core.features.cells.mock_perturbations import Mocks, draw_mocks
from core.features.cells.replicates import CellGroup, Replicates, build_replicates, find_kind
from core.features.cells.strata import split_by_depth
from core.stats.arrays import Codes


@dataclass(frozen=True, slots=True)
class DesignSettings:
    """Settings for comparing cells. depth_bins: number of bins by detected genes; 1 uses all cells
    together. cells_alone: do not test replicates.
    """

    depth_bins: Annotated[
        Count,
        setting(
            "Compare cells inside of this many bins of cells with as many genes seen; 1 for none.",
            title="Bins of depth",
        ),
    ] = 4
    cells_alone: Annotated[
        bool,
        setting(
            "Labels rest on cells alone; replicates (guides, batches) are not tested.",
            title="Do not test replicates",
        ),
    ] = False


@dataclass(frozen=True, eq=False)
class Design:
    """strata: of each cell, -1 for none, with bins of depth; None compares all cells. batch: the
    same without these bins.

    replicates: of the perturbations, and of the controls as the last group; None without enough of
    them. mocks, mock_replicates: mock perturbations and their pseudobulks.
    """

    strata: Codes | None = None
    batch: Codes | None = None
    replicates: Replicates | None = None
    mocks: Mocks | None = None
    mock_replicates: Replicates | None = None
    counts_per_value: float = 1.0


def build_design(
    groups: CellGroups,
    batch: Codes | None,
    counts: CountSummary,
    n_genes: int,
    settings: DesignSettings,
) -> Design:
    """Return how the cells of a file are compared. batch: the stratum of each cell, -1 for none.

    Cells are alike in depth that have as many genes: that can be told of normalised values, too,
    and is what a rank sum takes for an effect. A count is the smallest value of a cell.
    """
    is_control = groups.of_cell == -1
    strata = split_by_depth(
        batch, counts.detected.astype(np.float64), is_control, settings.depth_bins
    )
    usable = np.ones(len(is_control), dtype=np.bool_) if strata is None else strata >= 0
    of_cell = np.where(usable, groups.of_cell, -2)
    guide = None if groups.guides is None else _codes(groups.guides)
    mocks = draw_mocks(
        of_cell, np.zeros_like(of_cell) if strata is None else strata, guide, n_genes
    )
    per_value = (
        float(np.median(counts.totals[is_control] / counts.least[is_control])) / COUNTS_PER_CELL
    )
    kind = None if settings.cells_alone else find_kind(of_cell, guide, batch)
    if kind is None:
        return Design(strata, batch, None, mocks, None, per_value)
    unit = guide if kind == "guide" and guide is not None else batch
    assert unit is not None  # replicates are guides or batches
    control = np.flatnonzero(of_cell == -1)
    compared = [
        CellGroup(np.flatnonzero(of_cell == i), control) for i in range(len(groups.targets))
    ]
    if kind == "guide":
        compared.append(CellGroup(control, control))
    replicates = build_replicates(kind, compared, unit, batch)
    of_mocks = None if mocks is None else build_replicates(kind, mocks.groups, unit, batch)
    return Design(strata, batch, replicates, mocks, of_mocks, per_value)


def _codes(names: np.ndarray) -> Codes:
    """Return the code of each cell's guide, -1 without a guide."""
    code, found = pd.factorize(names)
    return np.where(np.array(found, dtype=object) == "", -1, np.arange(len(found)))[code].astype(
        np.intp
    )
