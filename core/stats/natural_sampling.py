"""Scores at the base rate of the whole screen, for sampled negatives: each one represents the omitted pairs.

A dataset that keeps all effects and a few negatives of each gene has more effects than the screen. The weight of a negative row
of a gene is the gene's number of pairs without an effect (from the number of perturbations), divided by the number of its
sampled ones.
"""

from __future__ import annotations

import numpy as np

from core.stats.arrays import Codes, Floats, sum_by_group
from core.stats.comparison import Comparison, difference_of, paired_estimates
from core.stats.influence import Influence, influence_of
from core.stats.official_score import row_counts
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import Outcome, Scores, Task, shared_rows, tasks


def natural_weights(outcome: Outcome, pert: Codes, gene: Codes) -> Floats:
    """Return each row's weight, of shape (n_rows,): 1 for an effect, at least 1 for a row without one, 0 without a label.

    All pairs of a perturbation and a gene with a labelled row are held to be measured, and all effects to be kept.
    """
    known, n_genes = outcome.labelled, int(gene.max(initial=-1)) + 1
    n_perts = len(np.unique(pert[known]))
    effects = sum_by_group(gene[known & outcome.effect], n_genes)
    kept = sum_by_group(gene[known & ~outcome.effect], n_genes)
    each = np.divide(n_perts - effects, kept, out=np.ones(n_genes), where=kept > 0)
    weights: Floats = np.where(outcome.effect, 1.0, np.maximum(each, 1.0)[gene])
    return np.where(known, weights, 0.0)


def natural_rate(outcome: Outcome, weights: Floats) -> tuple[float, float]:
    """Return the share of effects among labelled rows, unweighted and weighted; NaN without labelled rows."""
    total = float(weights.sum())
    rate = float(outcome.effect[outcome.labelled].mean()) if outcome.labelled.any() else float("nan")
    return rate, float(weights[outcome.effect].sum()) / total if total else float("nan")


def compare_weighted(a: ScoredRows, b: Scores, weights: Floats) -> Comparison:
    """Return paired differences, b less the scores of `a`, as `comparison.compare`, with weighted rows without an effect.

    The weights count as known. DIR is about rows with an effect alone, whose weights are 1.
    """
    first, second = shared_rows(a.scores, b)
    both = [*tasks(a.outcome, first), *tasks(a.outcome, second)]
    influence = weighted_influence(both, weights, a.cells)
    de, direction, mean = (difference_of(*three) for three in paired_estimates(influence, a.pert, a.gene))
    return Comparison(*row_counts(a.outcome, len(a)), de, direction, mean)


def weighted_influence(of: list[Task], weights: Floats, cells: Codes | None) -> Influence:
    """Return the influence of rows on each weighted AUROC, from pairs inside cells; weights: of shape (n_rows,), at least 0.

    Of k tasks, shaped as `influence.influence_of` has it without strata.
    """
    plain = influence_of(of)
    values, parts = np.full_like(plain.values, np.nan), np.zeros_like(plain.parts)
    for k, task in enumerate(of):
        won, pairs, expected = _weighted_wins(task, weights, np.zeros(len(weights), dtype=np.intp) if cells is None else cells)
        mass = weights * task.rows
        total = float((mass * pairs)[task.positive].sum())
        if total > 0:
            values[k, 0] = float((mass * won)[task.positive].sum()) / total
            each = mass * (won - expected) / total
            parts[2 * k] = np.where(task.rows & task.positive, each, 0.0)
            parts[2 * k + 1] = np.where(task.rows & ~task.positive, each, 0.0)
    return Influence(values, plain.counts, parts, plain.members, plain.stratum)


def _weighted_wins(task: Task, weights: Floats, cells: Codes) -> tuple[Floats, Floats, Floats]:
    """Return, for each row, the weight of rows of the other class in its cell that are in the right order with it, ties half;
    of all of them; and what the cell's AUROC makes of these. All of shape (n_rows,).
    """
    won, pairs, expected = np.zeros((3, len(weights)))
    for cell in np.unique(cells[task.rows]):
        rows = np.flatnonzero(task.rows & (cells == cell))
        distinct, place = np.unique(task.values[rows], return_inverse=True)
        positive = task.positive[rows]
        mass = [sum_by_group(place, len(distinct), weights[rows] * side) for side in (~positive, positive)]
        below = np.cumsum(mass[0]) - mass[0] / 2  # of negatives, under each value
        above = mass[1].sum() - np.cumsum(mass[1]) + mass[1] / 2  # of positives, over it
        won[rows] = np.where(positive, below[place], above[place])
        pairs[rows] = np.where(positive, mass[0].sum(), mass[1].sum())
        total = mass[0].sum() * mass[1].sum()
        expected[rows] = pairs[rows] * (float(mass[1] @ below) / total if total else 0.0)
    return won, pairs, expected
