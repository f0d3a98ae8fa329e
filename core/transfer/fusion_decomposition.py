"""Recover a component's percentiles from a base run and a fusion of the two: pct(other) = (fused - (1-w)·pct(base)) / w."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Floats
from core.stats.ranks import nearest_percentiles, percentiles
from core.stats.scores_and_labels import Scores

SAME = 5e-6  # files have six decimals: a number closer to the base's percentile is the base's percentile
FAR = 0.25  # of a step between percentiles; a wrong weight leaves half the rows farther away


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredComponent:
    """The other component's percentiles, of shape (n_rows,), NaN for rows that it does not cover.

    farthest: the largest distance, before rounding, from a number to the nearest possible percentile, in steps between
    percentiles, for DE and for DIR.
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
    fusion had). Raises InputError if the results are not percentiles: then the weights or the runs are not those of
    the fusion.
    """
    n = validate.same_length(base=base, fused=fused)
    for name, weight in (("w_de", w_de), ("w_dir", w_dir)):
        if not 0 < weight <= 1:
            raise InputError(f"{name}: got {weight}; expected a weight above 0, up to 1")
    base_de, base_up = percentiles(base.p_de), percentiles(base.p_up)
    # A covered row may be level with the base in one of the two; p_up is a ratio of decimals, coarser where p_de is small.
    covered = (np.abs(fused.p_de - base_de) >= SAME) | (np.abs(fused.p_up - base_up) * fused.p_de >= SAME)
    tasks = ("DE", fused.p_de, base_de, w_de), ("DIR", fused.p_up, base_up, w_dir)
    recovered, farthest = np.full((2, n), np.nan), []
    for column, (name, fused_pct, base_pct, weight) in zip(recovered, tasks, strict=True):
        column[covered], distance = _snap_to_percentiles(name, ((fused_pct - (1 - weight) * base_pct) / weight)[covered])
        farthest.append(distance)
    return RecoveredComponent(recovered[0], recovered[1], (farthest[0], farthest[1]))


def _snap_to_percentiles(name: str, values: Floats) -> tuple[Floats, float]:
    """The nearest percentiles, and the largest distance to one. Raises InputError if rounding does not explain that distance."""
    snapped, farthest = nearest_percentiles(values)
    if not farthest <= FAR:
        raise InputError(
            f"{name}: a recovered percentile lies {farthest:.2f} of a step from the grid of {len(values)} ranks; "
            f"expected at most {FAR}: other weights, or not a fusion of this base"
        )
    return snapped, farthest
