"""Logarithms to another base than e, as of Bioconductor (log2): expm1 of them is no expression."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from core.cells.anndata_file import CellFile, ValueScale
from core.errors import InputError

_SAMPLED: Final = 500  # cells that are looked at
_LEAST_CELLS: Final = 3
_LARGEST: Final = 50.0  # of a logarithm
_CONSTANT: Final = 0.01  # of the median, between the quartiles of sums that were brought to one


def refuse_other_logarithm(file: CellFile, given: ValueScale | None) -> None:
    """Raise InputError for values that are said to be log1p, but of which 2^x - 1 or 10^x - 1 has one sum in all cells, and
    e^x - 1 has not. Call before `take_log`."""
    if given != "log1p":
        return
    _, block = next(file.blocks(_SAMPLED))
    values = np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), dtype=np.float64)
    if len(values) < _LEAST_CELLS or not np.isfinite(values).all() or values.max(initial=0) > _LARGEST:
        return
    sums = {base: np.expm1(np.maximum(values, 0) * math.log(base)).sum(axis=1) for base in (math.e, 2, 10)}
    if _is_constant(sums[math.e]):
        return
    for base in (2, 10):
        if _is_constant(sums[base]):
            raise InputError(
                f"{file.path}: the values are log{base}: {base}^x - 1 sums to {np.median(sums[base]):,.0f} in all cells, e^x - 1 "
                f"does not; multiply them by {math.log(base):.7f} (X = X * numpy.log({base})), which makes them log1p"
            )


def _is_constant(sums: np.ndarray) -> bool:
    low, middle, high = np.quantile(sums[sums > 0], [0.25, 0.5, 0.75]) if (sums > 0).any() else (0.0, 0.0, 1.0)
    return bool(high - low <= _CONSTANT * middle)
