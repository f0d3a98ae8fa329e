"""Draw texts for people to read, each with its inclusion probability.

Every text has a probability above 0, because estimates weight a text by one over its probability. Sources: Cochran, Sampling
Techniques, 3rd ed., 1977, chapter 5 (strata); Madow, Annals of Mathematical Statistics 20 (1949), 333-354 (systematic sampling
with unequal probabilities).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

LEAST_SHARE = 0.2  # the least probability of a text that the judge is sure of, as share of its probability in a random sample


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The drawn texts. places: their positions among all texts, shape (size,), in random reading order. probabilities:
    inclusion probabilities, shape (size,), each in (0, 1].
    """

    places: NDArray[np.int64]
    probabilities: NDArray[np.float64]


def draw_random(n: int, size: int, rng: np.random.Generator) -> Drawn:
    """Draw `size` of n texts with equal probability, or all of them if there are fewer."""
    size = _checked_size(n, size)
    return Drawn(rng.permutation(n)[:size], np.full(size, size / n))


def draw_stratified(strata: Sequence[str], size: int, rng: np.random.Generator) -> Drawn:
    """Draw equally many texts from each stratum, or all of a small one; the largest strata give the rest.

    strata: of each text, shape (n,). A text's probability is the share of its stratum that is drawn. Raise InputError if there
    are more strata than texts to draw, because some texts would have probability 0.
    """
    names = np.asarray(strata, dtype=str)
    size = _checked_size(len(names), size)
    known, stratum, counts = np.unique(names, return_inverse=True, return_counts=True)
    if size < len(known):
        raise InputError(f"sample: {size} texts from {len(known)} strata, expected at least one from each")
    drawn = _equal_shares(counts, size)
    order = rng.permutation(len(names))
    place_in_stratum = np.empty(len(names), dtype=np.int64)
    for each in range(len(known)):
        members = order[stratum[order] == each]
        place_in_stratum[members] = np.arange(len(members))
    places = order[place_in_stratum[order] < drawn[stratum[order]]]
    return Drawn(places, (drawn / counts)[stratum[places]])


def _equal_shares(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the number to draw from strata of these sizes: equal numbers, as far as the sizes allow."""
    drawn = np.zeros_like(counts)
    while (left := size - int(drawn.sum())) > 0:
        open_strata = np.flatnonzero(drawn < counts)
        share = left // len(open_strata)
        if share == 0:
            largest = open_strata[np.argsort(-counts[open_strata], kind="stable")]
            drawn[largest[:left]] += 1
        else:
            drawn[open_strata] += np.minimum(share, (counts - drawn)[open_strata])
    return drawn


def draw_unsure(p: NDArray[np.float64], size: int, rng: np.random.Generator) -> Drawn:
    """Draw `size` texts, preferring those where a judge is unsure.

    Sampling is systematic, in random order, with probabilities in proportion to p (1 - p) + a floor. p: the judge's probability
    of its first answer, shape (n,); NaN counts as 0.5 (unknown). The floor keeps every text's probability at LEAST_SHARE of the
    mean or more. Raise InputError for p outside [0, 1].
    """
    if ((p < 0) | (p > 1)).any():
        raise InputError(f"sample: probability {p[(p < 0) | (p > 1)][0]:g}, expected values from 0 to 1")
    size = _checked_size(len(p), size)
    filled = np.where(np.isnan(p), 0.5, p)
    probabilities = inclusion_probabilities(filled * (1 - filled), size)
    order = rng.permutation(len(p))
    ends = np.cumsum(probabilities[order])
    ends[-1] = size  # rounding may miss it
    starts = np.concatenate([[0.0], ends[:-1]])
    first = rng.uniform()
    is_drawn = np.floor(ends - first) > np.floor(starts - first)  # one of first, first + 1, … lies in (start, end]
    places = order[is_drawn]
    return Drawn(places, probabilities[places])


def inclusion_probabilities(unsureness: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return probabilities of shape (n,) that sum to `size`, none above 1, proportional to unsureness plus a floor."""
    mean = unsureness.mean()
    weights = (1 - LEAST_SHARE) * unsureness / mean + LEAST_SHARE if mean > 0 else np.ones_like(unsureness)
    probabilities = np.zeros_like(weights)
    is_certain = np.zeros(len(weights), dtype=bool)
    while True:
        rest = size - int(is_certain.sum())
        probabilities = np.where(is_certain, 1.0, weights * rest / max(weights[~is_certain].sum(), np.finfo(float).tiny))
        above = (probabilities >= 1) & ~is_certain
        if not above.any():
            return probabilities
        is_certain |= above


def _checked_size(n: int, size: int) -> int:
    if size < 1:
        raise InputError(f"sample: {size} texts, expected at least 1")
    if n == 0:
        raise InputError("sample: there is no text to draw from, expected at least 1")
    return min(n, size)
