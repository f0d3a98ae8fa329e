"""An expression model's predictions for the pairs of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from core.base.types import Pair, Rejected
from core.stats.arrays import Bools, Codes, Floats

SHOWN_VALUES = 3


@dataclass(frozen=True, slots=True, eq=False)
class WantedPairs:
    """The pairs of a dataset, in its order, each once."""

    pair_ids: tuple[str, ...]
    perts: tuple[str, ...]
    genes: tuple[str, ...]
    _index: pd.MultiIndex = field(repr=False)

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> WantedPairs:
        """Return the requested pairs."""
        perts, genes = tuple(pair.pert for pair in pairs), tuple(pair.gene for pair in pairs)
        return cls(
            tuple(pair.pair_id for pair in pairs),
            perts,
            genes,
            pd.MultiIndex.from_arrays([perts, genes]),
        )

    def __len__(self) -> int:
        return len(self.pair_ids)

    def places_of(self, perts: np.ndarray, genes: np.ndarray) -> Codes:
        """Return the place of each (perturbation, gene) among the pairs, of shape (n,); -1 for
        others."""
        return self._index.get_indexer(pd.MultiIndex.from_arrays([perts, genes]))


@dataclass(frozen=True, slots=True, eq=False)
class PredictedChanges:
    """A file's predictions of n_pairs pairs, of shape (n_pairs,), NaN for a pair that it does not
    cover.

    evidence: of a change, from 0. signed: the same with the direction of the change. log2_fc: None
    if the file has none. measure: what evidence is, "z", "-log10 p" or "log2_fc". read_as: choice →
    the column or value of the file. other_pairs: how many rows, or perturbations, of the file are
    not in the dataset. values: some of its perturbations. notes: how a table was read, in words.
    """

    evidence: Floats
    signed: Floats
    log2_fc: Floats | None
    measure: str
    read_as: Mapping[str, str]
    rejected: tuple[Rejected, ...] = ()
    other_pairs: int = 0
    values: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def covered(self) -> Bools:
        """Flags of the pairs covered by the file."""
        return ~np.isnan(self.signed)
