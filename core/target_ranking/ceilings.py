"""Structural ceilings: the highest metrics of models that rank only genes perturbed in training."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from core.errors import InputError
from core.target_ranking.expression import targets_in
from core.target_ranking.metrics import (
    AT_K,
    KS,
    MRR,
    Metric,
    Tie,
    expected_exact_hit,
    expected_recall,
    expected_reciprocal_rank,
    expected_relevant_hit,
)
from core.target_ranking.splits import Split

NAMES: Final = {"relevant_hit": "relevant", "recall": "recall", "exact_hit": "exact"}


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The largest value of each metric in each test condition.

    best: by metric and k, the exact value of each condition. conditions: in the same order.
    """

    best: Mapping[Metric, Sequence[Fraction]]
    conditions: tuple[str, ...]

    def value(self, metric: str, k: int | None = None, n_rows: Mapping[str, int] | None = None) -> float:
        """Return the ceiling of a metric's mean over conditions. n_rows: the number of rows of each condition, None for one."""
        weights = [1 if n_rows is None else n_rows.get(condition, 0) for condition in self.conditions]
        total = sum(weight * best for weight, best in zip(weights, self.best[metric, k], strict=True))
        return float(total / sum(weights)) if sum(weights) else float("nan")

    def text(self, metric: str, k: int | None = None) -> str:
        """Return a ceiling as a fraction of conditions, such as "10.5/38"."""
        decimal = f"{float(sum(self.best[metric, k])):.3f}".rstrip("0").rstrip(".")
        return f"{decimal}/{len(self.conditions)}"

    def steps(self) -> dict[str, dict[str, str]]:
        """Return metric → k → ceiling, for each k where the ceiling changes."""
        found: dict[str, dict[str, str]] = {}
        for metric, name in NAMES.items():
            ks = sorted(k for at, k in self.best if at == metric and k is not None)
            changed = [k for before, k in zip([None, *ks], ks, strict=False) if self._moves(metric, before, k)]
            found[name] = {str(k): self.text(metric, k) for k in changed}
        return found

    def _moves(self, metric: str, before: int | None, k: int) -> bool:
        return before is None or sum(self.best[metric, before]) != sum(self.best[metric, k])


def ceilings_of(
    split: Split,
    candidates: Mapping[str, Collection[str]] | None = None,
    ks: Sequence[int] = KS,
    n_genes: int | None = None,
) -> Ceilings:
    """Return the ceilings of a split, computed from its conditions, at each of `ks` and at every smaller k where one rises.

    For a test condition with targets T, let S be the trained ones (in the condition's pool, if there are candidates). Relevant
    hit and MRR are 1 if S is not empty; recall is min(|S|, k) / |T|; exact hit is 1 if S = T and |T| ≤ k. n_genes: number of
    genes ranked without candidates, None if unknown. Genes without a score tie behind the trained ones; if k reaches them, as
    in a small pool, they add chance hits. Raise InputError for a test condition without a pool.
    """
    most = max(len(targets_in(condition)) for condition in split.test)
    reach = [_reach_of(condition, split.trained_genes, candidates, n_genes) for condition in split.test]
    best: dict[Metric, tuple[Fraction, ...]] = {
        (metric, k): tuple(_best(metric, k, one) for one in reach) for k in sorted({*ks, *range(1, most + 1)}) for metric in AT_K
    }
    best[MRR, None] = tuple(Fraction(expected_reciprocal_rank(one.ties)) for one in reach)
    return Ceilings(best, split.test)


@dataclass(frozen=True, slots=True)
class _Reach:
    """The number of targets of a condition, and the ties of its ranked targets in the best model of trained genes."""

    n_targets: int
    ties: tuple[Tie, ...]


def _reach_of(
    condition: str, trained: Collection[str], candidates: Mapping[str, Collection[str]] | None, n_genes: int | None
) -> _Reach:
    targets = targets_in(condition)
    pool = None if candidates is None else _pool_of(condition, candidates)
    ranked = [gene for gene in targets if pool is None or gene in pool]
    size = n_genes if pool is None else len(pool)
    n_trained, n_scored = sum(gene in trained for gene in ranked), len(trained if pool is None else set(trained) & set(pool))
    ties = [Tie(at + 1, 1, 1) for at in range(n_trained)]
    if size is not None and len(ranked) > n_trained and size > n_scored:
        ties.append(Tie(n_scored + 1, size - n_scored, len(ranked) - n_trained))
    return _Reach(len(targets), tuple(ties))


def _best(metric: str, k: int, reach: _Reach) -> Fraction:
    if metric == "relevant_hit":
        return expected_relevant_hit(reach.ties, k)
    if metric == "exact_hit":
        return expected_exact_hit(reach.ties, k, reach.n_targets)
    return expected_recall(reach.ties, k, reach.n_targets)


def _pool_of(condition: str, candidates: Mapping[str, Collection[str]]) -> Collection[str]:
    if condition not in candidates:
        raise InputError(f"candidates: no pool for the test condition {condition}, expected one for each")
    return candidates[condition]
