"""Scores that row counts cannot raise: without genes of a single row, and with negatives matched by the gene's row count.

How many rows a gene has reveals labels through the way rows were sampled (see `count_controls`). Among rows whose genes have
the same number of rows that number tells nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.official_score import ScoreIntervals, score_of_rows
from core.stats.scored_rows import ScoredRows, combine_codes


@dataclass(frozen=True, slots=True)
class CountMatched:
    """Two scores beside that of all rows.

    without_single: of the rows whose gene has several rows. matched: over pairs of rows whose genes have the same number of
    rows. single: number of labelled rows whose gene has no other row.
    """

    without_single: ScoreIntervals
    matched: ScoreIntervals
    single: int


def count_matched_scores(rows: ScoredRows, gene_rows: ArrayLike) -> CountMatched:
    """Both scores; gene_rows: number of rows of each row's gene, of shape (n_rows,), over the whole split if rows are a part."""
    counts = validate.numbers("gene_rows", gene_rows)
    validate.same_length(rows=rows, gene_rows=counts)
    single = counts <= 1
    by_count = validate.codes("gene_rows", counts.astype(np.intp))
    matched = ScoredRows(rows.outcome, rows.scores, rows.pert, rows.gene, combine_codes(rows.cells, by_count))
    return CountMatched(score_of_rows(rows.take(~single)), score_of_rows(matched), int((single & rows.outcome.labelled).sum()))
