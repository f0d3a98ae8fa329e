"""Metrics of a ranking of genes against the perturbed ones: relevant hit, exact hit, recall and
reciprocal rank.

T is the set of a row's targets, and a row is a cell or a condition. relevant_hit@k: some of T is in
the top k; exact_hit@k: all of T is in the top k; recall@k: the share of T in the top k; mrr: 1 /
the best rank in T. Source: docs/target_ranking.md.

Every metric is the expectation over all orders of tied genes, so the order of the columns has no
effect, and a constant scores the same as chance. A tie is a run of ranks that its genes fill in
random order; different ties are independent. If m of t tied genes are targets and the first c ranks
of the tie count, all targets are missed with probability C(t - c, m) / C(t, m) (hypergeometric).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from core.base.errors import InputError
from core.features.targets.expression import PerturbedCells, targets_in
from core.features.targets.splits import Split
from core.stats import validate
from core.stats.clustered_mean import means_within
from core.stats.intervals import Interval
from core.stats.ranks import rank_from_top

KS: Final = (1, 5, 10, 20, 40)
MRR: Final = "mrr"
# their names
CEILINGS: Final = {"relevant_hit": "relevant", "recall": "recall", "exact_hit": "exact"}
Unit = Literal["condition", "cell"]
Floats = NDArray[np.float64]
Pools = Mapping[str, frozenset[str]]  # the candidates of each condition
Metric = tuple[str, int | None]  # relevant_hit, exact_hit or recall with its k, or ("mrr", None)
Place = tuple[int, int] | None  # of a target: the first rank of its tie, and how many genes tie


class Tie(NamedTuple):
    """Genes with the same score. first: the first of their ranks, from 1; tied: number of genes;
    targets: number of targets among them, above 0.
    """

    first: int
    tied: int
    targets: int


def spread_scores(
    scores: NDArray[Any], columns: NDArray[np.intp], shape: tuple[int, ...]
) -> Floats:
    """Return scores of some genes as scores of all, of this shape; -inf for the others.

    scores: of the genes at `columns`, of shape (n_rows, n_columns). Raise InputError for NaN and
    +inf.
    """
    bad = np.isnan(scores) | np.isposinf(scores)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"scores: row {row}, gene {columns[column]}: got {scores[row, column]}, expected a"
            " number or -inf"
        )
    spread = np.full(shape, -np.inf)
    spread[:, columns] = scores
    return spread


def place_targets(scores: NDArray[Any], targets: Sequence[Sequence[int]]) -> list[list[Place]]:
    """Return the ranks (1 for the highest score) of each row's targets, in their order.

    scores: of shape (n_rows, n_genes); -inf for a gene that cannot be scored; such genes tie last.
    NaN for a gene that is not ranked; a target without a score has None.
    """
    return [
        [None if np.isnan(row[target]) else rank_from_top(row, row[target]) for target in columns]
        for row, columns in zip(scores, targets, strict=True)
    ]


def score_rankings(
    places: Sequence[Sequence[Place]], ks: Sequence[int] = KS
) -> dict[Metric, Floats]:
    """Return the metrics of every row, each of shape (n_rows,).

    places: of each row's targets, from `place_targets`.
    """
    rows = []
    for row in places:
        counts = Counter(place for place in row if place is not None)
        ties = [Tie(*place, targets=n) for place, n in counts.items()]
        rows.append(expected_metrics(ties, len(row), ks))
    return _as_arrays(rows)


def mean_reciprocal_rank(
    scores: NDArray[Any], columns: NDArray[np.intp], cells: PerturbedCells
) -> float:
    """Return the mean over cells of 1 / the best rank of a target.

    scores: of the genes at `columns`, as of `spread_scores`.
    """
    places = place_targets(spread_scores(scores, columns, cells.x.shape), cells.target_columns)
    return float(score_rankings(places, ks=())[MRR, None].mean())


def best_levels(
    conditions: Sequence[str],
    scored: frozenset[str],
    pools: Pools | None,
    n_genes: int | None,
    ks: Sequence[int] = KS,
) -> dict[Metric, Floats]:
    """Return the expected metrics of each row by the best model that scores only some genes; the
    others tie behind them. Without any scored gene all tie, as in a random order.

    conditions: of each row. pools: the candidates of each condition, None if all n_genes are
    ranked. n_genes: None if unknown, then only the scored genes are ranked without pools.
    """
    levels = {}
    for condition in set(conditions):
        targets, pool = targets_in(condition), None if pools is None else pools[condition]
        ranked = [gene for gene in targets if pool is None or gene in pool]
        n_first = sum(gene in scored for gene in ranked)
        n_scored = len(scored if pool is None else scored & pool)
        n_ranked = n_genes if pool is None else len(pool)
        ties = [Tie(position + 1, 1, 1) for position in range(n_first)]
        if n_ranked is not None and len(ranked) > n_first and n_ranked > n_scored:
            ties.append(Tie(n_scored + 1, n_ranked - n_scored, len(ranked) - n_first))
        levels[condition] = expected_metrics(ties, len(targets), ks)
    return _as_arrays([levels[condition] for condition in conditions])


def ceilings_of(
    split: Split, pools: Pools | None = None, n_genes: int | None = None
) -> dict[str, dict[str, str]]:
    """Return metric → k → ceiling as a fraction of the test conditions, such as "10.5/38", for each
    of KS and every smaller k at which the ceiling changes.

    For a test condition with targets T, let S be the trained ones (in the condition's pool, if
    there are candidates). Relevant hit and MRR are 1 if S is not empty; recall is min(|S|, k) /
    |T|; exact hit is 1 if S = T and |T| ≤ k. n_genes: number of genes ranked without candidates,
    None if unknown. Genes without a score tie behind the trained ones; if k reaches them, as in a
    small pool, they add chance hits.
    """
    most = max(len(targets_in(condition)) for condition in split.test)
    ks = sorted({*KS, *range(1, most + 1)})
    best = best_levels(split.test, split.trained_genes, pools, n_genes, ks)
    steps: dict[str, dict[str, str]] = {}
    for metric, name in CEILINGS.items():
        steps[name], before = {}, None
        for k in ks:
            total = best[metric, k].sum()
            if total != before:
                decimal = f"{total:.3f}".rstrip("0").rstrip(".")
                steps[name][str(k)] = f"{decimal}/{len(split.test)}"
            before = total
    return steps


def _as_arrays(rows: Sequence[Mapping[Metric, Fraction]]) -> dict[Metric, Floats]:
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def expected_metrics(
    ties: Sequence[Tie], n_targets: int, ks: Sequence[int]
) -> dict[Metric, Fraction]:
    """Return every metric of a row with n_targets; its ranked targets are in these ties.

    Relevant hit is the probability that some target is among the first k; exact hit, that all are,
    0 if some are not ranked; recall, the expected share.
    """
    mrr = _reciprocal(min(ties)) if ties else 0.0
    metrics: dict[Metric, Fraction] = {(MRR, None): Fraction(mrr)}
    all_ranked = sum(tie.targets for tie in ties) == n_targets
    for k in ks:
        inside = [(tie, min(max(k - tie.first + 1, 0), tie.tied)) for tie in ties]
        missed = math.prod((_all_on(tie.tied - n, tie) for tie, n in inside), start=Fraction(1))
        metrics["relevant_hit", k] = 1 - missed
        metrics["exact_hit", k] = math.prod(
            (_all_on(n, tie) for tie, n in inside), start=Fraction(all_ranked)
        )
        shares = (Fraction(tie.targets * n, tie.tied) for tie, n in inside)
        metrics["recall", k] = sum(shares, start=Fraction(0)) / n_targets
    return metrics


def clustered_interval(values: Floats, clusters: Sequence[str]) -> Interval:
    """Return the mean of values from 0 to 1, of shape (n_rows,), with its 95% interval, by
    Student's t over the clusters; the larger of the standard errors of clusters and of single rows.

    The limits are NaN if undetermined: for a single cluster, or for equal values, because their
    standard error of 0 is meaningless.
    """
    n, nan = len(values), float("nan")
    of_cluster = validate.codes("clusters", list(clusters))
    # Rows as the second axis of clusters add nothing: every row is a cluster of its own.
    rows = np.arange(n, dtype=np.intp)
    [mean] = means_within(values, np.zeros(n, dtype=np.intp), of_cluster, rows, (0.0, 1.0))
    if of_cluster.max() == 0 or np.ptp(values) == 0:
        return replace(mean.row, low=nan, high=nan, se=nan)
    return mean.shown


@lru_cache(maxsize=65_536)
def _all_on(places: int, tie: Tie) -> Fraction:
    """Return the probability that all targets of a tie fall on some `places` of its ranks."""
    return Fraction(math.comb(places, tie.targets), math.comb(tie.tied, tie.targets))


@lru_cache(maxsize=65_536)
def _reciprocal(tie: Tie) -> float:
    """Return the expected 1 / rank of the first target in a tie. Of t ranks, the r-th is the first
    of m targets with probability C(t - r, m - 1) / C(t, m).
    """
    after = np.arange(tie.tied)[::-1]  # ranks of the tie behind each
    chances = comb(after, tie.targets - 1) / comb(tie.tied, tie.targets)
    return float((chances / (tie.first + np.arange(tie.tied))).sum())
