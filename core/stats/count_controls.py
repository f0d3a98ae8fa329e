"""Controls that know no biology: what row counts reveal about labels through the way rows were
sampled.

Negatives were matched to each gene's positives and then topped up with genes of their own, so
counts alone predict DE. The control's score is shown beside a model's and never used by a model; a
model that does not beat it on DE has shown no biology.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats, sum_by_group
from core.stats.delong import Estimate, two_way_delong
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import outcome_of

ROWS_PER_PERT = 9  # matched rows that the sampling aims at for each perturbation


@dataclass(frozen=True, slots=True)
class CountControls:
    """Scores of predicting labels from counts only.

    count_only_de: DE of `count_only`. count_only_de_without_singletons: the same over genes with
    several rows. rarer_up_dir: DIR of `rarer_gene`. singletons: rows whose gene occurs once;
    singletons_none: those labelled none.
    """

    count_only_de: Estimate
    count_only_de_without_singletons: Estimate
    rarer_up_dir: Estimate
    singletons: int
    singletons_none: int


def count_only(pert: ArrayLike, gene: ArrayLike) -> Floats:
    """Return a DE score from row counts: 0 if the gene occurs once, else 9 / max(1, n_pert -
    singletons_pert) · 2⌊c/2⌋/c.

    c: rows of the row's gene; n_pert: rows of its perturbation; singletons_pert: those of them
    whose gene occurs once. pert, gene: names or codes of shape (n_rows,); the counts are over
    exactly these rows.
    """
    perts, count = validate.codes("pert", pert), _gene_counts(gene)
    validate.same_length(pert=perts, gene=count)
    matched = sum_by_group(perts, perts.max(initial=-1) + 1, count > 1)
    parity = 2 * (count // 2) / count
    return np.where(count == 1, 0.0, ROWS_PER_PERT / np.maximum(1, matched)[perts] * parity)


def rarer_gene(gene: ArrayLike) -> Floats:
    """Return a direction score from row counts: -c, so that genes with fewer rows are predicted to
    go up."""
    return -_gene_counts(gene).astype(np.float64)


def score_count_controls(labels: ArrayLike, pert: ArrayLike, gene: ArrayLike) -> CountControls:
    """Return the scores of the count controls on labelled rows; labels, pert, gene: of shape
    (n_rows,)."""
    outcome = outcome_of(labels)
    perts, genes, count = np.asarray(pert), np.asarray(gene), _gene_counts(gene)
    validate.same_length(labels=outcome.labelled, pert=perts, gene=genes)
    de_score, up_score = round_for_ranks(count_only(perts, genes)), rarer_gene(genes)
    single = count == 1

    def auroc_of(rows: Bools, positive: Bools, score: Floats) -> Estimate:
        return two_way_delong(positive[rows], score[rows], perts[rows], genes[rows])

    return CountControls(
        auroc_of(outcome.labelled, outcome.effect, de_score),
        auroc_of(outcome.labelled & ~single, outcome.effect, de_score),
        auroc_of(outcome.directed, outcome.up, up_score),
        int(single.sum()),
        int((single & outcome.labelled & ~outcome.effect).sum()),
    )


def _gene_counts(gene: ArrayLike) -> Codes:
    """Return the number of rows of each row's gene, of shape (n_rows,)."""
    codes = validate.codes("gene", gene)
    return np.bincount(codes)[codes]
