"""Ranking as classification, for models whose classes are the genes that training cells have as targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.target_ranking.expression import Expression
from core.target_ranking.models.training_cells import PerturbedCells


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows of a classifier: a cell with several targets is a row for each, with that share of its weight.

    x: changes of expression, of shape (n_rows, n_genes). classes: positions in `columns`. weights: of shape (n_rows,). columns:
    the genes that are classes, ascending positions.
    """

    x: Expression
    classes: NDArray[np.intp]
    weights: NDArray[np.float64]
    columns: NDArray[np.intp]


def make_class_rows(cells: PerturbedCells) -> ClassRows:
    """Returns the rows of training cells."""
    columns = np.flatnonzero(cells.targets.any(axis=0))
    row, column = np.nonzero(cells.targets[:, columns])
    return ClassRows(cells.changes[row], column, 1 / cells.targets.sum(axis=1)[row], columns)


def spread_scores(found: NDArray[np.floating], columns: NDArray[np.intp], n_genes: int) -> NDArray[np.float64]:
    """Returns scores of shape (n_cells, n_genes) from those of the classes; -inf for genes that are no class."""
    scores = np.full((len(found), n_genes), -np.inf)
    scores[:, columns] = found
    return scores


def flag_columns(columns: NDArray[np.intp], n_genes: int) -> NDArray[np.bool_]:
    """Returns flags of shape (n_genes,) of the genes that are classes."""
    flags = np.zeros(n_genes, dtype=np.bool_)
    flags[columns] = True
    return flags
