"""Whether vectors predict label shares better than is possible for what has not seen these labels.

A unit is what has a vector: a target gene, or a perturbation. Its share is that of the positive
rows among its rows: its true rate, and the noise of the few rows that were measured. Knowledge of
the unit can predict the true rate, never the noise. So the rows are cut by the other axis into
halves A and B; shares in A are predicted from the vectors, and the prediction is compared with the
shares in B. Whatever was learned from A, its correlation with B stays below the ceiling, the square
root of the correlation between A and B (the split-half reliability), unless the vectors hold B's
noise.

Where a screen was sampled so that every unit has a fixed share, the halves disagree and there is no
rate to know: there a prediction of what is left of the shares, given the number of rows, from what
that number leaves of the vectors, is suspect by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve
from scipy.sparse import csr_array

from core.features.leakage.unit_rows import UnitRows, standardise
from core.stats.arrays import Bools, Codes, Floats, sum_by_group
from core.stats.ranks import equal_groups

MOST_UNITS = 700  # drawn from more, which keeps a probe below a fifth of a second
LEAST_UNITS = 15  # PerturbQA has 20 gene sets
HALVES = 12  # random cuts of the other axis
LEAST_EXCESS = 4.0  # standard errors above the ceiling, by units
# correlation (true rates reach .59), and that times √units, for fixed shares
LEAST_OF_FIXED, LEAST_FISHER = 0.65, 5.0
FOLDS = 5
_PENALTIES = (1e-8, 1e-5, 1e-2, 0.1, 1.0, 10.0, 100.0)  # of the mean eigenvalue
_FEW_PENALTIES = (1e-3, 0.1, 1.0)
_TOP_COLUMNS, _BINS = 3, 8
_WAVES, _SCALES = 60, (1.0, 3.0)  # random directions for each scale, in 1 / standard deviation
_ROWS_ALIKE = 30  # units that are compared with others of about as many rows
# units more than columns, so that what a regression on all columns leaves is known well enough
LEAST_FREE = 30


@dataclass(frozen=True, slots=True)
class ShareProbe:
    """How well vectors predict the shares of one task.

    units: with a vector and at least two rows; 0 if they were too few to probe. correlation: of the
    predictions with shares that they were not fitted on. ceiling: what it cannot exceed without the
    labels. excess: its distance above, in standard errors over units. fixed: the shares are fixed
    by sampling, so that there is no ceiling; excess is then correlation × √units.
    """

    units: int
    correlation: float = float("nan")
    ceiling: float = float("nan")
    excess: float = float("nan")
    fixed: bool = False

    @property
    def has_seen_labels(self) -> bool:
        """Whether the vectors contain information from these labels."""
        if self.fixed:
            return self.correlation >= LEAST_OF_FIXED and self.excess >= LEAST_FISHER
        return self.excess >= LEAST_EXCESS


NOT_PROBED = ShareProbe(0)


def probe_shares(rows: UnitRows, vectors: Floats, rng: np.random.Generator) -> ShareProbe:
    """Probe the vectors of one axis on the rows of one task; vectors: of shape (n_units,
    n_columns), NaN if there is none."""
    counts = sum_by_group(rows.unit, len(vectors))
    usable = np.flatnonzero((counts > 1) & ~np.isnan(vectors[:, 0]))
    if len(usable) < LEAST_UNITS:
        return NOT_PROBED
    if len(usable) > MOST_UNITS:
        usable = np.sort(rng.choice(usable, MOST_UNITS, replace=False))
    place = np.full(len(vectors), -1)
    place[usable] = np.arange(len(usable))
    kept = rows.take(place[rows.unit] >= 0)
    known = UnitRows(kept.positive, place[kept.unit], kept.other)
    columns = standardise(
        np.column_stack([vectors[usable], np.linalg.norm(vectors[usable], axis=1)])
    )  # a length may tell too
    if not columns.shape[1]:
        return NOT_PROBED
    shares = _halves(known, len(usable), rng)
    if shares.reliability <= 0:
        return _probe_fixed(known, columns, rng)
    n_columns = columns.shape[1]
    directions = np.hstack(
        [scale * rng.normal(size=(n_columns, _WAVES)) / np.sqrt(n_columns) for scale in _SCALES]
    )
    waves = standardise(
        np.asarray(np.sin(columns @ directions + rng.uniform(0, 2 * np.pi, directions.shape[1])))
    )
    # By the best-correlated columns, by the best one, and by bins of the best-fitting one: a ridge
    # regression misses a leak in one of many columns, and both
    # miss a non-linear leak. These predictors are fitted on every unit. The ceiling allows this,
    # because it applies to anything learned from that half of the data.
    centred = shares.known - shares.known.mean(axis=0)
    bins = np.stack([equal_groups(column, _BINS) for column in columns.T], 1).astype(np.intp) - 1
    by_line = np.abs(columns.T @ centred)
    by_bins = np.zeros_like(by_line)
    for each in range(_BINS):
        inside = (bins == each).astype(np.float64)
        by_bins += (inside.T @ centred) ** 2 / np.maximum(inside.sum(axis=0), 1)[:, None]
    lines, first, steps = np.zeros((3, *centred.shape))
    for k in range(shares.known.shape[1]):
        top = columns[:, np.argsort(-by_line[:, k])[:_TOP_COLUMNS]]
        lines[:, k], first[:, k] = (
            _fit(top, centred[:, k], top),
            _fit(top[:, :1], centred[:, k], top[:, :1]),
        )
        group = bins[:, np.argmax(by_bins[:, k])]
        steps[:, k] = (
            sum_by_group(group, _BINS, centred[:, k]) / np.maximum(sum_by_group(group, _BINS), 1)
        )[group]
    predictions = [_ridge(columns, shares.known), _ridge(waves, shares.known), lines, first, steps]
    found = [
        *(_against_ceiling(shares, each) for each in predictions),
        *_all_columns(shares, columns),
    ]
    return max(found, key=lambda each: each.excess)


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Shares of both halves of each cut, of shape (n_units, 2 · HALVES), minus their mean; 0 for a
    unit that one half lacks.

    known: what is predicted from; target: the other half's. both: flags of units with rows in both
    halves.
    """

    known: Floats
    target: Floats
    both: Bools

    @property
    def products(self) -> Floats:
        return self.known * self.target

    @property
    def reliability(self) -> float:
        """The correlation between halves; 0 or less if shares have no true part."""
        scale = np.sqrt((self.known**2).sum() * (self.target**2).sum())
        return float(self.products.sum() / scale) if scale > 0 else 0.0


def _halves(rows: UnitRows, n_units: int, rng: np.random.Generator) -> _Shares:
    n_others = int(rows.other.max()) + 1
    first, second, both = [], [], []
    for _ in range(HALVES):
        in_first = (rng.permutation(n_others) % 2 == 0)[rows.other]
        (a, count_a), (b, count_b) = rows.shares(in_first, n_units), rows.shares(~in_first, n_units)
        known = (count_a > 0) & (count_b > 0)
        first.append(np.where(known, a - a[known].mean(), 0.0) if known.any() else np.zeros_like(a))
        second.append(
            np.where(known, b - b[known].mean(), 0.0) if known.any() else np.zeros_like(b)
        )
        both.append(known)
    a_columns, b_columns, flags = np.stack(first, 1), np.stack(second, 1), np.stack(both, 1)
    return _Shares(
        np.hstack([a_columns, b_columns]),
        np.hstack([b_columns, a_columns]),
        np.hstack([flags, flags]),
    )


def _against_ceiling(shares: _Shares, predicted: Floats) -> ShareProbe:
    """Compare the share that predictions explain with the most that a prediction without the
    target's noise can explain.

    By Cauchy and Schwarz cov(prediction, target)² / var(prediction) is at most the variance of the
    true rates, which is the mean product of the halves. The influence of a unit on the difference
    gives its standard error.
    """
    counted = np.maximum(shares.both.sum(axis=0), 1)
    centred = np.where(
        shares.both, predicted - (predicted * shares.both).sum(axis=0) / counted, 0.0
    )
    variance = (centred**2).sum(axis=0) / counted
    slope = np.divide(
        (centred * shares.target).sum(axis=0) / counted,
        variance,
        out=np.zeros_like(variance),
        where=variance > 1e-12,
    )
    fit = np.clip(slope, 0.0, 1.5) * centred  # a prediction that is hardly one has any slope
    influence = (2 * fit * shares.target - fit**2 - shares.products).sum(axis=1) / np.maximum(
        shares.both.sum(axis=1), 1
    )
    influence = influence[shares.both.any(axis=1)]
    error = influence.std(ddof=1) / np.sqrt(len(influence))
    scale = np.sqrt((centred**2).sum() * (shares.target**2).sum())
    return ShareProbe(
        len(influence),
        float((centred * shares.target).sum() / scale) if scale > 0 else 0.0,
        float(np.sqrt(shares.reliability)),
        float(influence.mean() / error) if error > 0 else 0.0,
    )


def _ridge(columns: Floats, targets: Floats) -> Floats:
    """Return leave-one-out predictions of targets of shape (n_units, k) by ridge regression, each
    with its best penalty."""
    n_units, n_columns = columns.shape
    if n_columns < n_units:
        values, turned = np.linalg.eigh(columns.T @ columns)
        kept = values > 1e-11 * values.max()
        basis = columns @ turned[:, kept] / np.sqrt(values[kept])
    else:
        values, basis = np.linalg.eigh(columns @ columns.T)
        kept = values > 1e-11 * values.max()
        basis = basis[:, kept]
    values, centred = values[kept], targets - targets.mean(axis=0)
    parts, scale = basis.T @ centred, values.sum() / n_units
    spans_all = basis.shape[1] >= n_units - 1  # what is left outside then is rounding
    outside = np.zeros_like(centred) if spans_all else centred - basis @ parts
    room = (
        np.zeros(n_units)
        if spans_all
        else np.maximum(1 - 1 / n_units - (basis**2).sum(axis=1), 0.0)
    )
    best, predicted = np.full(targets.shape[1], np.inf), np.zeros_like(centred)
    for penalty in _PENALTIES:
        # 1 less what is shrunk, exact where that is nearly 1
        gap = penalty * scale / (values + penalty * scale)
        left_out = (outside + basis @ (gap[:, None] * parts)) / np.maximum(
            room + (basis**2) @ gap, 1e-12
        )[:, None]
        error = (left_out**2).sum(axis=0)
        better = error < best
        best[better], predicted[:, better] = error[better], (centred - left_out)[:, better]
    return np.asarray(predicted)


def _all_columns(shares: _Shares, columns: Floats) -> Iterator[ShareProbe]:
    """Compare the residual of a regression of whole shares on all columns with their noise, which
    it should leave unexplained.

    Shares that are turned into many columns are lost in a ridge that learns from half of the rows.
    What least squares leaves, by its degrees of freedom, is what no sum of the columns explains,
    however many there are. The noise is the variance of a share less the product of its halves.
    """
    counts = shares.both.sum(axis=1)
    used = np.flatnonzero(counts > 0)
    free = len(used) - columns.shape[1] - 1
    if free < LEAST_FREE:
        return
    whole = (0.5 * (shares.known + shares.target).sum(axis=1)[used] / counts[used])[:, None]
    whole -= whole.mean()
    known = columns[used] - columns[used].mean(axis=0)
    basis, sizes, _ = np.linalg.svd(known, full_matrices=False)
    basis = basis[:, sizes > 1e-6 * sizes.max()]
    free += columns.shape[1] - basis.shape[1]
    rest = whole - basis @ (basis.T @ whole)
    left = float((rest**2).sum()) / free
    noise = whole[:, 0] ** 2 - shares.products.sum(axis=1)[used] / counts[used]
    error = np.hypot(noise.std(ddof=1) / np.sqrt(len(used)), left * np.sqrt(2 / free))
    variance, excess = (
        float((whole**2).mean()),
        float((noise.mean() - left) / error) if error > 0 else 0.0,
    )
    explained, ceiling = (
        float(np.sqrt(np.clip(1 - part / variance, 0.0, 1.0))) for part in (left, noise.mean())
    )
    yield ShareProbe(len(used), explained, ceiling, excess)


def _fit(known: Floats, target: Floats, asked: Floats) -> Floats:
    """Return least squares with an intercept, read at `asked`."""
    with_one = [np.column_stack([np.ones(len(each)), each]) for each in (known, asked)]
    return np.asarray(with_one[1] @ np.linalg.lstsq(with_one[0], target, rcond=None)[0])


def _probe_fixed(rows: UnitRows, columns: Floats, rng: np.random.Generator) -> ShareProbe:
    """Predict the part of the shares that the number of rows does not explain, across folds of
    units."""
    n_units = len(columns)
    share, counts = rows.shares(np.ones(len(rows), dtype=np.bool_), n_units)
    alike = equal_groups(counts, max(1, n_units // _ROWS_ALIKE)).astype(np.intp) - 1
    left = share - _means(share[:, None], alike, np.ones(n_units, dtype=np.bool_))[:, 0]
    fold, found = rng.permutation(n_units) % FOLDS, np.zeros((n_units, 1 + len(_FEW_PENALTIES)))
    for each in range(FOLDS):
        known = fold != each
        values, target = (
            columns - _means(columns, alike, known),
            share - _means(share[:, None], alike, known)[:, 0],
        )
        top = np.argsort(-np.abs(values[known].T @ target[known]))[:_TOP_COLUMNS]
        found[~known, 0] = _fit(values[known][:, top], target[known], values[~known][:, top])
        found[~known, 1:] = values[~known] @ _ridge_weights(values[known], target[known])
    best = max(
        _correlation(each, left) for each in (_ridge(columns, left[:, None])[:, 0], *found.T)
    )
    return ShareProbe(n_units, best, excess=float(best * np.sqrt(n_units)), fixed=True)


def _means(columns: Floats, group: Codes, known: Bools) -> Floats:
    """Return, for each unit, the means of columns of shape (n_units, n_columns) over the other
    known units of its group.

    Means that include the unit would reveal its value, because the values sum to 0.
    """
    n_groups, at = int(group.max()) + 1, np.flatnonzero(known)
    sums = csr_array((np.ones(len(at)), (group[at], at)), shape=(n_groups, len(group))) @ columns
    return np.asarray((sums / np.maximum(sum_by_group(group[at], n_groups), 1)[:, None])[group])


def _ridge_weights(columns: Floats, target: Floats) -> Floats:
    """Return weights of ridge regressions without an intercept, of shape (n_columns, k), by
    penalties in mean eigenvalues."""
    wide = columns.shape[1] > len(columns)
    # both have the eigenvalues that are not 0
    square = columns @ columns.T if wide else columns.T @ columns
    known = target if wide else columns.T @ target
    size, diagonal = max(np.trace(square) / len(columns), 1e-12), np.eye(len(square))
    fits = np.stack(
        [
            solve(square + penalty * size * diagonal, known, assume_a="pos")
            for penalty in _FEW_PENALTIES
        ],
        1,
    )
    return np.asarray(columns.T @ fits if wide else fits)


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 1e-12 else 0.0
