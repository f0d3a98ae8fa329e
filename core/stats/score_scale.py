"""A score on the scale from what knows no biology (0) to what a replicate of the screen reaches (1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.stats.arrays import Codes, Floats
from core.stats.official_score import point_values
from core.stats.scores_and_labels import Outcome, Scores

RESAMPLES: Final = 200
LEAST_SHARE: Final = 0.9  # of the resamples in which the replicate has to be above the floor, for an interval


@dataclass(frozen=True, slots=True)
class ScaledScore:
    """One question. score, floor, ceiling: AUROCs of the run, of the no-biology control and of the replicate on the same rows.

    value: (score − floor) / (ceiling − floor), NaN unless the ceiling is above the floor. low, high: its 95% interval by a
    bootstrap of perturbations, in which all three are computed anew; NaN where the ceiling is not surely above the floor.
    """

    score: float
    floor: float
    ceiling: float
    value: float
    low: float
    high: float


def scaled_scores(
    outcome: Outcome, arms: Sequence[Scores], pert: Codes, cells: Codes | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[ScaledScore, ScaledScore]:
    """Return DE and DIR on the scale. arms: the run, the control and the replicate; every array of shape (n_rows,).

    cells: codes, only pairs of rows inside one cell count; None: all pairs.
    """
    own = _values(outcome, arms, cells)
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(pert == code) for code in np.unique(pert)]
    drawn = np.full((resamples, 3, 2), np.nan)
    for i in range(resamples):
        at = np.concatenate([rows[j] for j in rng.integers(len(rows), size=len(rows))])
        taken = [Scores(each.p_de[at], each.p_up[at]) for each in arms]
        drawn[i] = _values(outcome.take(at), taken, None if cells is None else cells[at])
    de, direction = (_scaled(own[:, axis], drawn[:, :, axis]) for axis in (0, 1))
    return de, direction


def _values(outcome: Outcome, arms: Sequence[Scores], cells: Codes | None) -> Floats:
    return np.array([point_values(outcome, scores, cells) for scores in arms])


def _scaled(own: Floats, drawn: Floats) -> ScaledScore:
    """own: of shape (3,); drawn: of shape (n_resamples, 3)."""
    score, floor, ceiling = own.tolist()
    if not ceiling > floor:
        return ScaledScore(score, floor, ceiling, *[float("nan")] * 3)
    above = drawn[:, 2] > drawn[:, 1]
    low = high = float("nan")
    if above.mean() >= LEAST_SHARE:
        ratios = (drawn[above, 0] - drawn[above, 1]) / (drawn[above, 2] - drawn[above, 1])
        low, high = np.quantile(ratios, [0.025, 0.975]).tolist()
    return ScaledScore(score, floor, ceiling, (score - floor) / (ceiling - floor), low, high)
