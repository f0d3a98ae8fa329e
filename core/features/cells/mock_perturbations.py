"""Mock perturbations: control cells compared with the other controls like a perturbation's cells,
so every effect is false.

Each is drawn as one real perturbation is: as many cells, in the same batches and of the same depth,
of as many guides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from core.features.cells.replicates import CellGroup
from core.stats.arrays import Codes

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
