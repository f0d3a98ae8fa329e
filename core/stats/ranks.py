"""Mid-ranks and percentiles. Only this module rounds numbers before ranking."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Floats

# Sums of decimals (0.1 + 0.2) must not break ties, and log-probabilities near 0 and 1 must not be
# made equal.
DECIMALS = 14


def round_for_ranks(values: ArrayLike) -> Floats:
    """Return `values` rounded to 14 decimals, so that numbers that were meant to be equal are
    equal; NaN stays NaN."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), DECIMALS), dtype=np.float64)


def midranks(values: ArrayLike) -> Floats:
    """Return ranks from 1 to n of shape (n_rows,), equal values sharing their mean rank; NaN stays
    NaN and is not counted."""
    rounded = round_for_ranks(validate.numbers("values", values, missing=True))
    covered = ~np.isnan(rounded)
    reference = np.sort(rounded[covered])
    ranks = np.full(len(rounded), np.nan)
    ranks[covered] = _ranks_among(reference, rounded[covered])
    return ranks


def ranks_from_top(values: ArrayLike) -> Floats:
    """Return ranks counted from the top, as shown on pages: 1 for the largest value."""
    return midranks(-np.asarray(values, dtype=np.float64))


def rank_from_top(values: ArrayLike, value: float) -> tuple[int, int]:
    """Return the rank of `value` among the values, 1 for the highest, and how many values equal it;
    NaN is not counted."""
    ranked, rank_value = round_for_ranks(values), round_for_ranks(value)
    return int(np.count_nonzero(ranked > rank_value)) + 1, int(
        np.count_nonzero(ranked == rank_value)
    )


def percentiles(values: ArrayLike) -> Floats:
    """Return Mid-rank / (n + 1), in (0, 1), where n counts the values that are not NaN; NaN stays
    NaN."""
    ranks = midranks(values)
    return ranks / (np.count_nonzero(~np.isnan(ranks)) + 1)


def percentiles_against(reference: ArrayLike, values: ArrayLike) -> Floats:
    """Return the percentile of each value among the reference values, which does not depend on the
    other `values`.

    Equal to `percentiles` if `values` is the reference itself. A value that does not occur in the
    reference lies half a rank above the reference values below it. NaN in the reference is left
    out, NaN in `values` stays NaN.
    """
    reference_values = round_for_ranks(validate.numbers("reference", reference, missing=True))
    reference_values = np.sort(reference_values[~np.isnan(reference_values)])
    rounded = round_for_ranks(validate.numbers("values", values, missing=True))
    return np.where(
        np.isnan(rounded),
        np.nan,
        _ranks_among(reference_values, rounded) / (len(reference_values) + 1),
    )


def nearest_percentiles(values: Floats) -> tuple[Floats, float]:
    """Return the nearest percentile that `percentiles` could give to each of n values, and the
    largest distance to it.

    Mid-ranks are multiples of a half, so percentiles are multiples of 1 / (2 (n + 1)); the distance
    is in these steps. values: of shape (n,), without NaN.
    """
    n_steps = 2 * (len(values) + 1)
    steps = values * n_steps
    nearest = np.round(steps)
    return nearest / n_steps, float(np.abs(steps - nearest).max(initial=0.0))


def equal_groups(values: ArrayLike, n_groups: int) -> Floats:
    """Return the group from 1 (the lowest values) to `n_groups` of each value, groups being as
    equal in size as ties allow.

    A value of mid-rank r among n is in the group r · n_groups / n, rounded up; NaN stays NaN and is
    not counted.
    """
    ranks = midranks(values)
    return np.ceil(ranks * n_groups / np.count_nonzero(~np.isnan(ranks)))


def _ranks_among(reference: Floats, values: Floats) -> Floats:
    """Return Mid-rank of each value among the sorted `reference`; between two of its ranks for a
    value that it lacks."""
    below = np.searchsorted(reference, values, side="left")
    through = np.searchsorted(reference, values, side="right")
    return (below + through + 1) / 2
