"""Mid-ranks and percentiles, and the only place where numbers are rounded before they are ranked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Floats

DECIMALS = 9  # sums of decimals (0.1 + 0.2) must not break ties


def round_for_ranks(values: ArrayLike) -> Floats:
    """`values` rounded to 9 decimals, so that numbers that were meant equal are equal; NaN stays NaN."""
    return np.asarray(np.round(np.asarray(values, dtype=np.float64), DECIMALS), dtype=np.float64)


def midranks(values: ArrayLike) -> Floats:
    """Ranks from 1 to n of shape (n_rows,), equal values sharing their mean rank; NaN stays NaN and is not counted."""
    settled = round_for_ranks(validate.numbers("values", values, missing=True))
    covered = ~np.isnan(settled)
    known = np.sort(settled[covered])
    ranks = np.full(len(settled), np.nan)
    ranks[covered] = _position(known, settled[covered])
    return ranks


def percentiles(values: ArrayLike) -> Floats:
    """Mid-rank / (n + 1), in (0, 1), where n counts the values that are not NaN; NaN stays NaN."""
    ranks = midranks(values)
    return ranks / (np.count_nonzero(~np.isnan(ranks)) + 1)


def percentiles_against(reference: ArrayLike, values: ArrayLike) -> Floats:
    """Percentile of each value among the reference values: what it does not depend on is the other `values`.

    Equal to `percentiles` where `values` is the reference itself; a value that the reference lacks lies half a rank
    above the ones below it. NaN in the reference is left out, NaN in `values` stays NaN.
    """
    known = round_for_ranks(validate.numbers("reference", reference, missing=True))
    known = np.sort(known[~np.isnan(known)])
    settled = round_for_ranks(validate.numbers("values", values, missing=True))
    return np.where(np.isnan(settled), np.nan, _position(known, settled) / (len(known) + 1))


def _position(known: Floats, values: Floats) -> Floats:
    """Mid-rank of each value among the sorted `known`; between two of them where it equals none."""
    below = np.searchsorted(known, values, side="left")
    through = np.searchsorted(known, values, side="right")
    ranks: Floats = (below + through + 1) / 2  # for a value between two others: the number below it and a half
    return ranks
