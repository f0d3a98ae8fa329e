"""Structural ceilings: the highest metrics of models that rank only genes perturbed in training."""

from __future__ import annotations

from typing import Final

from core.target_ranking.expression import targets_in
from core.target_ranking.metrics import KS, Pools, best_levels
from core.target_ranking.splits import Split

NAMES: Final = {"relevant_hit": "relevant", "recall": "recall", "exact_hit": "exact"}


def ceilings_of(split: Split, pools: Pools | None = None, n_genes: int | None = None) -> dict[str, dict[str, str]]:
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
    for metric, name in NAMES.items():
        steps[name], before = {}, None
        for k in ks:
            total = best[metric, k].sum()
            if total != before:
                decimal = f"{total:.3f}".rstrip("0").rstrip(".")
                steps[name][str(k)] = f"{decimal}/{len(split.test)}"
            before = total
    return steps
