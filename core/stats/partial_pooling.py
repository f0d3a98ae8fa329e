"""The AUROC of each gene (or perturbation), raw and partially pooled: shrunk to the mean in proportion to chance scatter.

Empirical Bayes: the AUROC of group g varies by chance with variance v_g around its own true one, and the true ones with variance
τ² around their mean μ. Of a raw AUROC a share τ² / (τ² + v_g) of its distance from μ is kept. v_g is Hanley and McNeil's
variance at μ (Radiology 1982, 143:29-36), which does not depend on the raw value (two rows in the right order are no certainty),
times what makes its sum that of the unbiased variances of the groups with two rows of each class.
How far τ is known is part of the limits: all is averaged over its posterior, every τ² being as likely beforehand (Morris and
Tang, Statistical Science 2011, 26:271-287).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from core.stats.arrays import Codes, Floats, sum_by_group
from core.stats.auroc import Placements, placements
from core.stats.scores_and_labels import Task

_ROUNDS = 5  # of μ and v_g, which depend on each other; the third changes nothing that is shown
_SPREADS = np.linspace(0.0, 0.5, 101)  # of τ; AUROCs cannot scatter farther
_FEWEST = 10  # groups with two rows of each class, below which they say too little of how far chance scatters AUROCs
_LEAST_SCALE = 0.1  # of these groups to Hanley and McNeil, so that no scatter counts as certain
_Z95 = float(ndtri(0.975))


@dataclass(frozen=True, slots=True, eq=False)
class PooledAurocs:
    """The AUROCs of groups with both classes, all arrays of shape (n_used,).

    group: codes. positives, negatives: rows. raw: AUROCs; chance: the standard deviation of a raw one by chance. shrunken:
    partially pooled, with 95% limits low and high. mean: μ; spread: τ, the standard deviation of the true ones, its posterior
    mean; both NaN without a group. one_class: groups that have rows of one class only, or no pair inside a cell.
    """

    group: Codes
    positives: Floats
    negatives: Floats
    raw: Floats
    chance: Floats
    shrunken: Floats
    low: Floats
    high: Floats
    mean: float
    spread: float
    one_class: int

    @property
    def by_chance(self) -> float:
        """The share of the raw AUROCs' scatter explained by chance, in [0, 1]; NaN without a group."""
        noise = float((self.chance**2).mean()) if len(self.raw) else float("nan")
        return noise / (noise + self.spread**2)


def pooled_aurocs(task: Task, group: Codes, cells: Codes | None = None) -> PooledAurocs:
    """Return the AUROC inside each group, raw and partially pooled; group, cells: codes of shape (n_rows,).

    With cells, only pairs inside a cell count.
    """
    where = np.zeros(len(group), dtype=np.intp) if cells is None else cells
    n_groups, n_cells = int(group.max(initial=-1)) + 1, int(where.max(initial=0)) + 1
    stratum = (group * n_cells + where)[task.rows]
    placed = placements(task.positive[task.rows], task.values[task.rows], stratum, n_groups * n_cells)
    unbiased = _unbiased_variances(task, stratum, placed)
    shape = n_groups, n_cells
    classes = np.stack([placed.positives.reshape(shape), placed.negatives.reshape(shape)])
    pairs = classes.prod(axis=0)
    total = pairs.sum(axis=1)
    used = np.flatnonzero(total > 0)
    share = pairs[used] / total[used, None]
    raw = (share * np.where(pairs[used] > 0, placed.auroc.reshape(shape)[used], 0.0)).sum(axis=1)
    found = _pool(used, classes[:, used], share, raw, unbiased.reshape(shape)[used])
    return replace(found, one_class=int((sum_by_group(group[task.rows], n_groups) > 0).sum()) - len(used))


def _unbiased_variances(task: Task, stratum: Codes, placed: Placements) -> Floats:
    """Return the unbiased estimate of the variance of each stratum's AUROC, NaN without two rows of each class.

    It is the squared AUROC minus the mean product of two pairs without a common row; both include the squared true AUROC.
    """
    positive, n = task.positive[task.rows], len(placed.auroc)
    m, k = placed.positives, placed.negatives
    distinct, value = np.unique(task.values[task.rows], return_inverse=True)
    tied_groups, place = np.unique(stratum * len(distinct) + value, return_inverse=True)
    tied = np.bincount(place, positive) * np.bincount(place, ~positive)
    ties = sum_by_group(tied_groups // max(len(distinct), 1), n, tied)
    won = sum_by_group(stratum, n, np.where(positive, placed.won, 0.0))
    squares = sum_by_group(stratum, n, placed.won**2)  # of pairs that share a row, each pair with itself once for each row
    apart = m * (m - 1) * k * (k - 1)
    product = np.divide(won**2 - squares + won - ties / 4, apart, out=np.full(n, np.nan), where=apart > 0)
    variance: Floats = np.divide(won, m * k, out=np.zeros(n), where=m * k > 0) ** 2 - product
    return variance


def _pool(used: Codes, classes: Floats, share: Floats, raw: Floats, unbiased: Floats) -> PooledAurocs:
    """classes: rows by class, group and cell; share: each cell's share of its group's pairs; unbiased: variances of cells."""
    if not len(raw):
        none, nan = np.zeros(0), float("nan")
        return PooledAurocs(used, none, none, none, none, none, none, none, nan, nan, 0)
    mean = float(np.average(raw, weights=(classes[0] * classes[1]).sum(axis=1)))
    for _ in range(_ROUNDS):
        noise = _variance(mean, classes, share, unbiased)
        weight, means, of_means = _posterior(raw, noise)
        mean = float(weight @ means)
    kept = _SPREADS[:, None] ** 2 / (_SPREADS[:, None] ** 2 + noise)
    drawn = means[:, None] + kept * (raw - means[:, None])
    shrunken = weight @ drawn
    variance = weight @ (kept * noise + (1 - kept) ** 2 * of_means[:, None] + (drawn - shrunken) ** 2)
    low, high = np.clip((shrunken - _Z95 * np.sqrt(variance), shrunken + _Z95 * np.sqrt(variance)), 0.0, 1.0)
    spread = float(weight @ _SPREADS)
    positives, negatives = classes.sum(axis=2)
    return PooledAurocs(used, positives, negatives, raw, np.sqrt(noise), shrunken, low, high, mean, spread, 0)


def _posterior(raw: Floats, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how likely each of _SPREADS is, the mean of the true AUROCs under it, and that mean's variance."""
    precision = 1 / (_SPREADS[:, None] ** 2 + noise)
    total = precision.sum(axis=1)
    means = precision @ raw / total
    squares = (precision * (raw - means[:, None]) ** 2).sum(axis=1)
    likelihood = (np.log(precision).sum(axis=1) - np.log(total) - squares) / 2
    weight = _SPREADS * np.exp(likelihood - likelihood.max())  # a flat prior for τ², which gives the most accurate limits
    return weight / weight.sum(), means, 1 / total


def _variance(auroc: float, classes: Floats, share: Floats, unbiased: Floats) -> Floats:
    """Return the sampling variance of each group's AUROC: Hanley and McNeil's, scaled to unbiased ones if there are enough."""
    a = min(max(auroc, 0.01), 0.99)  # at 1 there would be no scatter at all
    positives, negatives = classes
    two_positives, two_negatives = a / (2 - a) - a**2, 2 * a**2 / (1 + a) - a**2
    numerator = a * (1 - a) + (positives - 1) * two_positives + (negatives - 1) * two_negatives
    pairs = positives * negatives
    each = np.divide(numerator, pairs, out=np.zeros_like(pairs), where=pairs > 0)
    known = ~np.isnan(unbiased)
    scale = unbiased[known].sum() / each[known].sum() if known.sum() >= _FEWEST else 1.0
    variance: Floats = (share**2 * each).sum(axis=1) * max(scale, _LEAST_SCALE)
    return variance
