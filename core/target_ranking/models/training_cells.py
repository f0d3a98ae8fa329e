"""The cells for fitting ranking models, and the cells for choosing among them.

Also ranking as classification, for models whose classes are the targets of training cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.target_ranking.controls import MatchedControls, match_controls
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.metrics import MRR, place_targets, score_rankings

MOST_VALIDATION_CELLS: Final = 1_000  # limited, so that choosing takes less time than fitting
SHARE_CHOSEN_ON: Final = 0.1  # share of the training cells
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedCells:
    """Perturbed cells with their controls.

    x: of shape (n_cells, n_genes). targets: flags of the perturbed genes, of the same shape; at least one in each row.
    """

    x: Expression
    controls: MatchedControls
    targets: Flags
    conditions: NDArray[np.str_]
    batches: NDArray[np.str_]

    @property
    def changes(self) -> Expression:
        """The expression minus the mean of the controls."""
        return self.x - self.controls.means()

    def take(self, rows: NDArray[np.intp]) -> PerturbedCells:
        """Return some of the cells."""
        controls = self.controls.take(rows)
        return PerturbedCells(self.x[rows], controls, self.targets[rows], self.conditions[rows], self.batches[rows])


def take_perturbed(cells: ExpressionSet, pool: ExpressionSet, rng: np.random.Generator, what: str) -> PerturbedCells:
    """Return the perturbed cells of a set, matched with control cells of `pool`.

    what: the use of the cells, such as "training". Raise InputError if there is no perturbed cell or no control.
    """
    perturbed = cells.take(~cells.is_control)
    if not len(perturbed.x):
        raise InputError(f"{what} cells: none is perturbed, expected at least one")
    names, of_cell = np.unique(perturbed.conditions, return_inverse=True)
    by_condition = np.zeros((len(names), len(cells.genes)), dtype=np.bool_)
    for row, name in enumerate(names):
        by_condition[row, list(cells.targets_of(str(name)))] = True
    controls = match_controls(perturbed, pool, rng)
    return PerturbedCells(perturbed.x, controls, by_condition[of_cell], perturbed.conditions, perturbed.batches)


def take_validation(validation: ExpressionSet, train: ExpressionSet, rng: np.random.Generator) -> PerturbedCells:
    """Return at most MOST_VALIDATION_CELLS random perturbed cells, matched with control cells of the training set."""
    perturbed = np.flatnonzero(~validation.is_control)
    chosen = np.sort(rng.permutation(perturbed)[:MOST_VALIDATION_CELLS])
    return take_perturbed(validation.take(chosen), train, rng, "validation")


def choice_cells(
    cells: PerturbedCells, held_out: PerturbedCells, rng: np.random.Generator
) -> tuple[PerturbedCells, PerturbedCells, tuple[str, ...]]:
    """Return the cells to fit and to choose on, for a model that ranks only targets of training cells.

    These are the training and the validation cells. If no validation cell has such a target, no choice would change its MRR;
    then a random tenth of the training cells replaces them, with a note. Raise InputError for fewer than two training cells in
    that case.
    """
    notes = notes_on_controls(cells)
    if (held_out.targets & cells.targets.any(axis=0)).any():
        return cells, held_out, notes
    if len(cells.x) < 2:
        raise InputError(
            f"training cells: {len(cells.x)} perturbed, expected at least 2, because no validation cell can be ranked"
        )
    order = rng.permutation(len(cells.x))
    n_chosen = max(1, round(SHARE_CHOSEN_ON * len(order)))
    instead = f"{n_chosen:,} random training cells were held out to choose on instead."
    note = f"No validation cell has a trained target; {instead}"
    return cells.take(np.sort(order[n_chosen:])), cells.take(np.sort(order[:n_chosen])), (*notes, note)


def mean_reciprocal_rank(scores: NDArray[np.floating], cells: PerturbedCells) -> float:
    """Return the mean over cells of 1 / the best rank of a target; scores of the shape of the targets."""
    targets: Sequence[tuple[int, ...]] = [tuple(map(int, np.flatnonzero(row))) for row in cells.targets]
    return score_rankings(place_targets(scores, targets), cells.conditions.tolist(), ks=(1,)).mean(MRR)


def notes_on_controls(cells: PerturbedCells) -> tuple[str, ...]:
    """Return a sentence on cells whose batch has no control cell; () if there are none."""
    n = cells.controls.n_unmatched
    text = (
        f"{n:,} of {len(cells.x):,} cells are from batches without control cells and were compared with controls of all batches."
    )
    return (text,) if n else ()


def average_conditions(cells: PerturbedCells) -> PerturbedCells:
    """Return the mean expression of the cells of each condition and batch, with the mean of their controls as control."""
    names = np.unique(np.stack([cells.conditions.astype(str), cells.batches.astype(str)], axis=1), axis=0)
    groups = [np.flatnonzero((cells.conditions == condition) & (cells.batches == batch)) for condition, batch in names]
    control_means = cells.controls.means()
    x, control = (np.stack([values[group].mean(axis=0) for group in groups]) for values in (cells.x, control_means))
    targets = np.stack([cells.targets[group[0]] for group in groups])
    rows = np.arange(len(groups), dtype=np.intp)[:, None]
    return PerturbedCells(x, MatchedControls(control, rows), targets, names[:, 0], names[:, 1])


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows of a classifier: a cell with several targets has one row for each, and its weight is divided among them.

    x: changes of expression, of shape (n_rows, n_genes). classes: positions in `columns`. weights: of shape (n_rows,). columns:
    the genes that are classes, ascending positions.
    """

    x: Expression
    classes: NDArray[np.intp]
    weights: NDArray[np.float64]
    columns: NDArray[np.intp]


def make_class_rows(cells: PerturbedCells) -> ClassRows:
    """Return the rows of training cells."""
    columns = np.flatnonzero(cells.targets.any(axis=0))
    row, column = np.nonzero(cells.targets[:, columns])
    return ClassRows(cells.changes[row], column, 1 / cells.targets.sum(axis=1)[row], columns)


def spread_scores(found: NDArray[np.floating], columns: NDArray[np.intp], n_genes: int) -> NDArray[np.float64]:
    """Return scores of shape (n_cells, n_genes) from the scores of classes; -inf for genes that are not a class."""
    scores = np.full((len(found), n_genes), -np.inf)
    scores[:, columns] = found
    return scores


def flag_columns(columns: NDArray[np.intp], n_genes: int) -> NDArray[np.bool_]:
    """Return flags of shape (n_genes,) of the genes that are classes."""
    flags = np.zeros(n_genes, dtype=np.bool_)
    flags[columns] = True
    return flags
