"""Whether the similarities of a gene space repeat the labels, as those of a space that was built from them do.

The cosine of two target genes' vectors is compared inside each perturbation: a row's contrast is its mean cosine to the
other rows of that perturbation that have the candidate label, minus its mean cosine to those that have not. The row
itself is left out, so equal vectors give every row a contrast of 0, and an AUROC of 0.5.

Where genes have rows in many perturbations, some respond to nearly all of them, and related genes do so alike: STRING
reaches DE 0.73 on PerturbQA without having seen a label. Such a gene is known by its other rows, so a leak has to show
among genes of about the same rate too, where STRING falls to 0.61 and a matrix of labels stays at 0.99.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats
from core.stats.cell_auroc import auroc_within_cells
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import Task, outcome_of

SUSPECT_DE, SUSPECT_DIR = 0.65, 0.80  # spaces that never saw labels reach about .57 and .56, label matrices .72 and .999
LEAST_EXCESS = 5.0  # standard deviations above permuted vectors
PERMUTATIONS = 20
RATE_GROUPS = 10
_PRODUCTS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class ProbedTask:
    """The AUROC of the contrasts within perturbations, and what it is compared with once it reaches the limit.

    value: NaN if no perturbation has contrasts of both classes. n: rows with a contrast. rate_matched: the same from
    pairs of rows whose genes have the label about as often in their other rows; NaN if the value is below the limit.
    null_mean, null_sd: of the value with permuted vectors; NaN if either is below the limit.
    """

    value: float
    n: int
    limit: float
    rate_matched: float = float("nan")
    null_mean: float = float("nan")
    null_sd: float = float("nan")

    @property
    def excess(self) -> float:
        """The value's distance from the mean of permuted vectors, in their standard deviations; NaN without any."""
        return (self.value - self.null_mean) / self.null_sd if self.null_sd > 0 else float("nan")

    @property
    def repeats_labels(self) -> bool:
        """Whether both values reach the limit, and the first lies `LEAST_EXCESS` standard deviations above the null."""
        return min(self.value, self.rate_matched) >= self.limit and self.excess >= LEAST_EXCESS


@dataclass(frozen=True, slots=True)
class SpaceProbe:
    """The probe of one space: de (an effect against none) and dir (up against down, over rows with a direction)."""

    de: ProbedTask
    dir: ProbedTask

    @property
    def repeats_labels(self) -> bool:
        return self.de.repeats_labels or self.dir.repeats_labels


def probe_space(labels: ArrayLike, pert: ArrayLike, vector: Codes, vectors: Floats, rng: np.random.Generator) -> SpaceProbe:
    """Probe a space on labelled rows.

    labels: up, down, none, de, or None if unknown; pert: names or codes; vector: the row of `vectors` that belongs to the
    row's target gene, -1 without one; all of shape (n_rows,). vectors: of shape (n_vectors, n_columns), of length 1. Rows
    without a vector do not count. The null permutes the vectors among the genes of the rows that do, `PERMUTATIONS` times.
    """
    outcome = outcome_of(labels)
    perts = validate.codes("pert", pert)
    validate.same_length(labels=outcome.labelled, pert=perts, vector=vector)

    def probe(rows: Bools, positive: Bools, limit: float) -> ProbedTask:
        counted = rows & (vector >= 0)
        used, codes = np.unique(vector[counted], return_inverse=True)
        return _probe_task(_Task(positive[counted], perts[counted], codes, vectors[used]), limit, rng)

    return SpaceProbe(probe(outcome.labelled, outcome.effect, SUSPECT_DE), probe(outcome.directed, outcome.up, SUSPECT_DIR))


def similarity_contrasts(positive: Bools, pert: Codes, vector: Codes, vectors: Floats) -> Floats:
    """Each row's mean cosine to the other positive rows of its perturbation minus that to its other negative rows.

    positive, pert, vector (row of `vectors`, which have length 1): of shape (n_rows,). NaN for a row whose perturbation
    has no other row of either class.
    """
    return _mean_cosine(positive, pert, vector, vectors) - _mean_cosine(~positive, pert, vector, vectors)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """The rows of one task, of shape (n_rows,); vector: codes of `vectors`, all of them used."""

    positive: Bools
    pert: Codes
    vector: Codes
    vectors: Floats

    def contrasts(self, vector: Codes) -> Floats:
        return similarity_contrasts(self.positive, self.pert, vector, self.vectors)

    def auroc(self, contrast: Floats, strata: Codes) -> float:
        known = ~np.isnan(contrast)
        return auroc_within_cells(Task(known, self.positive, round_for_ranks(contrast)), strata)


def _probe_task(task: _Task, limit: float, rng: np.random.Generator) -> ProbedTask:
    contrast = task.contrasts(task.vector)
    value, n_rows = task.auroc(contrast, task.pert), int((~np.isnan(contrast)).sum())
    if not value >= limit:
        return ProbedTask(value, n_rows, limit)
    rate = _rate_groups(task.positive, task.vector)
    rate_matched = task.auroc(contrast, task.pert * (rate.max() + 1) + rate)
    if not rate_matched >= limit:
        return ProbedTask(value, n_rows, limit, rate_matched)
    shuffled = (rng.permutation(len(task.vectors))[task.vector] for _ in range(PERMUTATIONS))
    null = np.array([task.auroc(task.contrasts(vector), task.pert) for vector in shuffled])
    return ProbedTask(value, n_rows, limit, rate_matched, float(null.mean()), float(null.std(ddof=1)))


def _rate_groups(positive: Bools, vector: Codes) -> Codes:
    """Each row's group by the share of positives in its gene's other rows; 0 for a gene without other rows.

    The groups hold about equally many positive rows, of which there are fewest where rates are low.
    """
    others = np.bincount(vector)[vector] - 1
    hits = np.bincount(vector, positive)[vector] - positive
    rate = np.divide(hits, others, out=np.full(len(vector), -1.0), where=others > 0)
    known = rate[positive & (others > 0)]
    edges = np.quantile(known, np.arange(1, RATE_GROUPS) / RATE_GROUPS) if len(known) else []
    return np.where(others > 0, 1 + np.searchsorted(edges, rate, side="right"), 0)


def _mean_cosine(members: Bools, pert: Codes, vector: Codes, vectors: Floats) -> Floats:
    """Each row's mean cosine to the other member rows of its perturbation; NaN if there are none.

    A sum of cosines with vectors of length 1 is the product with their sum, so one sum per perturbation serves its rows.
    """
    n_perts = int(pert.max(initial=-1)) + 1
    others = np.bincount(pert, members, n_perts)[pert] - members
    sums = csr_array((members.astype(np.float64), (pert, vector)), shape=(n_perts, len(vectors))) @ vectors
    total = np.empty(len(pert))
    step = max(1, _PRODUCTS_AT_ONCE // max(1, len(vectors)))
    for start in range(0, n_perts, step):
        rows = np.flatnonzero((pert >= start) & (pert < start + step))
        total[rows] = (sums[start : start + step] @ vectors.T)[pert[rows] - start, vector[rows]]
    mean: Floats = np.divide(total - members, others, out=np.full(len(pert), np.nan), where=others > 0)
    return mean
