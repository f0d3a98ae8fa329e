"""Means of a number over rows that share perturbations and genes, with all intervals."""

from __future__ import annotations

import numpy as np

from core.stats.arrays import Codes, Floats, sum_by_group
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
    values: Floats, stratum: Codes, pert: Codes, gene: Codes, limits: tuple[float, float] = (0.0, 1.0)
) -> list[Estimate]:
    """The mean of `values` in each stratum, all of shape (n_rows,); stratum: codes from 0, each of them used."""
    counts = sum_by_group(stratum, int(stratum.max(initial=-1)) + 1)
    means = sum_by_group(stratum, len(counts), values) / counts
    parts = ((values - means[stratum]) / counts[stratum])[None]
    influence = Influence(means[None], counts[None], parts, np.ones_like(parts, dtype=np.bool_), stratum)
    return estimates_from(influence, dependence_of(influence, pert, gene, METHODS), [ONE], limits)[0]
