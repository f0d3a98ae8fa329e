"""The official score, and the score of a run with all its intervals at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes
from core.stats.cell_auroc import auroc_within_cells, influence_within_cells
from core.stats.delong import Estimate, estimates
from core.stats.scores_and_labels import (
    Outcome,
    ScoredRows,
    Scores,
    outcome_of,
    scored_rows,
    scores_from_submission,
    tasks,
)

DE, DIR, MEAN = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Metrics(Generic[T]):
    """A result for DE, for DIR and for their mean, and the numbers of rows behind it.

    n: rows; n_labelled: rows with a known label; n_de: rows with an effect.
    """

    n: int
    n_labelled: int
    n_de: int
    de: T
    dir: T
    mean: T

    @property
    def parts(self) -> dict[str, T]:
        """The results by their names on pages."""
        return {"DE": self.de, "DIR": self.dir, "mean": self.mean}


@dataclass(frozen=True, slots=True)
class Score(Metrics[float]):
    """The official score; de, dir and mean are NaN if one class is missing, as without labels."""


@dataclass(frozen=True, slots=True)
class ScoreIntervals(Metrics[Estimate]):
    """The score of one run with intervals by row, perturbation, gene and both axes.

    scored: which pairs of rows count, in words, such as "all rows" or "inside 5×5 cells, cut 0".
    """

    # again, with their type: what reads a kept score from JSON does not see through the generic one
    de: Estimate
    dir: Estimate
    mean: Estimate
    scored: str = "all rows"


def official_score(
    labels: ArrayLike,
    prediction_up: ArrayLike,
    prediction_down: ArrayLike,
    ids: Sequence[str] | None = None,
) -> Score:
    """Return (AUROC_DE + AUROC_DIR) / 2 of a submission; all of shape (n_rows,), labels None if
    unknown.

    The file's numbers are ranked as they are. Raise InputError, which names the rows (by `ids` if
    given), for a NaN, an infinity, a number outside [0, 1] or a sum above 1.
    """
    return point_score(labels, scores_from_submission(prediction_up, prediction_down, ids))


def point_score(labels: ArrayLike, scores: Scores, cells: Codes | None = None) -> Score:
    """Return the score without intervals: DE over labelled rows, DIR over rows labelled up or down
    that have a p_up.

    cells: codes of shape (n_rows,), only pairs of rows inside one cell count; None: all pairs.
    """
    outcome = outcome_of(labels)
    n = validate.same_length(labels=outcome.labelled, scores=scores)
    de, direction = point_values(outcome, scores, cells)
    return Score(*row_counts(outcome, n), de, direction, (de + direction) / 2)


def point_values(
    outcome: Outcome, scores: Scores, cells: Codes | None = None
) -> tuple[float, float]:
    """Return DE and DIR as in `point_score`, for an outcome that is known."""
    de, direction = tasks(outcome, scores)
    return auroc_within_cells(de, cells), auroc_within_cells(direction, cells)


def score_with_intervals(
    labels: ArrayLike, scores: Scores, pert: ArrayLike, gene: ArrayLike, cells: Codes | None = None
) -> ScoreIntervals:
    """Return DE, DIR and their mean, each with its intervals; labels, pert and gene: names or codes
    of shape (n_rows,).

    cells: codes of shape (n_rows,), only pairs of rows inside one cell count; None: all pairs.
    """
    return score_of_rows(scored_rows(labels, scores, pert, gene, cells))


def score_of_rows(rows: ScoredRows) -> ScoreIntervals:
    """Return the score of rows combined in one record."""
    influence = influence_within_cells(rows.tasks(), rows.cells)
    de, direction, mean = (
        estimate[0] for estimate in estimates(influence, rows.pert, rows.gene, [DE, DIR, MEAN])
    )
    return ScoreIntervals(*rows.counts(), de, direction, mean)


def row_counts(outcome: Outcome, n: int) -> tuple[int, int, int]:
    """Return the numbers of rows, of labelled rows and of rows with an effect."""
    return n, int(outcome.labelled.sum()), int(outcome.effect.sum())
