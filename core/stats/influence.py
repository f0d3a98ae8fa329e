"""The influence of each row on a statistic, and the covariances that every analytic interval is
computed from.

The influence of a positive row is (the share of negatives below it - AUROC) / positives, of a
negative row likewise (DeLong's structural components, centred and scaled). Independent rows give
DeLong's covariance; sums over clusters give Obuchowski's (Biometrics 1997, 53:567-578). Both keep
the two classes apart, because each pair of parts has its own small-sample factor I / (I - 1), where
I counts the units with rows in either part. A statistic other than an AUROC has one part, of all
its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

import numpy as np

from core.stats.arrays import Bools, Codes, Floats, codes_or_one, count_codes, divide, sum_by_group
from core.stats.auroc import placements
from core.stats.scores_and_labels import Task

ROUNDING = 1e-12  # of AUROCs, and of the terms of a variance, below which nothing is left of it


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """The values of k statistics and the influence of rows on them, inside each of n_strata strata
    (one without strata).

    values, counts: of shape (k, n_strata), the statistic (NaN if undefined) and the number of its
    rows. parts: of shape (2k, n_rows), for each AUROC the influence of positives and that of
    negatives, 0 for rows that do not count; of shape (k, n_rows) for statistics of one part.
    members: of the same shape, which rows count. stratum: codes of shape (n_rows,).
    """

    values: Floats
    counts: Floats
    parts: Floats
    members: Bools
    stratum: Codes

    @property
    def n_strata(self) -> int:
        return int(self.values.shape[1])

    def combine(self, weights: Floats) -> Floats:
        """Σ weights · values, of shape (n_strata,), over the statistics whose weight is not 0."""
        used = np.flatnonzero(weights)
        terms = (weights[used, None] * self.values[used]).T
        return np.array(list(map(fsum, terms)))  # exact, so that a run minus itself is 0


def influence_of(
    tasks: Sequence[Task], stratum: Codes | None = None, n_strata: int = 1
) -> Influence:
    """Return the influence of every row on the AUROC of every task."""
    n_rows = len(tasks[0].rows)
    where = codes_or_one(stratum, n_rows)
    values, counts = np.empty((2, len(tasks), n_strata))
    parts = np.zeros((2 * len(tasks), n_rows))
    members = np.zeros((2 * len(tasks), n_rows), dtype=np.bool_)
    for k, task in enumerate(tasks):
        members[2 * k], members[2 * k + 1] = task.rows & task.positive, task.rows & ~task.positive
        # all rows are a view of them, which copies nothing
        rows = slice(None) if task.rows.all() else task.rows
        positive = task.positive[rows]
        placed = placements(
            positive, task.values[rows], None if stratum is None else stratum[rows], n_strata
        )
        values[k], counts[k] = placed.auroc, placed.positives + placed.negatives
        # of one stratum, its numbers are those of every row
        inside = slice(None) if n_strata == 1 else where[rows]
        class_size = np.where(positive, placed.positives[inside], placed.negatives[inside])
        pairs = placed.pairs[inside]
        share = np.where(pairs > 0, placed.auroc[inside] * pairs / class_size, 0.0)
        influence = divide(placed.won - share, pairs, 0.0)
        parts[2 * k, rows] = np.where(positive, influence, 0.0)
        parts[2 * k + 1, rows] = np.where(positive, 0.0, influence)
    return Influence(values, counts, parts, members, where)


def mean_influence(found: Sequence[Influence]) -> Influence:
    """Return each row's influence on the means over replicates of the same statistics on the same
    rows, without strata.

    Replicates share their rows, so they are averaged before rows are clustered, not treated as
    independent.
    """
    members = np.any([each.members for each in found], axis=0)
    k = len(found[0].values)
    return Influence(
        np.mean([each.values for each in found], axis=0),
        members.reshape(k, -1, members.shape[-1]).sum(axis=(1, 2), dtype=np.float64)[:, None],
        np.mean([each.parts for each in found], axis=0),
        members,
        found[0].stratum,
    )


def covariance(influence: Influence, clusters: Codes | None = None) -> Floats:
    """Return the covariances of the k statistics, of shape (n_strata, k, k), by independent
    clusters, else rows.

    NaN for a pair of statistics if one of their parts has fewer than two units.
    """
    return covariance_of(influence, unit_sums(influence, clusters))


def covariance_of(influence: Influence, units: UnitSums) -> Floats:
    """Return the covariances as `covariance` does, from sums that are known."""
    sums, present, stratum = units
    shared = _shared_units(present, stratum, influence.n_strata)
    variances = np.diagonal(shared, axis1=1, axis2=2)
    n_units = variances[:, :, None] + variances[:, None, :] - shared
    factor = divide(n_units, n_units - 1)
    between_parts = factor * _per_stratum(sums, stratum, influence.n_strata)
    k, of_each = len(influence.values), len(influence.parts) // len(influence.values)
    covariances: Floats = between_parts.reshape(-1, k, of_each, k, of_each).sum(axis=(2, 4))
    return covariances


class SquaredInfluence(NamedTuple):
    """Powers of rows' influences x on Σ weights · AUROC, scaled to the largest.

    squares: x², of shape (n_rows,). total, fourth: Σ x² and Σ x⁴ of each stratum.
    """

    squares: Floats
    total: Floats
    fourth: Floats


def squared_influence(influence: Influence, weights: Floats) -> SquaredInfluence:
    """Return the powers of the influences of rows on Σ weights · AUROC."""
    squares = (np.repeat(weights, 2) @ influence.parts) ** 2
    squares /= squares.max(initial=0.0) or 1.0  # because squared squares may underflow
    total, fourth = (
        sum_by_group(influence.stratum, influence.n_strata, power)
        for power in (squares, squares**2)
    )
    return SquaredInfluence(squares, total, fourth)


def carrying_rows(squared: SquaredInfluence) -> Floats:
    """Return the effective number of rows behind Σ weights · AUROC, of shape (n_strata,): (Σ x²)² /
    Σ x⁴, x a row's influence.

    A third of as many normal ones. NaN without an influence.
    """
    return divide(squared.total**2, squared.fourth)


def effective_clusters(
    influence: Influence, squared: SquaredInfluence, axes: Sequence[Codes]
) -> list[Floats]:
    """Return the effective number of clusters of Σ weights · AUROC on each axis, of shape
    (n_strata,): (Σ v)² / Σ v², v a cluster's variance.

    The squares of its rows' influences estimate v, and of a few rows they scatter: Σ v² is that of
    the estimates less ⅔ Σ x⁴, as for normal influences x, so that clusters of a single row count as
    many as Satterthwaite gives to normal rows.
    """
    squares, total, fourth = squared
    numbers: list[Floats] = []
    for clusters in axes:
        of_cluster, stratum = _sum_by_unit(squares, clusters, influence)
        spread = sum_by_group(stratum, influence.n_strata, of_cluster**2) - 2 / 3 * fourth
        numbers.append(divide(total**2, spread))
    return numbers


def _sum_by_unit(values: Floats, units: Codes, influence: Influence) -> tuple[Floats, Codes]:
    """Return the sums over the rows of each unit in a stratum, and these strata."""
    n_units = count_codes(units)
    if influence.n_strata == 1:
        return sum_by_group(units, n_units, values), np.zeros(n_units, dtype=np.intp)
    used, unit = np.unique(influence.stratum * n_units + units, return_inverse=True)
    return sum_by_group(unit, len(used), values), used // n_units


def cluster_counts(influence: Influence, clusters: Codes) -> Floats:
    """Return the number of clusters among the rows of each statistic, of shape (k, n_strata)."""
    return counts_of(influence, unit_sums(influence, clusters))


def counts_of(influence: Influence, units: UnitSums) -> Floats:
    """Return the numbers of clusters as `cluster_counts` does, from sums that are known."""
    _, present, stratum = units
    in_any_part = np.asarray(
        present.reshape(len(influence.values), -1, present.shape[1]).any(axis=1)
    )
    return np.stack([sum_by_group(stratum, influence.n_strata, used) for used in in_any_part])


class UnitSums(NamedTuple):
    """For each part and unit, its summed influence and whether it has rows of that part, of shape
    (n_parts, n_units); and each unit's stratum."""

    sums: Floats
    present: Bools
    stratum: Codes


def unit_sums(influence: Influence, clusters: Codes | None) -> UnitSums:
    """Return the sums over clusters, else over rows."""
    if clusters is None:
        return UnitSums(influence.parts, influence.members, influence.stratum)
    n_clusters = count_codes(clusters)
    unit, stratum = clusters, np.zeros(n_clusters, dtype=np.intp)
    if influence.n_strata > 1:  # a cluster's rows in two strata are two units, each in its own
        used, unit = np.unique(influence.stratum * n_clusters + clusters, return_inverse=True)
        stratum = used // n_clusters
    sums = [sum_by_group(unit, len(stratum), part) for part in influence.parts]
    rows = [sum_by_group(unit[member], len(stratum)) for member in influence.members]
    return UnitSums(np.stack(sums), np.stack(rows) > 0, stratum)


def _shared_units(present: Bools, stratum: Codes, n_strata: int) -> Floats:
    """Return how many units of each stratum have rows in both of two parts, of shape (n_strata, p,
    p)."""
    if n_strata > 1:
        return _per_stratum(present.astype(np.float64), stratum, n_strata)
    counts = [[np.count_nonzero(one & other) for other in present] for one in present]
    return np.array([counts], dtype=np.float64)


def _per_stratum(columns: Floats, stratum: Codes, n_strata: int) -> Floats:
    """Return the inner products of all pairs of rows of `columns` (p, n_units) in each stratum, of
    shape (n_strata, p, p)."""
    if n_strata == 1:
        return (columns @ columns.T)[None]
    products = np.empty((n_strata, len(columns), len(columns)))
    for i, left in enumerate(columns):
        for j, right in enumerate(columns[: i + 1]):
            products[:, i, j] = products[:, j, i] = sum_by_group(stratum, n_strata, left * right)
    return products


def variance_of(weights: Floats, covariances: Floats) -> Floats:
    """Return the variance of Σ weights · statistic, of shape (n_strata,), over the statistics whose
    weight is not 0.

    A difference of statistics that vary together counts as 0 if rounding alone explains it; NaN
    stays NaN.
    """
    used = np.flatnonzero(weights)
    block = covariances[:, used[:, None], used]
    variance: Floats = np.einsum("i,sij,j->s", weights[used], block, weights[used])
    size = np.einsum("i,sij,j->s", np.abs(weights[used]), np.abs(block), np.abs(weights[used]))
    return np.where(variance <= ROUNDING * size, 0.0, variance)
