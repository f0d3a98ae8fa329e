"""Structural ceilings: the highest metrics of models that rank only genes perturbed in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from core.target_ranking.expression import targets_in
from core.target_ranking.metrics import KS, Metric, Pools, best_metrics
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


def ceilings_of(split: Split, pools: Pools | None = None, n_genes: int | None = None) -> Ceilings:
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
    rows = [best_metrics(condition, split.trained_genes, pools, n_genes, ks) for condition in split.test]
    return Ceilings({metric: tuple(row[metric] for row in rows) for metric in rows[0]}, split.test)
