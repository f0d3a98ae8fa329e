"""What a metric of a ranking is expected to be over all orders of genes that tie, so that the order of columns decides nothing.

A tie is a run of places that its genes fill in random order; different ties are independent. m targets among t tied genes, of
which the first c places count, are all missed with probability C(t - c, m) / C(t, m) (hypergeometric).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np


@dataclass(frozen=True, slots=True)
class Tie:
    """Genes of one score. first: the first of their places, from 1; tied: how many genes; targets: how many of them, above 0."""

    first: int
    tied: int
    targets: int

    def inside(self, k: int) -> int:
        """Return how many of the places are among the first k."""
        return min(max(k - self.first + 1, 0), self.tied)


def expected_relevant_hit(ties: Sequence[Tie], k: int) -> Fraction:
    """Return the probability that any target is among the first k."""
    return 1 - prod((_none_of(tie.tied - tie.inside(k), tie.tied, tie.targets) for tie in ties), start=Fraction(1))


def expected_exact_hit(ties: Sequence[Tie], k: int, n_targets: int) -> Fraction:
    """Return the probability that all of n_targets are among the first k; 0 if some are not ranked."""
    if sum(tie.targets for tie in ties) < n_targets:
        return Fraction(0)
    return prod((_none_of(tie.inside(k), tie.tied, tie.targets) for tie in ties), start=Fraction(1))


def expected_recall(ties: Sequence[Tie], k: int, n_targets: int) -> Fraction:
    """Return the expected share of n_targets that is among the first k."""
    return sum((Fraction(tie.targets * tie.inside(k), tie.tied) for tie in ties), start=Fraction(0)) / n_targets


def expected_reciprocal_rank(ties: Sequence[Tie]) -> float:
    """Return the expected 1 / place of the first target; 0 if none is ranked."""
    best = min(ties, key=lambda tie: tie.first, default=None)
    return 0.0 if best is None else _reciprocal(best.first, best.tied, best.targets)


@lru_cache(maxsize=65_536)
def _none_of(places: int, tied: int, targets: int) -> Fraction:
    """The probability that all of the targets fall on `places` of the tied ones."""
    return prod((Fraction(max(places - i, 0), tied - i) for i in range(targets)), start=Fraction(1))


@lru_cache(maxsize=65_536)
def _reciprocal(first: int, tied: int, targets: int) -> float:
    """The r-th of t places is the first of m targets with probability C(t - r, m - 1) / C(t, m)."""
    if tied == 1:
        return 1 / first
    before = np.arange(tied - targets)  # places that are passed over, each by the share of the rest that is no target
    passed = np.concatenate(([1.0], np.cumprod((tied - targets - before) / (tied - before))))
    places = np.arange(len(passed))
    return float((passed * targets / (tied - places) / (first + places)).sum())
