"""Where the score comes from: every slice of the rows with its own score, and what it costs the whole.

The score of a slice uses pairs inside it. Its loss uses all pairs: a pair in the wrong order is charged half to its
positive and half to its negative row, a tie half as much, so that the losses of all slices sum to 1 - AUROC of the
whole. Its cost is its loss less what as many rows of the same classes lose on average: above 0 the slice drags the
score down, below 0 it carries it; costs sum to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes, Floats, sum_by_group
from core.stats.auroc import placements
from core.stats.delong import Estimate, estimates
from core.stats.influence import influence_of
from core.stats.official_score import DE, DIR, MEAN
from core.stats.scores_and_labels import Scores, Task, outcome_of, tasks


@dataclass(frozen=True, slots=True)
class SliceScore:
    """A slice's own score, and what it takes from the whole's (see above; NaN where the whole has no score)."""

    score: Estimate
    loss: float
    cost: float


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice; n, n_labelled and n_de as in `Score`, each summing to the whole's over the slices."""

    name: str
    n: int
    n_labelled: int
    n_de: int
    de: SliceScore
    dir: SliceScore
    mean: SliceScore


def by_slice(labels: ArrayLike, scores: Scores, slices: ArrayLike, pert: ArrayLike, gene: ArrayLike) -> tuple[Slice, ...]:
    """Every slice by its name's order; slices: each row's slice, a name or a code, of shape (n_rows,) as all others."""
    outcome = outcome_of(labels)
    names, stratum = validate.names_and_codes("slices", slices)
    perts, genes = validate.codes("pert", pert), validate.codes("gene", gene)
    validate.same_length(labels=outcome.labelled, scores=scores, slices=stratum, pert=perts, gene=genes)
    both = tasks(outcome, scores)
    found = estimates(influence_of(both, stratum, len(names)), perts, genes, [DE, DIR, MEAN])
    charges = [_charges(task, stratum, len(names)) for task in both]
    charges.append((charges[0] + charges[1]) / 2)
    de, direction, mean = (
        [SliceScore(score, *map(float, charge)) for score, charge in zip(scored, charged.T, strict=True)]
        for scored, charged in zip(found, charges, strict=True)
    )
    n, n_labelled, n_de = (sum_by_group(stratum, len(names), flag) for flag in (None, outcome.labelled, outcome.effect))
    return tuple(
        Slice(str(name), int(n[s]), int(n_labelled[s]), int(n_de[s]), de[s], direction[s], mean[s])
        for s, name in enumerate(names)
    )


def _charges(task: Task, stratum: Codes, n_slices: int) -> Floats:
    """Losses and costs of shape (2, n_slices)."""
    positive, where = task.positive[task.rows], stratum[task.rows]
    placed = placements(positive, task.values[task.rows])
    pairs = placed.pairs[0]
    if pairs == 0:
        return np.full((2, n_slices), np.nan)
    own = np.where(positive, placed.positives[0], placed.negatives[0])
    lost = (pairs / own - placed.won) / (2 * pairs)
    usual = (1 - placed.auroc[0]) / (2 * own)
    return np.stack([sum_by_group(where, n_slices, charge) for charge in (lost, lost - usual)])
