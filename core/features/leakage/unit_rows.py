"""The rows of one task as input for the probes of a gene space: by units with a vector, and by the
other axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.stats.arrays import Bools, Codes, Floats, divide, sum_by_group


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """The labelled rows of one task, of shape (n_rows,).

    unit: codes of what has a vector, target genes or perturbations; other: codes of the other axis.
    """

    positive: Bools
    unit: Codes
    other: Codes

    def __len__(self) -> int:
        return len(self.positive)

    def take(self, rows: Bools | Codes) -> UnitRows:
        """Return the chosen rows."""
        return UnitRows(self.positive[rows], self.unit[rows], self.other[rows])

    def renumber(self) -> UnitRows:
        """Return the rows with consecutive codes, all of them used."""
        unit, other = (
            np.unique(codes, return_inverse=True)[1] for codes in (self.unit, self.other)
        )
        return UnitRows(self.positive, unit, other)

    def some_of_other(self, n_rows: int, rng: np.random.Generator) -> UnitRows:
        """Return all rows of random codes of the other axis, up to `n_rows` rows, but of at least
        one code."""
        if len(self) <= n_rows:
            return self
        sizes = sum_by_group(self.other, int(self.other.max()) + 1)
        drawn = rng.permutation(len(sizes))
        chosen = np.zeros(len(sizes), dtype=np.bool_)
        chosen[drawn[: max(1, int(np.searchsorted(np.cumsum(sizes[drawn]), n_rows)))]] = True
        return self.take(chosen[self.other])

    def shares(self, chosen: Bools, n_units: int) -> tuple[Floats, Floats]:
        """Return the share of positives of each unit among the chosen rows, 0 without one, and its
        number of rows."""
        counts = sum_by_group(self.unit[chosen], n_units)
        hits = sum_by_group(self.unit[chosen], n_units, self.positive[chosen])
        return divide(hits, counts, 0.0), counts


def standardise(vectors: Floats) -> Floats:
    """Return the columns of vectors of shape (n_units, n_columns) that vary, with mean 0 and
    standard deviation 1."""
    values = vectors.astype(np.float64)
    spread = values.std(axis=0)
    varies = spread > 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    return np.asarray((values[:, varies] - values[:, varies].mean(axis=0)) / spread[varies])
