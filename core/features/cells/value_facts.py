"""Facts about the values of a file of cells, which are read once, in blocks, and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.features.cells.anndata_file import (
    LARGEST_LOG,
    CellFile,
    Values,
    ValueScale,
    check_values,
    expm1_of,
    stored_values,
)
from core.features.cells.transforms import LOG1P, Told, tell_values
from core.stats.arrays import Codes, Floats

MOST_NEGATIVE: Final = -1.0  # smaller values cannot be small outputs of a linear decoder
_LARGEST_EXPONENT: Final = 50.0
_NOT_NEGATIVE: Final = (
    "expected counts, or log1p of them; --clip-negative reads small negative values of a decoder"
    " as 0"
)


@dataclass(frozen=True, slots=True, eq=False)
class ValueFacts:
    """Statistics of the values of a file.

    sums, exp_sums: of a cell's values and of their expm1, over all genes, of shape (n_cells,);
    shared_sums, shared_exp_sums: the same over the shared genes. of_genes: sums over cells of
    values, of their expm1 and of their squares, of shape (3, n_shared). told: the recognised
    transformation. negative: how many were read as 0; smallest of them.
    """

    whole: bool
    largest: float
    sums: Floats
    exp_sums: Floats
    shared_sums: Floats
    shared_exp_sums: Floats
    of_genes: Floats
    told: Told | None = None
    negative: int = 0
    smallest: float = 0.0

    @property
    def are_counts(self) -> bool:
        """Whether the values are counts, or counts divided by a factor in each cell."""
        return self.whole or (self.told is not None and self.told.are_normalised_counts)

    @property
    def are_unclear(self) -> bool:
        """Whether the values are too large for logarithms, and nothing shows that they are
        counts."""
        return not self.are_counts and self.largest > LARGEST_LOG

    @property
    def are_log(self) -> bool:
        """Whether the values are log1p for certain."""
        return self.told is not None and self.told.transform is LOG1P

    @property
    def are_log_of_counts(self) -> bool:
        """Whether the values are log1p of counts without normalisation."""
        return self.told is not None and self.told.transform is LOG1P and self.told.raw

    def describe(self) -> str:
        """Describe the ambiguity, with numbers."""
        low, high = np.quantile(self.sums, [0.25, 0.75])
        return (
            f"not all values are whole, the largest is {self.largest:,.4g} and cells sum to"
            f" {low:,.4g} to {high:,.4g} (the middle half): means of counts, or square roots"
        )


def measure_values(
    file: CellFile, shared: Codes, given: ValueScale | None = None, *, clip_negative: bool = False
) -> ValueFacts:
    """Read all values once. shared: positions of genes. given: the user's --values.

    Raise InputError as `tell_values`, and for values that are not finite, negative, or all 0.
    """
    told = tell_values(file, given, clip_negative=clip_negative)
    whole, largest, smallest, negative = True, 0.0, 0.0, 0
    sums, of_genes = np.zeros((4, file.n_cells)), np.zeros((3, len(shared)))
    for rows, block in file.blocks():
        values = stored_values(block)
        if clip_negative:
            smallest = min(smallest, float(np.min(values, initial=0)))
            negative += int((values < 0).sum())
            block = without_negatives(block)
            values = stored_values(block)
        check_values(file, rows, block, values, _NOT_NEGATIVE)
        largest = max(largest, float(np.max(values, initial=0)))
        whole = whole and bool(np.array_equal(values, np.rint(values)))
        capped = (
            block.minimum(_LARGEST_EXPONENT)
            if isinstance(block, csr_matrix)
            else np.minimum(block, _LARGEST_EXPONENT)
        )
        for at, each in ((0, block), (1, expm1_of(capped))):
            sums[at, rows] = np.asarray(each.sum(axis=1, dtype=np.float64)).ravel()
            kept = each[:, shared]
            sums[at + 2, rows] = np.asarray(kept.sum(axis=1, dtype=np.float64)).ravel()
            of_genes[at] += np.asarray(kept.sum(axis=0, dtype=np.float64)).ravel()
        squares = block[:, shared].astype(np.float64)
        squares = squares.power(2) if isinstance(squares, csr_matrix) else np.square(squares)
        of_genes[2] += np.asarray(squares.sum(axis=0)).ravel()
    if largest == 0:
        raise InputError(f"{file.path}: all values are 0, expected expression")
    if smallest < MOST_NEGATIVE:
        raise InputError(
            f"{file.path}: the smallest value is {smallest:.3g}, which is no small output of a"
            " decoder. The values look scaled or centred (z-scores); expected counts or log1p"
            " values"
        )
    return ValueFacts(
        whole, largest, sums[0], sums[1], sums[2], sums[3], of_genes, told, negative, smallest
    )


def without_negatives(block: Values) -> Values:
    """Return a block whose negative values are 0."""
    return csr_matrix(block.maximum(0)) if isinstance(block, csr_matrix) else np.maximum(block, 0)
