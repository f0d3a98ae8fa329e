"""DeLong's intervals for AUROCs: rows are independent, or share a perturbation or a gene
(clustered, Obuchowski).

DeLong, DeLong and Clarke-Pearson, Biometrics 1988, 44:837-845; the O(n log n) form is Sun and Xu's
(2014). Clusters: Obuchowski, Biometrics 1997, 53:567-578. Two-way: V_pert + V_gene - V_row
(Cameron, Gelbach and Miller 2011), for rows that share either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats
from core.stats.influence import (
    ROUNDING,
    Influence,
    carrying_rows,
    counts_of,
    covariance,
    covariance_of,
    effective_clusters,
    influence_of,
    squared_influence,
    unit_sums,
    variance_of,
)
from core.stats.intervals import (
    AXES,
    Carriers,
    Interval,
    Unit,
    add_variance,
    auroc_interval,
    normal_interval,
    widest_interval,
)
from core.stats.scores_and_labels import Task

ONE = np.array([1.0])
# of an average over groups, below which its standard error says too little of itself
FEWEST_GROUPS = 20
METHODS: dict[Unit, str] = {
    "row": "DeLong",
    "pert": "clustered DeLong",
    "gene": "clustered DeLong",
    "two-way": "clustered DeLong, V_pert + V_gene - V_row",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number with its intervals by row, perturbation, gene and both axes.

    two_way: V_pert + V_gene - V_row with the normal quantile, which is too narrow with few
    clusters. shown: what pages, commands and figures show and what conclusions rest on (see
    `intervals.widest_interval`).
    """

    row: Interval
    pert: Interval
    gene: Interval
    two_way: Interval
    shown: Interval

    @property
    def value(self) -> float:
        return self.row.estimate

    @property
    def n(self) -> int:
        return self.row.n

    @property
    def ends(self) -> tuple[float, float, float]:
        """The estimate and the limits shown."""
        return self.shown.ends

    @property
    def json_value(self) -> dict[str, object] | None:
        """The interval shown as every command prints it, then those of each unit; None without an
        estimate."""
        shown = self.shown.json_value
        if shown is None:
            return None
        units = {
            unit: getattr(self, unit).json_value for unit in ("row", "pert", "gene", "two_way")
        }
        return {**shown, "clusters": self.shown.clusters, **units}


def two_way_delong(
    positive: ArrayLike, values: ArrayLike, pert: ArrayLike, gene: ArrayLike
) -> Estimate:
    """Return one AUROC with intervals by row, perturbation, gene and both.

    positive: flags, values: finite numbers, ranked unchanged, pert, gene: names or codes, each of
    shape (n_rows,). NaN with one class; no interval by a unit if a class occurs in a single one of
    them only.
    """
    chosen, numbers = validate.flags("positive", positive), validate.numbers("values", values)
    perts, genes = validate.axes(pert, gene)
    n_rows = validate.same_length(positive=chosen, values=numbers, pert=perts, gene=genes)
    task = Task(np.ones(n_rows, dtype=np.bool_), chosen, numbers)
    return estimates(influence_of([task]), perts, genes, [ONE])[0][0]


def two_way_variance(row: Floats, pert: Floats, gene: Floats) -> Floats:
    """V_pert + V_gene - V_row; the largest of the three if few units make that negative."""
    combined = pert + gene - row
    return np.where(combined < 0, np.maximum(np.maximum(row, pert), gene), combined)


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """The covariances of k statistics, by row, perturbation and gene.

    covariances: of shape (n_strata, k, k) for each of these units. perts, genes: numbers of
    clusters, of shape (k, n_strata). methods: descriptions of how each unit's variance is computed.
    pert, gene: the codes of the clusters, of shape (n_rows,). units: the units that carry the
    statistics if these are not rows, such as the groups of an average over groups; None: rows.
    """

    covariances: Mapping[Unit, Floats]
    perts: Floats
    genes: Floats
    methods: Mapping[Unit, str]
    pert: Codes
    gene: Codes
    units: Codes | None = None


def dependence_of(
    influence: Influence, pert: Codes, gene: Codes, methods: Mapping[Unit, str] = METHODS
) -> Dependence:
    """Return the covariances of independent rows, of independent perturbations and of independent
    genes."""
    by_pert, by_gene = (unit_sums(influence, clusters) for clusters in (pert, gene))
    matrices: dict[Unit, Floats] = {
        "row": covariance(influence),
        "pert": covariance_of(influence, by_pert),
        "gene": covariance_of(influence, by_gene),
    }
    return Dependence(
        matrices,
        counts_of(influence, by_pert),
        counts_of(influence, by_gene),
        methods,
        pert,
        gene,
    )


def widen(
    estimate: Estimate, variance: float, limits: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """Return the estimate with an independent source of noise in each of its intervals; variance:
    of that noise."""
    if variance == 0:
        return estimate
    return Estimate(
        *(
            add_variance(getattr(estimate, interval.name), variance, limits)
            for interval in fields(estimate)
        )
    )


def estimates(
    influence: Influence,
    pert: Codes,
    gene: Codes,
    weights: Sequence[Floats],
    limits: tuple[float, float] = (0.0, 1.0),
) -> list[list[Estimate]]:
    """Return, for each combination of statistics in `weights` and each stratum, its value with all
    intervals.

    The interval shown takes the smallest number of clusters of the statistics that are combined.
    """
    return estimates_from(influence, dependence_of(influence, pert, gene), weights, limits)


def estimates_from(
    influence: Influence,
    dependence: Dependence,
    weights: Sequence[Floats],
    limits: tuple[float, float] = (0.0, 1.0),
) -> list[list[Estimate]]:
    """Return the estimates from known covariances."""
    intervals: list[list[Estimate]] = []
    for combination in weights:
        variances = {
            unit: variance_of(combination, matrix)
            for unit, matrix in dependence.covariances.items()
        }
        variances["two-way"] = two_way_variance(
            variances["row"], variances["pert"], variances["gene"]
        )
        values = influence.combine(combination)
        used = np.flatnonzero(combination)
        counts, n_perts, n_genes = (
            influence.counts[used].max(axis=0),
            _fewest(dependence.perts[used]),
            _fewest(dependence.genes[used]),
        )
        carriers = _carriers_of(influence, dependence, combination, variances)
        intervals.append([])
        for s, value in enumerate(values):
            by: dict[Unit, Interval] = {
                unit: normal_interval(value, variances[unit][s], counts[s], unit, method, limits)
                for unit, method in dependence.methods.items()
            }
            widest = widest_interval([*by.values()], int(n_perts[s]), int(n_genes[s]), limits)
            if carriers:
                widest = auroc_interval(widest, carriers[s], limits)
            intervals[-1].append(Estimate(by["row"], by["pert"], by["gene"], by["two-way"], widest))
    return intervals


def _carriers_of(
    influence: Influence, dependence: Dependence, weights: Floats, variances: Mapping[Unit, Floats]
) -> list[Carriers]:
    """Return the effective numbers behind the variances of a combination of AUROCs in each stratum;
    none for other statistics."""
    if len(influence.parts) != 2 * len(influence.values):
        return []
    axes = [getattr(dependence, unit) for unit in AXES]
    squared = squared_influence(influence, weights)
    numbers = dict(zip(AXES, effective_clusters(influence, squared, axes), strict=True))
    # Each question needs enough rows: rows of DE give no information on the error of DIR in the
    # same mean.
    parts: list[Floats] = []
    for k in np.flatnonzero(weights):
        for part in parts:
            first = int(np.flatnonzero(part)[0])
            if np.array_equal(
                influence.members[2 * first : 2 * first + 2], influence.members[2 * k : 2 * k + 2]
            ):
                part[k] = weights[k]
                break
        else:
            parts.append(np.where(np.arange(len(weights)) == k, weights, 0.0))
    carrying = [
        carrying_rows(
            squared if np.array_equal(part, weights) else squared_influence(influence, part)
        )
        for part in parts
    ]
    constant = np.array(
        [_is_constant(influence, part, rows) for part, rows in zip(parts, carrying, strict=True)]
    )
    carriers = np.array(carrying)
    if dependence.units is not None:
        enough = [_has_groups(influence, part, dependence.units) for part in parts]
        carriers[~np.array(enough)] = np.nan
    numbers["row"] = np.where(constant, np.inf, carriers).min(axis=0)
    of_strata = zip(
        np.stack([variances[unit] for unit in numbers], axis=1).tolist(),
        np.stack([*numbers.values()], axis=1).tolist(),
        np.asarray(constant.all(axis=0)).tolist(),
        strict=True,
    )
    return [
        Carriers(
            dict(zip(numbers, by_unit, strict=True)), dict(zip(numbers, of, strict=True)), same
        )
        for by_unit, of, same in of_strata
    ]


def _has_groups(influence: Influence, weights: Floats, units: Codes) -> bool:
    """Return whether an average over groups has enough of them for an interval.

    It is known before any score: a rule that asks the scores would choose among data sets.
    """
    used = np.flatnonzero(np.repeat(weights, 2))
    rows = np.bincount(units[influence.members[used].any(axis=0)])
    return int(np.count_nonzero(rows)) >= FEWEST_GROUPS


def _is_constant(influence: Influence, weights: Floats, carrying: Floats) -> Bools:
    """Return whether no row has an influence by construction, of shape (n_strata,): a score of 0.5
    is constant then.

    Two rankings with equal AUROCs are equal, unless both are perfect or reversed. carrying: see
    `carrying_rows`.
    """
    used, none = influence.values[np.flatnonzero(weights)], np.isnan(carrying)
    if (weights >= 0).all():
        return np.asarray(none & (np.abs(used - 0.5) <= ROUNDING).all(axis=0))
    within = (used > ROUNDING) & (used < 1 - ROUNDING)
    return np.asarray(none & within.all(axis=0) & (np.abs(influence.combine(weights)) <= ROUNDING))


def _fewest(clusters: Floats) -> Floats:
    """Return the smallest number of clusters above 1 along the first axis; 1 if there is none."""
    several = np.where(clusters > 1, clusters, np.inf).min(axis=0)
    return np.where(np.isinf(several), 1.0, several)
