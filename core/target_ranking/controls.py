"""Match control cells to perturbed cells, so that a model sees the change by a perturbation and not by a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.target_ranking.expression import Expression, ExpressionSet

N_MATCHED: Final = 16  # number of control cells for each cell, as published

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class MatchedControls:
    """Control cells for each of n cells.

    cells: expression of shape (n_controls, n_genes). rows: of shape (n, k), the positions in `cells` of each cell's controls.
    n_unmatched: number of cells whose batch has no control cell; their controls come from all batches.
    """

    cells: Expression
    rows: Codes
    n_unmatched: int = 0

    def means(self) -> Expression:
        """Return the mean expression of each cell's controls, of shape (n, n_genes)."""
        total = np.zeros((len(self.rows), self.cells.shape[1]), dtype=np.float32)
        for column in self.rows.T:
            total += self.cells[column]
        return total / np.float32(self.rows.shape[1])

    def take(self, rows: NDArray[Any]) -> MatchedControls:
        """Return the controls of some of the n cells."""
        return MatchedControls(self.cells, self.rows[rows])


Control = Expression | MatchedControls


def match_controls(
    cells: ExpressionSet, pool: ExpressionSet, rng: np.random.Generator, n_matched: int = N_MATCHED
) -> MatchedControls:
    """Return `n_matched` random control cells of the same batch for each cell.

    pool: the cells that supply the control cells, over the same genes. Controls of a cell are distinct if its batch has enough,
    and repeated otherwise. Raise InputError if there is no control cell, and for other genes.
    """
    if cells.genes != pool.genes:
        raise InputError(
            f"control cells: measured on {len(pool.genes):,} other genes, expected the {len(cells.genes):,} of the cells"
        )
    controls = np.flatnonzero(pool.is_control)
    if not len(controls):
        raise InputError(f"control cells: none among {len(pool.x):,} cells, expected at least one of condition ctrl")
    rows = np.zeros((len(cells.x), n_matched), dtype=np.intp)
    n_unmatched = 0
    for batch in np.unique(cells.batches):
        own = np.flatnonzero(cells.batches == batch)
        found = np.flatnonzero(pool.batches[controls] == batch)
        if not len(found):
            n_unmatched += len(own)
            found = np.arange(len(controls))
        order = rng.permutation(found)
        starts = rng.integers(len(order), size=(len(own), 1))
        rows[own] = order[(starts + np.arange(n_matched)) % len(order)]
    return MatchedControls(pool.x[controls], rows, n_unmatched)


def as_matched(control: Control, n_cells: int) -> MatchedControls:
    """Return matched controls unchanged, and a profile of shape (n_genes,) or (n_cells, n_genes) as one control for each cell."""
    if isinstance(control, MatchedControls):
        if len(control.rows) != n_cells:
            raise InputError(f"control cells of {len(control.rows):,} cells, expected those of {n_cells:,}")
        return control
    if control.ndim == 1:
        return MatchedControls(control[None], np.zeros((n_cells, 1), dtype=np.intp))
    if len(control) != n_cells:
        raise InputError(f"control profiles: {len(control):,}, expected one for each of {n_cells:,} cells")
    cells, rows = np.unique(control, axis=0, return_inverse=True)  # cells of one batch often share their controls
    return MatchedControls(cells, rows.reshape(-1, 1).astype(np.intp))


def subtract_controls(x: Expression, control: Control) -> Expression:
    """Return the expression of cells minus the mean of their controls, of shape (n_cells, n_genes)."""
    if isinstance(control, MatchedControls):
        return x - as_matched(control, len(x)).means()
    return x - control
