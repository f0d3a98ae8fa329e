"""Calibration of probabilities, and how far ties could move an AUROC.

An increasing function of the scores changes their calibration but not their AUROC; only breaking
ties can change that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr, stdtrit

from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats, codes_or_one, divide, sum_by_group
from core.stats.auroc import level_negatives, placements
from core.stats.clustered_mean import means_within
from core.stats.intervals import Interval
from core.stats.ranks import round_for_ranks
from core.stats.selection_optimism import cut_codes


@dataclass(frozen=True, slots=True)
class Bin:
    """The rows with a probability in [low, high), the last bin including 1.

    observed: the share of positives, with the interval shown. band_low, band_high: the share that a
    calibrated model would show in 95 of 100 data sets with as many perturbations and genes (a
    consistency band), around mean_probability.
    """

    low: float
    high: float
    mean_probability: float
    observed: Interval
    band_low: float
    band_high: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability curve, of bins with rows, and its summaries, of which 0 is perfect and which
    are NaN without rows.

    ece: expected calibration error, Σ share of rows · |mean probability - observed share| over
    bins; sampling noise alone makes it positive. debiased: ece minus the contribution of such noise
    to the absolute distances, at least 0. brier: mean squared error of the probability.
    """

    n: int
    bins: tuple[Bin, ...]
    ece: float
    debiased: float
    brier: float


@dataclass(frozen=True, slots=True)
class TieBounds:
    """The AUROC with every tie lost (floor), counted half (auroc) and won (ceiling); all NaN with
    one class.

    tied_pairs: the share of positive-negative pairs that are ties; distinct: number of distinct
    scores.
    """

    floor: float
    auroc: float
    ceiling: float
    tied_pairs: float
    distinct: int


def reliability(
    positive: ArrayLike, probability: ArrayLike, pert: ArrayLike, gene: ArrayLike, bins: int = 10
) -> Reliability:
    """Reliability over equally wide bins; positive: flags, probability: in [0, 1], all of shape
    (n_rows,).

    Consistency bands: Bröcker and Smith 2007, here by the clustered variance of what is left of the
    labels in a bin, or a calibrated model's binomial variance if that is larger. Debiased: Kumar,
    Liang and Ma 2019, with the clustered variance.
    """
    happened, p = (
        validate.flags("positive", positive),
        validate.probabilities("probability", probability),
    )
    perts, genes = validate.axes(pert, gene)
    n = validate.same_length(positive=happened, probability=p, pert=perts, gene=genes)
    edges = round_for_ranks(np.linspace(0, 1, validate.whole_number("bins", bins, 1) + 1))
    if not n:
        return Reliability(0, (), *[float("nan")] * 3)
    place = np.clip(np.searchsorted(edges, round_for_ranks(p), side="right") - 1, 0, bins - 1)
    used, code = np.unique(place, return_inverse=True)
    observed = means_within(happened.astype(np.float64), code, perts, genes)
    residual = means_within(happened - p, code, perts, genes, (-1.0, 1.0))
    rows = sum_by_group(code, len(used))
    mean, binomial = (sum_by_group(code, len(used), each) / rows for each in (p, p * (1 - p)))
    curve = []
    for k, bin_ in enumerate(used):
        # half of the band: the larger standard error with Student's t
        shown = residual[k].shown
        half = float(np.fmax(shown.se, np.sqrt(binomial[k] / rows[k])) * stdtrit(shown.df, 0.975))
        band = np.clip((mean[k] - half, mean[k] + half), 0.0, 1.0)
        curve.append(
            Bin(
                float(edges[bin_]),
                float(edges[bin_ + 1]),
                float(mean[k]),
                observed[k].shown,
                *map(float, band),
            )
        )
    distance = np.array([each.value for each in residual])
    noise = np.array([each.two_way.se for each in residual])
    noise = np.where(np.isnan(noise), np.sqrt(binomial / rows), noise)
    ratio = divide(distance, noise, np.inf)
    added = np.asarray(
        noise * np.sqrt(2 / np.pi) * np.exp(-np.square(ratio) / 2)
        + np.abs(distance) * (1 - 2 * ndtr(-np.abs(ratio)))
    ) - np.abs(distance)
    debiased = max(0.0, float(rows @ (np.abs(distance) - added) / n))
    ece, brier = float(rows @ np.abs(distance) / n), float(np.mean((p - happened) ** 2))
    return Reliability(n, tuple(curve), ece, debiased, brier)


def tie_bounds(positive: ArrayLike, values: ArrayLike, cells: Codes | None = None) -> TieBounds:
    """Return the AUROCs that the best and the worst possible tie-breaker would give scores that are
    rounded to 14 decimals.

    positive: flags, values: finite numbers, both of shape (n_rows,). cells: codes, only pairs of
    rows inside one cell count; None: all pairs.
    """
    chosen = validate.flags("positive", positive)
    rounded = round_for_ranks(validate.numbers("values", values))
    n = validate.same_length(positive=chosen, values=rounded)
    cell = codes_or_one(cells, n)
    placed = placements(chosen, rounded, cell)
    pairs = placed.pairs.sum()
    if pairs == 0:
        nan = float("nan")
        return TieBounds(nan, nan, nan, nan, len(np.unique(rounded)))
    auroc = float(placed.won[chosen].sum() / pairs)
    share = float(level_negatives(chosen, rounded, cell)[chosen].sum() / pairs)
    return TieBounds(auroc - share / 2, auroc, auroc + share / 2, share, len(np.unique(rounded)))


LEAST = 1e-6  # probabilities are moved this far away from 0 and 1, which have no log odds
# of both numbers around no change; without it a fold that is separated perfectly has no fit
PRIOR_PRECISION = 0.01
STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Recalibrated:
    """Probabilities of shape (n_rows,), each from a curve that saw no row of its perturbation.

    intercept, slope: of the curve over all rows; 0 and 1 change nothing, a slope below 1 says that
    predictions are too extreme.
    """

    probability: Floats
    intercept: float
    slope: float


def recalibrate(
    positive: ArrayLike, probability: ArrayLike, pert: ArrayLike, seed: int, folds: int = 5
) -> Recalibrated:
    """Recalibrate out of fold; positive: flags, probability: in [0, 1], pert: names or codes, all
    of shape (n_rows,)."""
    happened, p = (
        validate.flags("positive", positive),
        validate.probabilities("probability", probability),
    )
    perts = validate.codes("pert", pert)
    validate.same_length(positive=happened, probability=p, pert=perts)
    rng = np.random.default_rng(validate.whole_number("seed", seed, 0))
    part = cut_codes(perts, validate.whole_number("folds", folds, 2), rng)
    odds = logit(np.clip(p, LEAST, 1 - LEAST))
    recalibrated = np.empty(len(p))
    for fold in np.unique(part):
        inside = part == fold
        intercept, slope = fit_logistic(odds[~inside], happened[~inside])
        recalibrated[inside] = expit(intercept + slope * odds[inside])
    return Recalibrated(recalibrated, *fit_logistic(odds, happened))


def fit_logistic(odds: Floats, positive: Bools) -> tuple[float, float]:
    """Return intercept and slope of the likeliest logistic curve over log odds, by Newton's method
    with halved steps."""
    design = np.stack([np.ones(len(odds)), odds], axis=1)
    unchanged = np.array([0.0, 1.0])

    def loss(coefficients: Floats) -> float:
        line = design @ coefficients
        return float(
            np.logaddexp(0, line).sum() - line[positive].sum()
        ) + PRIOR_PRECISION / 2 * float(np.square(coefficients - unchanged).sum())

    now = unchanged
    for _ in range(STEPS):
        fitted = expit(design @ now)
        gradient = design.T @ (fitted - positive) + PRIOR_PRECISION * (now - unchanged)
        curvature = (design.T * (fitted * (1 - fitted))) @ design + PRIOR_PRECISION * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while loss(now - step) > loss(now) and np.abs(step).max() > 1e-12:
            step = step / 2
        now = now - step
        if np.abs(step).max() < 1e-10:
            break
    return float(now[0]), float(now[1])
