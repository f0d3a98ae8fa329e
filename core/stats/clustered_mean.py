"""Means and other sums over rows and texts that share perturbations and genes, with all
intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.stats.arrays import Bools, Codes, Floats, sum_by_group
from core.stats.delong import ONE, Estimate, dependence_of, estimates_from
from core.stats.influence import Influence
from core.stats.intervals import Unit

METHODS: dict[Unit, str] = {
    "row": "standard error of a mean",
    "pert": "clustered standard error of a mean",
    "gene": "clustered standard error of a mean",
    "two-way": "clustered standard error of a mean, V_pert + V_gene - V_row",
}


def means_within(
    values: Floats,
    stratum: Codes,
    pert: Codes,
    gene: Codes,
    limits: tuple[float, float] = (0.0, 1.0),
) -> list[Estimate]:
    """Return the mean of `values` in each stratum, all of shape (n_rows,); stratum: codes from 0,
    each of them used."""
    counts = sum_by_group(stratum, int(stratum.max(initial=-1)) + 1)
    means = sum_by_group(stratum, len(counts), values) / counts
    parts = ((values - means[stratum]) / counts[stratum])[None]
    influence = Influence(
        means[None], counts[None], parts, np.ones_like(parts, dtype=np.bool_), stratum
    )
    return estimates_from(influence, dependence_of(influence, pert, gene, METHODS), [ONE], limits)[
        0
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A statistic of texts. influence: of each on it, of shape (n_texts,), 0 for those that do not
    count; counts: which do."""

    value: float
    influence: Floats
    counts: Bools


def sum_of_parts(
    parts: Sequence[Part], pert: Codes, gene: Codes, limits: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """Return the sum of statistics of the same texts, with all intervals; pert, gene: codes of
    shape (n_texts,).

    A row is a pair of a perturbation and a gene here, however many texts it has: V_row is that of
    independent pairs.
    """
    n_genes = int(gene.max(initial=-1)) + 1
    pairs, row = np.unique(pert * n_genes + gene, return_inverse=True)
    n = len(pairs)
    influence = Influence(
        np.array([[part.value] for part in parts]),
        np.array([[float(part.counts.sum())] for part in parts]),
        np.stack([sum_by_group(row, n, part.influence) for part in parts]),
        np.stack([sum_by_group(row, n, part.counts) > 0 for part in parts]),
        np.zeros(n, dtype=np.intp),
    )
    dependence = dependence_of(influence, pairs // n_genes, pairs % n_genes, METHODS)
    return estimates_from(influence, dependence, [np.ones(len(parts))], limits)[0][0]
