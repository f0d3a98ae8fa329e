"""Recognise transformed values: logarithms, square roots and inverse hyperbolic sines of counts.

If counts were divided by a factor in each cell, a cell's values are whole multiples of one unit
(one count), or all cells have the same sum. Transformed values show this only after the
transformation is inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from core.base.errors import InputError
from core.features.cells.anndata_file import (
    LARGEST_LOG,
    CellFile,
    CountSummary,
    ValueScale,
    summarise_counts,
)
from core.stats.arrays import Floats

_SAMPLED: Final = 200  # cells that are looked at, evenly spread
_SAMPLED_VALUES: Final = 4_000_000
_LEAST_CELLS: Final = 3
_CONSTANT: Final = 0.01  # share of the median: largest distance between the quartiles of equal sums
_CLEARLY: Final = 5.0  # times as wide are sums that are not constant
_UNITS: Final = 100  # multiples that are looked at: larger ones are not exact in float32
# values of a cell: with so many, two cells do not have equal values by chance
_LEAST_DISTINCT: Final = 6
_LEAST_AT_SMALLEST, _LEAST_VALUES, _LEAST_OF_OTHERS = 0.05, 1_000, 0.01
_LEAST_TESTED, _LEAST_SHARE, _NEAR_WHOLE = 20, 0.95, 0.02


@dataclass(frozen=True, slots=True)
class Transform:
    """A transformation that values may have.

    back: its inverse, which gives counts up to a factor of each cell; formula: the inverse in
    words. remedy: what to do. most: the largest possible value.
    """

    name: str
    back: Callable[[Floats], Floats]
    formula: str
    remedy: str
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Told:
    """A recognised transformation. words: the evidence for it.

    raw: the inverted values are whole numbers, so that no cell was divided by a factor.
    """

    transform: Transform
    words: str
    raw: bool

    @property
    def are_normalised_counts(self) -> bool:
        """Whether values are counts divided by a factor in each cell."""
        return self.transform is COUNTS and not self.raw


def _exponential(base: float) -> Callable[[Floats], Floats]:
    return lambda values: np.expm1(values * math.log(base))


def _logarithm(base: int) -> Transform:
    factor = math.log(base)
    remedy = f"multiply them by {factor:.7f} (X = X * numpy.log({base})), which makes them log1p"
    return Transform(
        f"log{base}", _exponential(base), f"{base}^x - 1", remedy, LARGEST_LOG / factor
    )


COUNTS: Final = Transform("counts", lambda values: values, "x", "--values counts takes them")
LOG1P: Final = Transform(
    "log1p", _exponential(math.e), "e^x - 1", "--values log1p takes them", LARGEST_LOG
)
OTHERS: Final = (
    Transform(
        "square roots", np.square, "x^2", "square them (X = X ** 2), which makes them counts"
    ),
    _logarithm(2),
    _logarithm(10),
    Transform(
        "log1p of log1p",
        lambda values: np.expm1(np.expm1(values)),
        "e^(e^x - 1) - 1",
        "take one back (X = numpy.expm1(X)), which makes them log1p",
        math.log1p(LARGEST_LOG),
    ),
    Transform(
        "inverse hyperbolic sines (arcsinh)",
        np.sinh,
        "sinh(x)",
        "take them back (X = numpy.sinh(X)), which makes them counts",
        LARGEST_LOG,
    ),
)


def tell_values(
    file: CellFile, given: ValueScale | None, *, clip_negative: bool = False
) -> Told | None:
    """Return the transformation of a file's values, None if it cannot be recognised. Call while the
    file gives what it has (not `CellFile.is_log`).

    given: the user's --values. Raise InputError, with the evidence, for values that are neither
    counts nor log1p, and for values that contradict `given`.
    """
    values = _sample(file)
    if clip_negative:
        values = np.maximum(values, 0)
    if len(values) < _LEAST_CELLS or not np.isfinite(values).all() or values.min(initial=0) < 0:
        return None  # refused elsewhere
    _refuse_one_shape(file.path, values, given)
    told = tell_transform(values)
    if told is not None and (
        told.transform in OTHERS or told.transform.name != (given or told.transform.name)
    ):
        said = f", not {given}" if given else ""
        raise InputError(
            f"{file.path}: the values are {told.transform.name}{said}: {told.words};"
            f" {told.transform.remedy}"
        )
    return told


def read_counts(file: CellFile, given: ValueScale | None) -> CountSummary:
    """Read all values once and return their statistics on the scale of counts.

    Raise InputError as `tell_values` and `summarise_counts`.
    """
    told = tell_values(file, given)
    return summarise_counts(
        file, "counts" if told is not None and told.are_normalised_counts else given
    )


def _refuse_one_shape(path: Path, values: Floats, given: ValueScale | None) -> None:
    """Raise InputError for cells that all have the same values in another order, and for values to
    which something was added, unless --values states counts.
    """
    ordered = np.sort(values, axis=1)
    of_first = ordered[0]
    if (
        (ordered == of_first).all()
        and not (values == values[0]).all()
        and len(np.unique(of_first)) >= _LEAST_DISTINCT
    ):
        raise InputError(
            f"{path}: every cell has the same values in another order: they are ranks, or were"
            " quantile-normalised. Expected counts, or log1p of them"
        )
    smallest = values.min()
    at_smallest = float((values == smallest).mean())
    is_known = given is not None or values.size < _LEAST_VALUES
    if smallest <= 0 or is_known or not _LEAST_AT_SMALLEST <= at_smallest < 1:
        return
    # not a decoder's limit near 0
    if smallest > _LEAST_OF_OTHERS * np.median(values[values > smallest]):
        raise InputError(
            f"{path}: no value is 0, and {at_smallest:.0%} are {smallest:.4g}, perhaps it was added"
            f" to all of them. Subtract it (X = X - {smallest:.7g}), or state the scale with"
            " --values"
        )


def _sample(file: CellFile) -> Floats:
    """Return the values of some cells, dense, of shape (n_sampled, n_genes)."""
    wanted = max(_LEAST_CELLS, min(_SAMPLED, _SAMPLED_VALUES // file.n_genes))
    return np.vstack(
        [
            block if isinstance(block, np.ndarray) else block.toarray()
            for block in file.spread(wanted)
        ]
    ).astype(float)


def tell_transform(values: Floats) -> Told | None:
    """Return the transformation of the values of cells, of shape (n_cells, n_genes), none negative;
    None if it cannot be recognised.
    """
    if np.array_equal(values, np.rint(values)):
        return Told(COUNTS, "all are whole numbers", raw=True)
    ordered, largest = np.sort(values, axis=1), values.max()
    possible = [each for each in (COUNTS, LOG1P, *OTHERS) if largest <= each.most]
    for each in possible:  # squares of multiples are multiples, too: counts come first
        if _are_multiples(each.back(ordered)):
            counts = each.back(values)
            raw = each is not COUNTS and bool(
                np.allclose(counts, np.rint(counts), rtol=1e-5, atol=1e-3)
            )
            return Told(
                each, f"{each.formula} are whole multiples of one unit in each cell", raw=raw
            )
    sums = [each.back(values).sum(axis=1) for each in possible]
    widths = [_width(of_cells) for of_cells in sums]
    for i, each in enumerate(possible):
        others = min([*widths[:i], *widths[i + 1 :]])
        if widths[i] <= _CONSTANT < others and others >= _CLEARLY * widths[i]:
            return Told(
                each, f"{each.formula} sums to {np.median(sums[i]):,.4g} in all cells", raw=False
            )
    return None


def _are_multiples(ordered: Floats) -> bool:
    """Return whether the values of each cell are whole multiples of one unit: the smallest step
    between them. ordered: rising."""
    with np.errstate(divide="ignore", invalid="ignore"):
        smallest = np.where(ordered > 0, ordered, np.inf).min(axis=1, keepdims=True, initial=np.inf)
        steps = np.diff(ordered, axis=1, prepend=0)
        unit = np.where(steps > smallest / _UNITS, steps, np.inf).min(
            axis=1, keepdims=True, initial=np.inf
        )
        multiples = np.where(np.isfinite(unit), ordered / unit, 0.0)
    tested = multiples[(multiples > 1 + 1 / _UNITS) & (multiples < _UNITS)]
    positive = int((multiples > 1 + 1 / _UNITS).sum())
    if len(tested) < max(_LEAST_TESTED, positive / 2):
        return False
    return bool((np.abs(tested - np.rint(tested)) <= _NEAR_WHOLE).mean() >= _LEAST_SHARE)


def _width(sums: Floats) -> float:
    """Return the distance of the quartiles of the sums above 0, as a share of their median;
    infinite without any."""
    positive = sums[np.isfinite(sums) & (sums > 0)]
    if not len(positive):
        return math.inf
    low, middle, high = np.quantile(positive, [0.25, 0.5, 0.75])
    return float((high - low) / middle)
