"""Metrics of a ranking of genes against the perturbed ones: relevant hit, exact hit, recall and reciprocal rank.

T is the set of a row's targets, and a row is a cell or a condition. relevant_hit@k: any of T is in the top k; exact_hit@k: all
of T are; recall@k: the share of T that is; mrr: 1 / the best rank in T. Of equal scores every metric is the expectation over
their orders (`tie_expectations`), so the order of the columns decides nothing and a constant scores what chance does.
Source of the metrics: docs/target_ranking.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.stats import validate
from core.stats.clustered_mean import means_within
from core.stats.intervals import Interval
from core.stats.ranks import rank_from_top
from core.target_ranking.tie_expectations import (
    Tie,
    expected_exact_hit,
    expected_recall,
    expected_reciprocal_rank,
    expected_relevant_hit,
)

KS: Final = (1, 5, 10, 20, 40)
AT_K: Final = ("relevant_hit", "exact_hit", "recall")
MRR: Final = "mrr"
Unit = Literal["condition", "cell"]
METHOD: Final = "larger of the standard errors of rows clustered by condition and of single rows, Student's t"
UNITS: Final[tuple[Unit, ...]] = ("condition", "cell")

Floats = NDArray[np.float64]
Metric = tuple[str, int | None]  # a metric of AT_K with its k, or ("mrr", None)


@dataclass(frozen=True, slots=True, eq=False)
class RankingScores:
    """Metrics of every row, by metric and k, each of shape (n_rows,). clusters: the condition of each row."""

    rows: Mapping[Metric, Floats]
    clusters: Sequence[str]

    def mean(self, metric: str, k: int | None = None) -> float:
        """Returns the mean over rows."""
        return float(self.rows[metric, k].mean())

    def interval(self, metric: str, k: int | None = None) -> Interval:
        """Returns the mean over rows with its 95% interval, rows of one condition counted as dependent."""
        return clustered_interval(self.rows[metric, k], self.clusters)


Places = tuple[int, int] | None  # of a target: the first of the places that its score shares, and how many share it


def place_targets(
    scores: NDArray[Any], targets: Sequence[tuple[int, ...]], candidates: NDArray[np.bool_] | None = None
) -> list[list[Places]]:
    """Return the places, from 1 for the highest score, of each row's targets, in their order.

    scores: of shape (n_rows, n_genes); -inf for a gene that cannot be scored, all of which tie last. candidates: of the same
    shape, which genes are ranked; None for a target outside of them. Raises InputError for NaN or +inf, for a row without
    targets or with a target that is no column, and for shapes that differ.
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
    """Return the mean place of each target among those that tie with it, for people to read; inf where it is not ranked."""
    return np.array([np.inf if each is None else each[0] + (each[1] - 1) / 2 for each in places])


def _check(scores: Floats, targets: Sequence[tuple[int, ...]], candidates: NDArray[np.bool_] | None) -> None:
    if scores.ndim != 2 or len(scores) != len(targets):
        raise InputError(f"scores of shape {scores.shape} for {len(targets):,} rows of targets, expected (n_rows, n_genes)")
    if candidates is not None and candidates.shape != scores.shape:
        raise InputError(f"candidates of shape {candidates.shape}, expected that of the scores, {scores.shape}")
    bad = np.isnan(scores) | np.isposinf(scores)
    if bad.any():
        row, gene = np.argwhere(bad)[0]
        raise InputError(f"scores: row {row}, gene {gene}: got {scores[row, gene]}, expected a number or -inf")
    for row, own in enumerate(targets):
        if not own or len(set(own)) < len(own) or not all(0 <= target < scores.shape[1] for target in own):
            raise InputError(f"targets of row {row}: got {own}, expected distinct positions from 0 to {scores.shape[1] - 1}")


def score_rankings(places: Sequence[Sequence[Places]], clusters: Sequence[str], ks: Sequence[int] = KS) -> RankingScores:
    """Returns the metrics of every row.

    places: of each row's targets, as `place_targets` returns them. clusters: the condition of each row. Raises InputError without
    rows, and for a k below 1.
    """
    validate.same_length(places=places, clusters=clusters)
    if not places:
        raise InputError("rankings: got no rows, expected at least one")
    ks = [validate.whole_number("k", k, 1) for k in ks]
    found = [expected_metrics(ties_of(own), len(own), ks) for own in places]
    return RankingScores({name: np.array([row[name] for row in found]) for name in found[0]}, tuple(clusters))


def ties_of(places: Sequence[Places]) -> list[Tie]:
    """Return the ties that hold a row's targets."""
    return [Tie(*place, targets=n) for place, n in Counter(each for each in places if each is not None).items()]


def expected_metrics(ties: Sequence[Tie], n_targets: int, ks: Sequence[int]) -> dict[Metric, float]:
    """Return every metric of a row with n_targets, of which those that are ranked stand in these ties."""
    found: dict[Metric, float] = {(MRR, None): expected_reciprocal_rank(ties)}
    for k in ks:
        found |= {
            ("relevant_hit", k): float(expected_relevant_hit(ties, k)),
            ("exact_hit", k): float(expected_exact_hit(ties, k, n_targets)),
            ("recall", k): float(expected_recall(ties, k, n_targets)),
        }
    return found


def clustered_interval(values: Floats, clusters: Sequence[str], limits: tuple[float, float] = (0.0, 1.0)) -> Interval:
    """Returns the mean of values of shape (n_rows,) with its 95% interval, by Student's t over the clusters.

    NaN limits where they are not determined: a single cluster, or equal values, whose standard error of 0 says nothing.
    """
    n, nan = len(values), float("nan")
    of_cluster = validate.codes("clusters", list(clusters))
    # Rows as the second axis of clusters add nothing: every row is alone in its own.
    [found] = means_within(values, np.zeros(n, dtype=np.intp), of_cluster, np.arange(n, dtype=np.intp), limits)
    if of_cluster.max() == 0 or np.ptp(values) == 0:
        return replace(found.row, low=nan, high=nan, se=nan, unit="pert", method="none: a single condition, or equal values")
    return replace(found.shown, unit="pert", method=METHOD)
