"""The rows of a run as input of statistics: labels, scores, and shared units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Bools, Codes, count_codes
from core.stats.scores_and_labels import Outcome, Scores, Task, outcome_of, tasks


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows with their outcome and scores, the codes of both axes and, if only pairs inside them
    count, those of cells.

    All of shape (n_rows,); cells is None if all pairs of rows count.
    """

    outcome: Outcome
    scores: Scores
    pert: Codes
    gene: Codes
    cells: Codes | None = None

    def __len__(self) -> int:
        return len(self.pert)

    def take(self, rows: Bools) -> ScoredRows:
        """Return the chosen rows."""
        cells = None if self.cells is None else self.cells[rows]
        return ScoredRows(
            self.outcome.take(rows), self.scores.take(rows), self.pert[rows], self.gene[rows], cells
        )

    def tasks(self) -> tuple[Task, Task]:
        """Return the two ranking tasks, DE and DIR."""
        return tasks(self.outcome, self.scores)

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of rows, of labelled rows and of rows with an effect."""
        return len(self), int(self.outcome.labelled.sum()), int(self.outcome.effect.sum())


def scored_rows(
    labels: ArrayLike,
    scores: Scores,
    pert: ArrayLike,
    gene: ArrayLike,
    cells: ArrayLike | None = None,
) -> ScoredRows:
    """Return rows from arrays of shape (n_rows,); pert, gene, cells: names or codes. Raise
    InputError if lengths differ."""
    outcome = outcome_of(labels)
    perts, genes = validate.axes(pert, gene)
    inside = (
        np.zeros(len(perts), dtype=np.intp) if cells is None else validate.codes("cells", cells)
    )
    validate.same_length(
        labels=outcome.labelled, scores=scores, pert=perts, gene=genes, cells=inside
    )
    return ScoredRows(outcome, scores, perts, genes, None if cells is None else inside)


def combine_codes(*codes: Codes | None) -> Codes | None:
    """Return codes of which two rows are equal if they are equal in each of `codes`; None of these
    are ignored."""
    given = [each for each in codes if each is not None]
    if not given:
        return None
    combined = given[0]
    for each in given[1:]:
        combined = combined * count_codes(each) + each
        combined = np.unique(combined, return_inverse=True)[1].astype(np.intp, copy=False)
    return combined
