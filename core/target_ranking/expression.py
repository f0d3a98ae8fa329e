"""The expression of cells and their conditions, in memory: what models are trained on and what they rank genes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.cells.anndata_file import COUNTS_PER_CELL
from core.errors import InputError
from core.target_ranking.conditions import CONTROL, targets_in

SHOWN = 5  # names in a message; further ones are counted

Expression = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionSet:
    """Cells with their conditions.

    x: of shape (n_cells, n_genes), float32, log1p of counts per 10,000. genes: unique symbols. conditions: of shape
    (n_cells,), canonical (see `core.target_ranking.conditions`). batches: of shape (n_cells,), one name for all without batches.
    Raises InputError for other shapes, and for a condition with a gene that is not among the genes.
    """

    x: Expression
    genes: tuple[str, ...]
    conditions: NDArray[np.str_]
    batches: NDArray[np.str_]

    def __post_init__(self) -> None:
        n_cells, n_genes = self.x.shape
        if (len(self.conditions), len(self.batches), len(self.genes)) != (n_cells, n_cells, n_genes):
            got = f"{len(self.conditions):,} conditions, {len(self.batches):,} batches, {len(self.genes):,} genes"
            raise InputError(f"expression of shape {self.x.shape}: got {got}; expected one for each cell and column")
        require_targets(self.genes, np.unique(self.conditions))

    def targets_of(self, condition: str) -> tuple[int, ...]:
        """Returns the positions of a condition's perturbed genes; none for control cells. Raises InputError for another gene."""
        positions = {gene: at for at, gene in enumerate(self.genes)}
        require_targets(self.genes, [condition])
        return tuple(positions[gene] for gene in targets_in(condition))

    @property
    def is_control(self) -> NDArray[np.bool_]:
        """Of shape (n_cells,): which cells are control cells."""
        return np.asarray(self.conditions == CONTROL)

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The conditions of perturbed cells, sorted."""
        return tuple(str(name) for name in np.unique(self.conditions) if name != CONTROL)

    def take(self, rows: NDArray[Any]) -> Self:
        """Returns the cells of these positions or flags."""
        return type(self)(self.x[rows], self.genes, self.conditions[rows], self.batches[rows])

    def of_conditions(self, conditions: Iterable[str], *, controls: bool = True) -> Self:
        """Returns the cells of these conditions, with the control cells unless they are not wanted."""
        wanted = np.isin(self.conditions, [*conditions, *([CONTROL] if controls else [])])
        return self.take(wanted)


def require_targets(genes: Iterable[str], conditions: Iterable[str]) -> None:
    """Raise InputError if a condition perturbs a gene that is not among the genes."""
    known = set(genes)
    missing = sorted({gene for condition in conditions for gene in targets_in(condition)} - known)
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise InputError(
            f"perturbed genes {', '.join(missing[:SHOWN])}{more}: not among the {len(known):,} genes measured, "
            "expected every perturbed gene there, since it could not be ranked"
        )


def normalise(counts: NDArray[Any]) -> Expression:
    """Returns log1p of counts per 10,000, of the shape (n_cells, n_genes) of the counts; a cell without counts is all 0."""
    totals = counts.sum(axis=1, dtype=np.float64, keepdims=True)
    scale = np.divide(COUNTS_PER_CELL, totals, out=np.zeros_like(totals), where=totals > 0)
    return np.asarray(np.log1p(counts * scale), dtype=np.float32)
