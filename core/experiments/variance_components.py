"""The sources of the variance of a change: the perturbations, genes and rows, the cut, the seed, the judge's answers.

If rows that share a perturbation or a gene vary together, the variance with independent perturbations includes that of rows,
and the same holds for genes. So the components are: perturbations V_pert - V_row, genes V_gene - V_row, rows V_row (Cameron,
Gelbach and Miller 2011 add them up to the two-way variance). A negative component is set to 0. Cuts and seeds: the variance
between them, divided by their number. The noise of judges asked again is part of the seeds' component, or of the rows'
component if seeds are unknown, and is subtracted there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.experiments.paired_replicates import ReplicateComparison, mean_by_level
from core.stats.arrays import Floats
from core.stats.delong import Estimate
from core.transfer.cuts import variances_between

SOURCES = ("perturbations", "genes", "rows", "cut", "seed", "judge")
COLUMNS = {"DE": 0, "DIR": 1, "mean": 2}


@dataclass(frozen=True, slots=True)
class UnitVariances:
    """The variance of a change with independent rows, perturbations, genes; two_way: of the shown interval."""

    row: float
    pert: float
    gene: float
    two_way: float


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance of a change of one metric, by source, as the experiment was carried out.

    cut, seed: of one cut and one seed (the experiment has the variance / n_cuts and / n_seeds); NaN if unknown, because there
    is only one. units: without the noise of cuts and seeds. n, n_perts, n_genes: number of rows and clusters behind them.
    judge: the judges' variance in the experiment, a part of seed or of rows; NaN if unknown, because they answered once.
    """

    perturbations: float
    genes: float
    rows: float
    cut: float
    seed: float
    n_cuts: int
    n_seeds: int
    units: UnitVariances
    n: int
    n_perts: int
    n_genes: int
    judge: float = math.nan

    @property
    def shares(self) -> dict[str, float]:
        """Source → its share of the variance of the experiment; the known shares sum to 1."""
        judge, rows, seed = float(np.nan_to_num(self.judge)), self.rows, self.seed / self.n_seeds
        if math.isnan(seed):
            rows = max(rows - judge, 0.0)
        else:
            seed = max(seed - judge, 0.0)
        parts = (self.perturbations, self.genes, rows, self.cut / self.n_cuts, seed, self.judge)
        total = np.nansum(parts)
        return {name: part / total if total else float("nan") for name, part in zip(SOURCES, parts, strict=True)}

    @property
    def noise(self) -> float:
        """The variance of cuts and seeds in the experiment; an unknown one counts as 0."""
        return float(np.nansum((self.cut / self.n_cuts, self.seed / self.n_seeds)))


def components_of(found: ReplicateComparison, metric: str) -> VarianceComponents:
    """Return the variance components of the change of a metric."""
    pair, part = found.pair, found.comparison.parts[metric]
    cuts = [cut for cut, _ in pair.replicates]
    seeds = [seed for _, seed in pair.replicates]
    cut, seed = (variance_between(found.changes, levels, metric) for levels in (cuts, seeds))
    rows = pair.a[0]
    counts = len(np.unique(rows.pert)), len(np.unique(rows.gene))
    noise = float(np.nansum((cut / len(set(cuts)), seed / len(set(seeds)))))
    parts = split_variance(part.change, noise, (cut, seed), (len(set(cuts)), len(set(seeds))), (len(rows), *counts))
    return replace(parts, judge=float(found.judge[COLUMNS[metric]]))


def split_variance(
    found: Estimate,
    noise: float,
    of_one: tuple[float, float],
    repeats: tuple[int, int],
    counts: tuple[int, int, int],
    factor: float = 1.0,
) -> VarianceComponents:
    """Return the components of a number.

    noise: the variance of cuts and seeds in its intervals; of_one: of one cut and of one seed; repeats: numbers of cuts and
    seeds; counts: rows, perturbations, genes; factor: multiplies the other variances.
    """
    widest = found.two_way if math.isnan(found.shown.se) else found.shown  # a plan has one even if an interval has none
    row, pert, gene, shown = (factor * max(each.se**2 - noise, 0.0) for each in (found.row, found.pert, found.gene, widest))
    parts = max(pert - row, 0.0), max(gene - row, 0.0), row
    return VarianceComponents(*parts, *of_one, *repeats, UnitVariances(row, pert, gene, shown), *counts)


def variance_between(changes: Floats, levels: Sequence[int], metric: str) -> float:
    """Return the variance between cuts, or seeds, of a metric's change; NaN with one. changes: of shape (n_replicates, 2)."""
    by_level = mean_by_level(changes, levels)
    return float(variances_between(by_level)[COLUMNS[metric]]) if len(by_level) > 1 else math.nan
