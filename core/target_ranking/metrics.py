"""Metrics of a ranking of genes against the perturbed ones: relevant hit, exact hit, recall and reciprocal rank.

T is the set of a row's targets, and a row is a cell or a condition. relevant_hit@k: some of T is in the top k; exact_hit@k: all
of T is in the top k; recall@k: the share of T in the top k; mrr: 1 / the best rank in T. For equal scores, every metric is the
expectation over their orders (`tie_expectations`). So the order of the columns has no effect, and a constant scores the same as
chance. Source of the metrics: docs/target_ranking.md.

Metrics are expectations over all orders of tied genes.

A tie is a run of ranks that its genes fill in random order; different ties are independent. If m of t tied genes are targets
and the first c ranks of the tie count, all targets are missed with probability C(t - c, m) / C(t, m) (hypergeometric).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.stats import validate
from core.stats.clustered_mean import means_within
from core.stats.intervals import Interval
from core.stats.ranks import rank_from_top


@dataclass(frozen=True, slots=True)
class Tie:
    """Genes with the same score. first: the first of their ranks, from 1; tied: number of genes; targets: number of targets
    among them, above 0.
    """

    first: int
    tied: int
    targets: int

    def inside(self, k: int) -> int:
        """Return the number of ranks of this tie among the first k."""
        return min(max(k - self.first + 1, 0), self.tied)


KS: Final = (1, 5, 10, 20, 40)
AT_K: Final = ("relevant_hit", "exact_hit", "recall")
MRR: Final = "mrr"
Unit = Literal["condition", "cell"]
METHOD: Final = "larger of the standard errors of rows clustered by condition and of single rows, Student's t"
UNITS: Final[tuple[Unit, ...]] = ("condition", "cell")
Floats = NDArray[np.float64]
Metric = tuple[str, int | None]  # a metric in AT_K with its k, or ("mrr", None)


@dataclass(frozen=True, slots=True, eq=False)
class RankingScores:
    """Metrics of every row, by metric and k, each of shape (n_rows,). clusters: the condition of each row."""

    rows: Mapping[Metric, Floats]
    clusters: Sequence[str]

    def mean(self, metric: str, k: int | None = None) -> float:
        """Return the mean over rows."""
        return float(self.rows[metric, k].mean())

    def interval(self, metric: str, k: int | None = None) -> Interval:
        """Return the mean over rows with its 95% interval; rows of one condition are treated as dependent."""
        return clustered_interval(self.rows[metric, k], self.clusters)


Places = tuple[int, int] | None  # of a target: the first rank of its tie, and the number of tied genes


def place_targets(
    scores: NDArray[Any], targets: Sequence[tuple[int, ...]], candidates: NDArray[np.bool_] | None = None
) -> list[list[Places]]:
    """Return the ranks (1 for the highest score) of each row's targets, in their order.

    scores: of shape (n_rows, n_genes); -inf for a gene that cannot be scored; such genes tie last. candidates: flags of the
    ranked genes, of the same shape; a target outside them has None. Raise InputError for NaN or +inf, for a row without targets
    or with a target that is not a column, and for different shapes.
    """
    numbers = np.asarray(scores, dtype=np.float64)
    _check(numbers, targets, candidates)
    return [
        _places_of(row, own, None if candidates is None else candidates[at])
        for at, (row, own) in enumerate(zip(numbers, targets, strict=True))
    ]


def _places_of(row: Floats, targets: tuple[int, ...], among: NDArray[np.bool_] | None) -> list[Places]:
    ranked = row if among is None else row[among]
    return [rank_from_top(ranked, row[target]) if among is None or among[target] else None for target in targets]


def mid_ranks(places: Sequence[Places]) -> Floats:
    """Return the mid-rank of each target, for people to read; inf if it is not ranked."""
    return np.array([np.inf if each is None else each[0] + (each[1] - 1) / 2 for each in places])


def _check(scores: Floats, targets: Sequence[tuple[int, ...]], candidates: NDArray[np.bool_] | None) -> None:
    if scores.ndim != 2 or len(scores) != len(targets):
        raise InputError(f"scores of shape {scores.shape} for {len(targets):,} rows of targets, expected (n_rows, n_genes)")
    if candidates is not None and candidates.shape != scores.shape:
        raise InputError(f"candidates of shape {candidates.shape}, expected the shape of the scores, {scores.shape}")
    bad = np.isnan(scores) | np.isposinf(scores)
    if bad.any():
        row, gene = np.argwhere(bad)[0]
        raise InputError(f"scores: row {row}, gene {gene}: got {scores[row, gene]}, expected a number or -inf")
    for row, own in enumerate(targets):
        if not own or len(set(own)) < len(own) or not all(0 <= target < scores.shape[1] for target in own):
            raise InputError(f"targets of row {row}: got {own}, expected distinct positions from 0 to {scores.shape[1] - 1}")


def score_rankings(places: Sequence[Sequence[Places]], clusters: Sequence[str], ks: Sequence[int] = KS) -> RankingScores:
    """Return the metrics of every row.

    places: of each row's targets, from `place_targets`. clusters: the condition of each row. Raise InputError without rows, and
    for k below 1.
    """
    validate.same_length(places=places, clusters=clusters)
    if not places:
        raise InputError("rankings: got no rows, expected at least one")
    ks = [validate.whole_number("k", k, 1) for k in ks]
    found = [expected_metrics(ties_of(own), len(own), ks) for own in places]
    return RankingScores({name: np.array([row[name] for row in found]) for name in found[0]}, tuple(clusters))


def ties_of(places: Sequence[Places]) -> list[Tie]:
    """Return the ties with a row's targets."""
    return [Tie(*place, targets=n) for place, n in Counter(each for each in places if each is not None).items()]


def expected_metrics(ties: Sequence[Tie], n_targets: int, ks: Sequence[int]) -> dict[Metric, float]:
    """Return every metric of a row with n_targets; its ranked targets are in these ties."""
    found: dict[Metric, float] = {(MRR, None): expected_reciprocal_rank(ties)}
    for k in ks:
        found |= {
            ("relevant_hit", k): float(expected_relevant_hit(ties, k)),
            ("exact_hit", k): float(expected_exact_hit(ties, k, n_targets)),
            ("recall", k): float(expected_recall(ties, k, n_targets)),
        }
    return found


def clustered_interval(values: Floats, clusters: Sequence[str], limits: tuple[float, float] = (0.0, 1.0)) -> Interval:
    """Return the mean of values of shape (n_rows,) with its 95% interval, by Student's t over the clusters.

    The limits are NaN if undetermined: for a single cluster, or for equal values, because their standard error of 0 is
    meaningless.
    """
    n, nan = len(values), float("nan")
    of_cluster = validate.codes("clusters", list(clusters))
    # Rows as the second axis of clusters add nothing: every row is a cluster of its own.
    [found] = means_within(values, np.zeros(n, dtype=np.intp), of_cluster, np.arange(n, dtype=np.intp), limits)
    if of_cluster.max() == 0 or np.ptp(values) == 0:
        return replace(found.row, low=nan, high=nan, se=nan, unit="pert", method="none: a single condition, or equal values")
    return replace(found.shown, unit="pert", method=METHOD)


def expected_relevant_hit(ties: Sequence[Tie], k: int) -> Fraction:
    """Return the probability that at least one target is among the first k."""
    return 1 - prod((_none_of(tie.tied - tie.inside(k), tie.tied, tie.targets) for tie in ties), start=Fraction(1))


def expected_exact_hit(ties: Sequence[Tie], k: int, n_targets: int) -> Fraction:
    """Return the probability that all of n_targets are among the first k; 0 if some are not ranked."""
    if sum(tie.targets for tie in ties) < n_targets:
        return Fraction(0)
    return prod((_none_of(tie.inside(k), tie.tied, tie.targets) for tie in ties), start=Fraction(1))


def expected_recall(ties: Sequence[Tie], k: int, n_targets: int) -> Fraction:
    """Return the expected share of n_targets among the first k."""
    return sum((Fraction(tie.targets * tie.inside(k), tie.tied) for tie in ties), start=Fraction(0)) / n_targets


def expected_reciprocal_rank(ties: Sequence[Tie]) -> float:
    """Return the expected 1 / rank of the first target; 0 if none is ranked."""
    best = min(ties, key=lambda tie: tie.first, default=None)
    return 0.0 if best is None else _reciprocal(best.first, best.tied, best.targets)


@lru_cache(maxsize=65_536)
def _none_of(places: int, tied: int, targets: int) -> Fraction:
    """Return the probability that all targets fall on `places` of the tied ranks."""
    return prod((Fraction(max(places - i, 0), tied - i) for i in range(targets)), start=Fraction(1))


@lru_cache(maxsize=65_536)
def _reciprocal(first: int, tied: int, targets: int) -> float:
    """Return the expected 1 / rank of the first target in a tie. Of t ranks, the r-th is the first of m targets with
    probability C(t - r, m - 1) / C(t, m).
    """
    if tied == 1:
        return 1 / first
    before = np.arange(tied - targets)  # number of skipped ranks, each with the share of the rest that is not a target
    passed = np.concatenate(([1.0], np.cumprod((tied - targets - before) / (tied - before))))
    places = np.arange(len(passed))
    return float((passed * targets / (tied - places) / (first + places)).sum())
