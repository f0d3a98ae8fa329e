"""A component's percentiles back from a base run and a fusion of the two: pct(other) = (fused - (1-w)·pct(base)) / w."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Floats
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import Scores

SAME = 5e-6  # files have six decimals: what is closer to the base's percentile is the base's percentile
FAR = 0.25  # of a step of the grid; a wrong weight leaves half the rows farther away


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredComponent:
    """The other component's percentiles on their grid, of shape (n_rows,), NaN where it does not cover the row.

    farthest: the largest distance to the grid that was seen, in steps of it, for DE and for DIR.
    """

    p_de: Floats
    p_up: Floats
    farthest: tuple[float, float]

    @property
    def uncovered(self) -> Bools:
        return np.isnan(self.p_de)


def decompose_fusion(base: Scores, fused: Scores, w_de: float, w_dir: float) -> RecoveredComponent:
    """The component that was fused with the base at weights w_de and w_dir in (0, 1]; both runs of shape (n_rows,).

    base: with its probabilities as they were ranked (from the trace: sums of rounded predictions break ties that the
    fusion had). InputError where the result does not lie on the grid of percentiles, so the weights or the runs are
    not those of the fusion.
    """
    n = validate.same_length(base=base, fused=fused)
    for name, weight in (("w_de", w_de), ("w_dir", w_dir)):
        if not 0 < weight <= 1:
            raise InputError(f"{name}: got {weight}; expected a weight above 0, up to 1")
    own_de, own_up = percentiles(base.p_de), percentiles(base.p_up)
    # A covered row may be level with the base in one of the two; p_up is a ratio of decimals, coarser where p_de is small.
    covered = (np.abs(fused.p_de - own_de) >= SAME) | (np.abs(fused.p_up - own_up) * fused.p_de >= SAME)
    columns = ("DE", fused.p_de, own_de, w_de), ("DIR", fused.p_up, own_up, w_dir)
    found, farthest = np.full((2, n), np.nan), []
    for column, (name, mixed, mine, weight) in zip(found, columns, strict=True):
        column[covered], distance = _snap_to_percentiles(name, ((mixed - (1 - weight) * mine) / weight)[covered])
        farthest.append(distance)
    return RecoveredComponent(found[0], found[1], (farthest[0], farthest[1]))


def _snap_to_percentiles(name: str, values: Floats) -> tuple[Floats, float]:
    """Values moved to the nearest multiple of 1 / (2 (m + 1)), that of mid-ranks of m rows, and how far at most."""
    steps = values * 2 * (len(values) + 1)
    grid = np.round(steps)
    farthest = float(np.abs(steps - grid).max(initial=0.0))
    if not farthest <= FAR:
        raise InputError(
            f"{name}: a recovered percentile lies {farthest:.2f} of a step from the grid of {len(values)} ranks; "
            f"expected at most {FAR}: other weights, or not a fusion of this base"
        )
    return grid / (2 * (len(values) + 1)), farthest
