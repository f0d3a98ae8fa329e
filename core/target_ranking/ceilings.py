"""Structural ceilings: the highest metrics of models that rank only genes perturbed in training."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from core.target_ranking.expression import targets_in
from core.target_ranking.metrics import KS, Metric, Tie, expected_metrics
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
        """Return the ceiling of a metric's mean over conditions. n_rows: the number of rows of each
        condition, None for one."""
        weights = [1 if n_rows is None else n_rows.get(name, 0) for name in self.conditions]
        pairs = zip(weights, self.best[metric, k], strict=True)
        return float(sum(weight * best for weight, best in pairs) / sum(weights))

    def steps(self) -> dict[str, dict[str, str]]:
        """Return metric → k → ceiling as a fraction of conditions, such as "10.5/38", for each k
        where the ceiling changes."""
        steps: dict[str, dict[str, str]] = {}
        for metric, name in NAMES.items():
            totals = {k: sum(best) for (of, k), best in self.best.items() if of == metric}
            steps[name], before = {}, None
            for k, total in totals.items():
                if total != before:
                    decimal = f"{float(total):.3f}".rstrip("0").rstrip(".")
                    steps[name][str(k)] = f"{decimal}/{len(self.conditions)}"
                before = total
        return steps


def ceilings_of(
    split: Split,
    candidates: Mapping[str, Collection[str]] | None = None,
    n_genes: int | None = None,
) -> Ceilings:
    """Return the ceilings of a split, computed from its conditions, at each of KS and at every
    smaller k where one rises.

    For a test condition with targets T, let S be the trained ones (in the condition's pool, if
    there are candidates). Relevant hit and MRR are 1 if S is not empty; recall is min(|S|, k) /
    |T|; exact hit is 1 if S = T and |T| ≤ k. n_genes: number of genes ranked without candidates,
    None if unknown. Genes without a score tie behind the trained ones; if k reaches them, as in a
    small pool, they add chance hits.
    """
    most = max(len(targets_in(condition)) for condition in split.test)
    ks = sorted({*KS, *range(1, most + 1)})
    rows = []
    for condition in split.test:
        pool = None if candidates is None else candidates[condition]
        targets = targets_in(condition)
        rows.append(expected_metrics(_best_ties(targets, split, pool, n_genes), len(targets), ks))
    return Ceilings({metric: tuple(row[metric] for row in rows) for metric in rows[0]}, split.test)


def _best_ties(targets: Sequence[str], split: Split, pool: Collection[str] | None, n_genes: int | None) -> list[Tie]:
    """Return the ties of a condition's ranked targets in the best model of trained genes."""
    ranked = [gene for gene in targets if pool is None or gene in pool]
    n_trained = sum(gene in split.trained_genes for gene in ranked)
    n_scored = len(split.trained_genes if pool is None else split.trained_genes & set(pool))
    n_ranked = n_genes if pool is None else len(pool)
    ties = [Tie(position + 1, 1, 1) for position in range(n_trained)]
    if n_ranked is not None and len(ranked) > n_trained and n_ranked > n_scored:
        ties.append(Tie(n_scored + 1, n_ranked - n_scored, len(ranked) - n_trained))
    return ties
