"""Calibration of probabilities, and how far ties could move an AUROC.

An increasing function of the scores changes their calibration but not their AUROC; only breaking ties can change that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes, Floats, sum_by_group
from core.stats.auroc import placements
from core.stats.intervals import Interval, wilson_interval
from core.stats.ranks import round_for_ranks


@dataclass(frozen=True, slots=True)
class Bin:
    """The rows with a probability in [low, high), the last bin including 1; mean_probability is NaN for an empty bin."""

    low: float
    high: float
    mean_probability: float
    observed: Interval


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability curve with two summaries, of which 0 is perfect and which are NaN without rows.

    ece: expected calibration error, Σ share of rows · |mean probability - observed share| over bins. brier: mean squared
    error of the probability.
    """

    n: int
    bins: tuple[Bin, ...]
    ece: float
    brier: float


@dataclass(frozen=True, slots=True)
class TieBounds:
    """The AUROC with every tie lost (floor), counted half (auroc) and won (ceiling); all NaN with one class.

    tied_pairs: the share of positive-negative pairs that are ties; distinct: number of distinct scores.
    """

    floor: float
    auroc: float
    ceiling: float
    tied_pairs: float
    distinct: int


def reliability(positive: ArrayLike, probability: ArrayLike, bins: int = 10) -> Reliability:
    """Reliability over equally wide bins; positive: flags, probability: in [0, 1], both of shape (n_rows,)."""
    happened = validate.flags("positive", positive)
    p = validate.probabilities("probability", probability)
    n = validate.same_length(positive=happened, probability=p)
    edges = round_for_ranks(np.linspace(0, 1, validate.whole_number("bins", bins, 1) + 1))
    place: Codes = np.clip(np.searchsorted(edges, round_for_ranks(p), side="right") - 1, 0, bins - 1)
    rows, hits = sum_by_group(place, bins), sum_by_group(place, bins, happened)
    mean = _means(sum_by_group(place, bins, p), rows)
    curve = tuple(
        Bin(float(edges[k]), float(edges[k + 1]), float(mean[k]), wilson_interval(int(hits[k]), int(rows[k])))
        for k in range(bins)
    )
    gaps = np.abs(mean - _means(hits, rows))[rows > 0]
    ece = float(gaps @ rows[rows > 0] / n) if n else float("nan")
    return Reliability(n, curve, ece, float(np.mean((p - happened) ** 2)) if n else float("nan"))


def _means(total: Floats, rows: Floats) -> Floats:
    """Sums divided by numbers of rows, of shape (n_bins,); NaN for an empty bin."""
    means: Floats = np.divide(total, rows, out=np.full(len(rows), np.nan), where=rows > 0)
    return means


def tie_bounds(positive: ArrayLike, values: ArrayLike) -> TieBounds:
    """The AUROCs that the best and the worst possible tie-breaker would give scores that are rounded to 14 decimals.

    positive: flags, values: finite numbers, both of shape (n_rows,).
    """
    chosen = validate.flags("positive", positive)
    rounded = round_for_ranks(validate.numbers("values", values))
    validate.same_length(positive=chosen, values=rounded)
    placed = placements(chosen, rounded)
    distinct, group = np.unique(rounded, return_inverse=True)
    hits = sum_by_group(group, len(distinct), chosen)
    tied = hits @ (sum_by_group(group, len(distinct)) - hits)
    pairs, auroc = float(placed.pairs[0]), float(placed.auroc[0])
    share = float(tied / pairs) if pairs else float("nan")
    return TieBounds(auroc - share / 2, auroc, auroc + share / 2, share, len(distinct))
