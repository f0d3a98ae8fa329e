"""Where the score comes from: the score of every slice of the rows, and its share of the whole's
loss.

The score of a slice uses pairs inside it. Its loss uses all pairs: a pair in the wrong order is
charged half to its positive and half to its negative row, a tie half as much, so that the losses of
all slices sum to 1 - AUROC of the whole. Its cost is its loss minus the average loss of as many
rows of the same classes: above 0 the slice lowers the score, below 0 it raises it; costs sum to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes, Floats, codes_or_one, sum_by_group
from core.stats.auroc import placements
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import Estimate, estimates
from core.stats.official_score import DE, DIR, MEAN, Metrics
from core.stats.scores_and_labels import Scores, Task, outcome_of, tasks


@dataclass(frozen=True, slots=True)
class SliceScore:
    """A slice's own score, and its loss and cost in the whole's score (see above; NaN if the whole
    has no score)."""

    score: Estimate
    loss: float
    cost: float


@dataclass(frozen=True, slots=True)
class Slice(Metrics[SliceScore]):
    """One slice in DE, DIR and their mean; its numbers of rows sum to the whole's over the
    slices."""

    name: str

    @property
    def json_value(self) -> dict[str, object]:
        """The slice as every command prints it."""
        scores = {name.lower(): part.score for name, part in self.parts.items()}
        counts = {"n": self.n, "n_labelled": self.n_labelled, "n_de": self.n_de}
        return {"name": self.name, **counts, **scores, "cost": self.mean.cost}


def by_slice(
    labels: ArrayLike,
    scores: Scores,
    slices: ArrayLike,
    pert: ArrayLike,
    gene: ArrayLike,
    cells: Codes | None = None,
) -> tuple[Slice, ...]:
    """Return every slice, in the order of their names; slices: each row's slice, a name or code.

    All arguments of shape (n_rows,). cells: codes, only pairs of rows inside one cell count; None:
    all pairs.
    """
    outcome = outcome_of(labels)
    names, stratum = validate.names_and_codes("slices", slices)
    perts, genes = validate.axes(pert, gene)
    validate.same_length(
        labels=outcome.labelled, scores=scores, slices=stratum, pert=perts, gene=genes
    )
    both = tasks(outcome, scores)
    intervals = estimates(
        influence_within_cells(both, cells, stratum, len(names)), perts, genes, [DE, DIR, MEAN]
    )
    charges = [_charges(task, stratum, len(names), cells) for task in both]
    charges.append((charges[0] + charges[1]) / 2)
    de, direction, mean = (
        [
            SliceScore(score, *map(float, charge))
            for score, charge in zip(scores_of_metric, charges_of_metric.T, strict=True)
        ]
        for scores_of_metric, charges_of_metric in zip(intervals, charges, strict=True)
    )
    n, n_labelled, n_de = (
        sum_by_group(stratum, len(names), flag) for flag in (None, outcome.labelled, outcome.effect)
    )
    return tuple(
        Slice(int(n[s]), int(n_labelled[s]), int(n_de[s]), de[s], direction[s], mean[s], str(name))
        for s, name in enumerate(names)
    )


def _charges(task: Task, stratum: Codes, n_slices: int, cells: Codes | None) -> Floats:
    """Return losses and costs of shape (2, n_slices)."""
    positive, where = task.positive[task.rows], stratum[task.rows]
    cell = codes_or_one(cells, len(task.rows))[task.rows]
    placed = placements(positive, task.values[task.rows], cell)
    pairs = placed.pairs.sum()
    if pairs == 0:
        return np.full((2, n_slices), np.nan)
    pairs_of_row = np.where(positive, placed.negatives[cell], placed.positives[cell])
    loss = (pairs_of_row - placed.won) / (2 * pairs)
    average_loss = pairs_of_row * loss.sum() / (2 * pairs)
    return np.stack(
        [sum_by_group(where, n_slices, charge) for charge in (loss, loss - average_loss)]
    )
