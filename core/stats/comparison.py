"""Is run b better than run a on the rows that both have?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.delong import Estimate, estimates
from core.stats.influence import influence_of
from core.stats.intervals import Interval, p_gt_0
from core.stats.official_score import DE, DIR, MEAN, row_counts
from core.stats.power import correlation, detectable_difference
from core.stats.scores_and_labels import Scores, outcome_of, shared_rows, tasks


@dataclass(frozen=True, slots=True)
class Difference:
    """b minus a in one metric, with paired intervals by row, perturbation, gene and both (`change`).

    p_gt_0: probability that b is better, by the two-way interval. correlation: of the two runs' estimates, likewise.
    detectable: the smallest true difference that such a pair of runs would show with 80% power on as many rows.
    """

    a: Estimate
    b: Estimate
    change: Estimate
    p_gt_0: float
    correlation: float
    detectable: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Run b against run a; n: rows; n_labelled: those with a label; n_de: those with an effect."""

    n: int
    n_labelled: int
    n_de: int
    de: Difference
    dir: Difference
    mean: Difference


def compare(labels: ArrayLike, a: Scores, b: Scores, pert: ArrayLike, gene: ArrayLike) -> Comparison:
    """Paired differences b - a in DE, DIR and mean; everything of shape (n_rows,), one row for each pair of both runs.

    DIR counts rows where both runs have a p_up. NaN throughout where there are no labels.
    """
    outcome = outcome_of(labels)
    perts, genes = validate.codes("pert", pert), validate.codes("gene", gene)
    n = validate.same_length(labels=outcome.labelled, a=a, b=b, pert=perts, gene=genes)
    first, second = shared_rows(a, b)
    influence = influence_of([*tasks(outcome, first), *tasks(outcome, second)])
    none = np.zeros(2)
    alone = [np.concatenate(sides) for metric in (DE, DIR, MEAN) for sides in ((metric, none), (none, metric))]
    change = [np.concatenate((-metric, metric)) for metric in (DE, DIR, MEAN)]
    scores = estimates(influence, perts, genes, alone)
    changes = estimates(influence, perts, genes, change, (-1.0, 1.0))
    differences = (_difference(scores[2 * k][0], scores[2 * k + 1][0], changes[k][0]) for k in range(3))
    return Comparison(*row_counts(outcome, n), *differences)


def _difference(a: Estimate, b: Estimate, change: Estimate) -> Difference:
    surest: Interval = change.two_way
    together = correlation(a.two_way.se, b.two_way.se, surest.se)
    return Difference(a, b, change, p_gt_0(surest), together, detectable_difference(surest.se))
