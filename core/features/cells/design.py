"""The design of a comparison of cells: its strata, replicates and mock perturbations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pandas as pd

from core.base.fields.setting import Count, setting
from core.features.cells.anndata_file import COUNTS_PER_CELL, CountSummary
from core.features.cells.conditions import split_by_depth
from core.features.cells.groups import CellGroups
from core.features.cells.replicates import CellGroup, Replicates, build_replicates, find_kind
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


MOST_MOCKS: Final = 40
LEAST_MOCKS: Final = 20
LEAST_MOCK_CELLS: Final = 10  # of a mock, and of the controls that it is compared with
MOCK_GENES: Final = 2_000  # that mocks are compared in, so that they take a small part of the time
SEED: Final = 0


@dataclass(frozen=True, eq=False)
class Mocks:
    """Mock perturbations.

    groups: their cells and the cells compared with each; genes: positions of the compared genes.
    n_guides: the most control guides in a mock; 0 if controls have fewer than two.
    """

    groups: tuple[CellGroup, ...]
    genes: Codes
    n_guides: int


def draw_mocks(of_cell: Codes, strata: Codes, guide: Codes | None, n_genes: int) -> Mocks | None:
    """Return mock perturbations modelled on random real ones; None if there are too few controls.

    of_cell: the perturbation of each cell, -1 for controls; strata, guide: of each cell, -1 for
    none. The same cells always give the same mocks.
    """
    rng = np.random.default_rng(SEED)
    targets = np.unique(of_cell[(of_cell >= 0) & (strata >= 0)])
    if not len(targets):
        return None
    n = min(MOST_MOCKS, max(LEAST_MOCKS, len(targets)))
    like = np.concatenate([rng.permutation(targets) for _ in range(-(-n // len(targets)))])[:n]
    control = np.flatnonzero((of_cell == -1) & (strata >= 0))
    guides = np.empty(0, dtype=np.intp) if guide is None else np.unique(guide[control])
    guides = guides[guides >= 0]
    guides = guides if len(guides) > 1 else guides[:0]  # of one guide, controls are drawn by cells
    found = [
        _draw(
            np.flatnonzero((of_cell == each) & (strata >= 0)), control, strata, guide, guides, rng
        )
        for each in like
    ]
    groups = tuple(
        each for each in found if min(len(each.cells), len(each.reference)) >= LEAST_MOCK_CELLS
    )
    genes = np.sort(rng.choice(n_genes, min(n_genes, MOCK_GENES), replace=False))
    return Mocks(groups, genes, len(guides) // 2) if groups else None


def _draw(
    real: Codes,
    control: Codes,
    strata: Codes,
    guide: Codes | None,
    guides: Codes,
    rng: np.random.Generator,
) -> CellGroup:
    """Return one mock. real: the cells of the perturbation to imitate; guides: of the controls,
    empty if unknown."""
    if guide is not None and len(guides):
        n_guides = max(1, min(len(np.unique(guide[real])), len(guides) // 2))
        chosen = np.isin(guide[control], rng.choice(guides, n_guides, replace=False))
        candidates, others = control[chosen], control[~chosen]
    else:
        candidates = rng.permutation(control)[: len(control) // 2]
        others = np.setdiff1d(control, candidates)
    drawn = []
    for stratum, wanted in zip(*np.unique(strata[real], return_counts=True), strict=True):
        there = candidates[strata[candidates] == stratum]
        drawn.append(rng.permutation(there)[:wanted])
    cells = np.sort(np.concatenate(drawn))
    if not len(guides):
        others = np.setdiff1d(control, cells)  # the half that was not drawn is compared with, too
    return CellGroup(cells, others)
