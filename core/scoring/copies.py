"""Whether two names are one gene: the rows of one are those of the other, more than chance would have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Generic, TypeVar

K = TypeVar("K")
LEAST_ALIKE, ALIKE = 2, 0.8  # number and share of common rows
SURE = log(1000)  # of the odds against chance


@dataclass(frozen=True, slots=True)
class CopyEvidence(Generic[K]):
    """What a row in common says: surprise: −log of each label's share; of_row: −log of the share of pairs that were measured."""

    surprise: Mapping[object, float]
    of_row: float

    @classmethod
    def of(cls, labels: Iterable[object], n_perts: int, n_genes: int) -> CopyEvidence[K]:
        """The evidence on labelled rows of so many perturbations and target genes."""
        counts = Counter(labels)
        n = counts.total()
        if not n:
            return cls({}, 0.0)
        return cls({label: -log(count / n) for label, count in counts.items()}, max(0.0, -log(n / (n_perts * n_genes))))

    def weigh(self, one: Mapping[K, object], other: Mapping[K, object]) -> float:
        """The log odds that two names are copies rather than alike by chance, 0 if they are none; label by the other axis."""
        odds, differ = self.compare(one, other)
        return 0.0 if differ else odds

    def compare(self, one: Mapping[K, object], other: Mapping[K, object]) -> tuple[float, int]:
        """The log odds of the rows in common with equal labels, 0 if too few are in common; and how many labels differ."""
        both = one.keys() & other.keys()
        if len(both) < max(LEAST_ALIKE, ALIKE * len(one.keys() | other.keys())):
            return 0.0, 0
        alike = [one[key] for key in both if one[key] == other[key]]
        return sum(self.surprise[label] + self.of_row for label in alike), len(both) - len(alike)
