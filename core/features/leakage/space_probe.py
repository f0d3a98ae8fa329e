"""Whether vectors know which rows of a gene (or a perturbation) have an effect, better than spaces
do that saw no labels.

A unit is what has a vector, a target gene or a perturbation; a group is the rows that share the
other axis. Inside a group each row is scored from the vectors and the labels of the group's other
rows, by two kinds of score:

- similarity: the mean cosine to the group's other rows that have the candidate label, minus that to
  those that have not; of the vectors as they are, of standardised columns, and of their cubes,
  which bring out few large values among much noise.
- column: the column that fits the group's other rows best. A matrix of labels has one for each
  group.

The scores are compared inside groups, and inside units: which of a gene's perturbations moved it.
What is only known of a unit as a whole, its rate, says nothing inside the unit (`share_probe`
judges rates), and a group's own rate says nothing in either. A score must reach its limit in both,
and be above permuted vectors in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from core.features.leakage.unit_rows import UnitRows, standardise
from core.stats.arrays import Bools, Codes, Floats, divide
from core.stats.cell_auroc import auroc_within_cells
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import Task

Question = Literal["DE", "DIR"]
ScoreKind = Literal["similarity", "column"]
# Spaces that saw no label reach .72 and .79 by similarity, .63 and .68 by a column (text and STRING
# on K562 and HepG2), the labels of another line .71 and .84; what is true of simulated genes .75
# (DE). Matrices of labels reach .84 to 1.
LIMITS: dict[tuple[Question, ScoreKind], float] = {
    ("DE", "similarity"): 0.78,
    ("DIR", "similarity"): 0.85,
    ("DE", "column"): 0.68,
    ("DIR", "column"): 0.75,
}
LEAST_EXCESS = 5.0  # standard deviations above permuted vectors
PERMUTATIONS = 10
LEAST_ROWS, LEAST_GROUP = 60, 8  # rows with a score; rows of a group whose columns are compared
MOST_ROWS, MOST_VALUES = 10_000, 4_000_000  # drawn group by group from more; values: rows × columns
_PRODUCTS_AT_ONCE = 1 << 22
_LARGEST = 6.0  # standard deviations that a cubed value counts at most


@dataclass(frozen=True, slots=True)
class ProbedScore:
    """One kind of score: its AUROC inside groups and inside units (NaN without a pair), and how
    many rows have one.

    excess: the smaller distance of the two from permuted vectors, in their standard deviations; NaN
    if either is below the limit.
    """

    kind: ScoreKind
    in_groups: float
    in_units: float
    n: int
    limit: float
    excess: float = float("nan")
    json_properties = ("value",)

    @property
    def value(self) -> float:
        """The smaller AUROC, which is compared with the limit; NaN if either is NaN."""
        return float(np.minimum(self.in_groups, self.in_units))

    @property
    def reaches_limit(self) -> bool:
        """Whether there are enough rows and both AUROCs reach the limit."""
        return self.n >= LEAST_ROWS and self.value >= self.limit

    @property
    def has_seen_labels(self) -> bool:
        """Whether the vectors know these labels."""
        return self.reaches_limit and self.excess >= LEAST_EXCESS


@dataclass(frozen=True, slots=True)
class WithinProbe:
    """Both kinds of score on the rows of one task. cosine: AUROC inside groups of the plain
    similarity; n: its rows."""

    cosine: float = float("nan")
    n: int = 0
    scores: tuple[ProbedScore, ...] = field(default_factory=tuple)

    @property
    def has_seen_labels(self) -> bool:
        """Whether either kind of probe finds that the vectors contain information from these
        labels."""
        return any(score.has_seen_labels for score in self.scores)


def probe_within(
    question: Question,
    rows: UnitRows,
    vectors: Floats,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> WithinProbe:
    """Probe the vectors of one axis on the rows of one task, whose other axis gives the groups.

    vectors: of shape (n_units, n_columns), NaN if there is none. permutations: of the vectors; 0
    for the values alone.
    """
    covered = rows.take(~np.isnan(vectors[:, 0])[rows.unit])
    if not len(covered):
        return WithinProbe()
    some = covered.some_of_other(MOST_ROWS, rng)
    values = vectors[np.unique(some.unit)].astype(np.float64)
    some, columns = some.renumber(), standardise(values)
    similar = [
        _Similarity(_of_length_1(found))
        for found in (values, columns, np.clip(columns, -_LARGEST, _LARGEST) ** 3)
    ]
    found = [_score_rows(some, scorer) for scorer in similar]
    best = max(range(len(similar)), key=lambda k: np.nan_to_num(min(found[k][:2])))
    fewer, by_column = (
        some.some_of_other(max(1, MOST_VALUES // max(1, columns.shape[1])), rng),
        _Columns(columns),
    )
    results = [
        ProbedScore("similarity", *found[best], LIMITS[question, "similarity"]),
        ProbedScore("column", *_score_rows(fewer, by_column), LIMITS[question, "column"]),
    ]
    scorers: list[tuple[UnitRows, _Scorer]] = [(some, similar[best]), (fewer, by_column)]
    for k, result in enumerate(results):
        if result.reaches_limit and permutations:
            null = [
                _score_rows(scorers[k][0], scorers[k][1], rng.permutation(len(values)))
                for _ in range(permutations)
            ]
            results[k] = replace(result, excess=_excess(result, np.array(null)[:, :2]))
    return WithinProbe(found[0][0], found[0][2], tuple(results))


def similarity_contrasts(positive: Bools, group: Codes, vector: Codes, vectors: Floats) -> Floats:
    """Return each row's mean cosine to the other positive rows of its group minus that to its other
    negative rows.

    positive, group, vector (row of `vectors`, which have length 1): of shape (n_rows,). NaN for a
    row whose group has no other row of either class.
    """
    return _mean_cosine(positive, group, vector, vectors) - _mean_cosine(
        ~positive, group, vector, vectors
    )


def column_scores(positive: Bools, group: Codes, vector: Codes, columns: Floats) -> Floats:
    """Return each row's value in the column that correlates most with the labels of its group's
    other rows, in their direction.

    The values are standardised by these rows, and have mean 0 in each group. NaN in groups of fewer
    than `LEAST_GROUP` rows, or with fewer than two of either class.
    """
    scores = np.full(len(positive), np.nan)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        hits = int(positive[rows].sum())
        if columns.shape[1] and len(rows) >= LEAST_GROUP and 2 <= hits <= len(rows) - 2:
            # Leave-one-out scores by the best column
            label = positive[rows].astype(np.float64)
            values = columns[vector[rows]]
            others = len(label) - 1
            values, label = values - values.mean(axis=0), label - label.mean()
            # of the other rows, around their own mean
            squares = (values**2).sum(axis=0) - values**2 - values**2 / others
            products = label @ values - values * label[:, None] * (1 + 1 / others)
            label_squares = (label**2).sum() - label**2 * (1 + 1 / others)
            scale = np.sqrt(np.maximum(squares, 0.0) * label_squares[:, None])
            correlation = np.divide(
                products, scale, out=np.zeros_like(products), where=scale > 1e-9
            )
            best, each = np.abs(correlation).argmax(axis=1), np.arange(len(label))
            spread = np.sqrt(np.maximum(squares[each, best] / others, 1e-9))
            of_rows = (
                np.sign(correlation[each, best]) * values[each, best] * (1 + 1 / others) / spread
            )
            scores[rows] = of_rows - of_rows.mean()
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class _Similarity:
    vectors: Floats

    def __call__(self, rows: UnitRows, unit: Codes) -> Floats:
        return similarity_contrasts(rows.positive, rows.other, unit, self.vectors)


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    columns: Floats

    def __call__(self, rows: UnitRows, unit: Codes) -> Floats:
        return column_scores(rows.positive, rows.other, unit, self.columns)


_Scorer = Callable[[UnitRows, Codes], Floats]


def _score_rows(
    rows: UnitRows, scorer: _Scorer, order: Codes | None = None
) -> tuple[float, float, int]:
    """Return AUROC inside groups, inside units, and the number of rows with a score; order: of the
    vectors, None as they are."""
    scores = scorer(rows, rows.unit if order is None else order[rows.unit])
    task = Task(~np.isnan(scores), rows.positive, round_for_ranks(scores))
    return (
        auroc_within_cells(task, rows.other),
        auroc_within_cells(task, rows.unit),
        int(task.rows.sum()),
    )


def _excess(result: ProbedScore, null: Floats) -> float:
    """Return the smaller distance from permuted vectors, whose AUROCs are of shape (n_permutations,
    2)."""
    above = (np.array([result.in_groups, result.in_units]) - null.mean(axis=0)) / np.maximum(
        null.std(axis=0, ddof=1), 1e-9
    )
    return float(above.min())


def _of_length_1(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0))


def _mean_cosine(members: Bools, group: Codes, vector: Codes, vectors: Floats) -> Floats:
    """Return each row's mean cosine to the other member rows of its group; NaN if there are none.

    A sum of cosines with vectors of length 1 is the product with their sum, so one sum per group
    serves its rows. A vector of length 0 has no cosine with itself to leave out.
    """
    n_groups = int(group.max(initial=-1)) + 1
    others = np.bincount(group, members, n_groups)[group] - members
    sums = (
        csr_array((members.astype(np.float64), (group, vector)), shape=(n_groups, len(vectors)))
        @ vectors
    )
    own = (vectors**2).sum(axis=1)[vector]
    total = np.empty(len(group))
    step = max(1, _PRODUCTS_AT_ONCE // max(1, len(vectors)))
    for start in range(0, n_groups, step):
        rows = np.flatnonzero((group >= start) & (group < start + step))
        total[rows] = (sums[start : start + step] @ vectors.T)[group[rows] - start, vector[rows]]
    return divide(total - members * own, others)
