"""Recalibration of probabilities by a logistic curve that is fitted on other perturbations (Platt
1999).

Two numbers, an intercept and a slope of the log odds, leave the order of the rows of a fold as it
is and make no ties, which isotonic regression would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from core.stats import validate
from core.stats.arrays import Bools, Floats
from core.stats.selection_optimism import cut_codes

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
    found = np.empty(len(p))
    for fold in np.unique(part):
        inside = part == fold
        intercept, slope = fit_logistic(odds[~inside], happened[~inside])
        found[inside] = expit(intercept + slope * odds[inside])
    return Recalibrated(found, *fit_logistic(odds, happened))


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
