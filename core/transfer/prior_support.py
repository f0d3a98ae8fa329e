"""Shrink priors and weight components by support, the sum of weights behind a row's prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats import validate
from core.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class SupportRange:
    """The least (low) and the largest (high) support in a reference population."""

    low: float
    high: float

    def scale(self, support: ArrayLike) -> Floats:
        """Return support scaled from 0 (the least) to 1 (the largest) and clipped; 0 if both are
        equal."""
        values = validate.numbers("support", support)
        width = self.high - self.low
        return (
            np.clip((values - self.low) / width, 0.0, 1.0) if width > 0 else np.zeros(len(values))
        )


def support_range(reference: ArrayLike) -> SupportRange:
    """Return the range over the covered rows (support above 0) of a reference population;
    reference: of shape (n_rows,)."""
    values = validate.numbers("reference", reference)
    covered = values[values > 0]
    if not len(covered):
        raise InputError("reference: no row has support; expected at least one")
    return SupportRange(float(covered.min()), float(covered.max()))


def shrink_to_half(
    prior: ArrayLike, support: ArrayLike, reference: SupportRange, strength: float
) -> Floats:
    """Return priors shrunk towards 0.5: a · prior + (1 - a) / 2 with a = 1 - strength · (support -
    min) / (max - min).

    prior, support: of shape (n_rows,), the prior NaN for rows that are not covered; strength: in
    [0, 1].
    """
    values = validate.numbers("prior", prior, missing=True)
    a = 1 - _share("strength", strength) * reference.scale(support)
    validate.same_length(prior=values, support=a)
    return a * values + (1 - a) / 2


def weights_by_support(
    low_weight: float, high_weight: float, support: ArrayLike, reference: SupportRange
) -> Floats:
    """Return a component's weight in each row, in [0, 1]: from `low_weight` at the least support to
    `high_weight` at the largest.
    """
    low, high = _share("low_weight", low_weight), _share("high_weight", high_weight)
    return low + (high - low) * reference.scale(support)


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise InputError(f"{name}: got {value}; expected a number from 0 to 1")
    return value
