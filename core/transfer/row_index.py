"""A dataset's rows as codes that index one table of symbols, the same for perturbations and genes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.stats.arrays import Codes
from core.transfer.labelled_rows import Knowledge, Rows, knowledge_of, rows_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class RowIndex:
    """All rows of a dataset, in file order.

    symbols: distinct, in alphabetical order. labels: objects of shape (n_rows,), None if unknown. known: the labelled
    rows; known_positions: their positions among all rows. positions: pair id → position.
    """

    symbols: tuple[str, ...]
    pair_ids: tuple[str, ...]
    rows: Rows
    labels: NDArray[np.object_]
    known: Knowledge
    known_positions: Codes
    positions: Mapping[str, int]

    @classmethod
    def build(cls, pair_ids: Sequence[str], pert: Sequence[str], gene: Sequence[str], labels: ArrayLike) -> RowIndex:
        """The index of a dataset's rows, all of length n_rows; labels: up, down, none, de, or None if unknown."""
        symbols, codes = np.unique(np.array([*pert, *gene], dtype=object), return_inverse=True)
        rows = rows_of(codes[: len(pert)], codes[len(pert) :])
        label_array = np.asarray(labels, dtype=object)
        known_positions = np.flatnonzero([label is not None for label in label_array])
        known = knowledge_of(label_array, rows)
        positions = {pair_id: i for i, pair_id in enumerate(pair_ids)}
        return cls(tuple(symbols.tolist()), tuple(pair_ids), rows, label_array, known, known_positions, positions)

    @classmethod
    def of_frame(cls, dataset: pd.DataFrame) -> RowIndex:
        """The index of a frame with one row per pair: pair_id, pert, gene, label (missing if unknown)."""
        labels = dataset["label"].astype(object).where(dataset["label"].notna(), None)
        pair_ids, pert, gene = (dataset[name].tolist() for name in ("pair_id", "pert", "gene"))
        return cls.build(pair_ids, pert, gene, labels.to_numpy())

    def positions_of(self, pair_ids: Sequence[str]) -> Codes:
        """The positions of the rows of these ids. Raises InputError, which names the first unknown id."""
        missing = [key for key in pair_ids if key not in self.positions]
        if missing:
            raise InputError(f"row {missing[0]!r}: not in this dataset ({len(missing):,} of {len(pair_ids):,} ids are not)")
        return np.fromiter((self.positions[key] for key in pair_ids), dtype=np.intp, count=len(pair_ids))

    def symbol(self, code: int) -> str:
        """The symbol of a code."""
        return self.symbols[code]
