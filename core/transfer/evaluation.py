"""Score a kNN's priors beside a null. Base rates replace missing priors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats.arrays import Bools
from core.stats.official_score import ScoreIntervals, score_with_intervals
from core.stats.scores_and_labels import Scores, ranked_scores, submitted_parts
from core.transfer.knn import Priors
from core.transfer.labelled_rows import Rows
from core.transfer.protocols import KnnPrediction

NOTHING_KNOWN = 0.5  # the stand-in for a row that sees no labelled row, or none with a direction


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The score of a kNN under a protocol.

    coverage: share of rows with a prior; score: over all rows, with base rates in place of missing
    priors; covered: score over the rows with a prior; null: score of equal weights, over all rows.
    """

    coverage: float
    score: ScoreIntervals
    covered: ScoreIntervals
    null: ScoreIntervals


def evaluate(labels: ArrayLike, rows: Rows, predicted: KnnPrediction) -> Evaluation:
    """Return the score of the priors and of the null; labels of shape (n_rows,)."""
    priors, null, cells = predicted.priors, predicted.null, predicted.cells
    names, covered = np.asarray(labels, dtype=object), priors.covered

    def score(scores: Scores, chosen: Bools) -> ScoreIntervals:
        inside = None if cells is None else cells[chosen]
        return score_with_intervals(
            names[chosen], scores.take(chosen), rows.pert[chosen], rows.gene[chosen], inside
        )

    everyone, all_rows = np.ones(len(rows), dtype=np.bool_), scores_with_stand_ins(priors, null)
    return Evaluation(
        float(covered.mean()) if len(rows) else float("nan"),
        score(all_rows, everyone),
        score(without_stand_ins(all_rows, priors), covered),
        score(scores_with_stand_ins(null, null), everyone),
    )


def scores_with_stand_ins(priors: Priors, null: Priors) -> Scores:
    """Return the scores of all rows, computed from the submitted numbers as for a run."""
    filled = fill_with_base_rates(priors, null)
    return ranked_scores(*submitted_parts(filled.de, filled.up))


def without_stand_ins(scores: Scores, priors: Priors) -> Scores:
    """Return the scores with p_up missing in rows without a prior of up, for a score over the rows
    with a prior."""
    return Scores(scores.p_de, np.where(np.isnan(priors.up), np.nan, scores.p_up))


def fill_with_base_rates(priors: Priors, null: Priors) -> Priors:
    """Return priors with missing ones replaced by the base rates of the labelled rows that the row
    may see.

    null: the priors of equal weights, which are these base rates. If these are NaN too,
    NOTHING_KNOWN is used.
    """
    uncovered = ~priors.covered
    rate_de, rate_up = (
        np.where(np.isnan(rate), NOTHING_KNOWN, rate) for rate in (null.de, null.up)
    )
    de = np.where(uncovered, rate_de, priors.de)
    return Priors(de, np.where(uncovered | np.isnan(priors.up), rate_up, priors.up), priors.support)
