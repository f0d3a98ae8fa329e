"""Recognise transformed values: logarithms, square roots and inverse hyperbolic sines of counts.

If counts were divided by a factor in each cell, a cell's values are whole multiples of one unit
(one count), or all cells have the same sum. Transformed values show this only after the
transformation is inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
_LEAST_SAMPLED: Final = 3
_ONE_SUM: Final = 0.01  # share of the median: largest distance between the quartiles of equal sums
_CLEARLY: Final = 5.0  # times as wide are sums that are not constant
_UNITS: Final = 100  # multiples that are looked at: larger ones are not exact in float32
_LEAST_TESTED, _LEAST_MULTIPLES, _NEAR_WHOLE = 20, 0.95, 0.02


@dataclass(frozen=True, slots=True)
class Transform:
    """A transformation that values may have. back: its inverse, which gives counts up to a factor
    of each cell; formula: the same for Python."""

    name: str
    back: Callable[[Floats], Floats]
    formula: str


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


COUNTS: Final = Transform("counts", np.asarray, "X")
LOG1P: Final = Transform("log1p", np.expm1, "numpy.expm1(X)")
OTHERS: Final = (
    Transform("square roots", np.square, "X ** 2"),
    Transform("log2", lambda values: np.exp2(values) - 1, "numpy.exp2(X) - 1"),
    Transform("log10", lambda values: np.power(10, values) - 1, "10 ** X - 1"),
    Transform(
        "log1p of log1p",
        lambda values: np.expm1(np.expm1(values)),
        "numpy.expm1(numpy.expm1(X))",
    ),
    Transform("inverse hyperbolic sines (arcsinh)", np.sinh, "numpy.sinh(X)"),
)


def tell_values(
    file: CellFile, given: ValueScale | None, *, clip_negative: bool = False
) -> Told | None:
    """Return the transformation of a file's values, None if it cannot be recognised. Call while the
    file gives what it has (not `CellFile.is_log`).

    given: the user's --values. Raise InputError, with the evidence, for values that are neither
    counts nor log1p, and for values that contradict `given`.
    """
    wanted = max(_LEAST_SAMPLED, min(_SAMPLED, _SAMPLED_VALUES // file.n_genes))
    values = np.vstack(
        [
            block if isinstance(block, np.ndarray) else block.toarray()
            for block in file.spread(wanted)
        ]
    ).astype(float)
    if clip_negative:
        values = np.maximum(values, 0)
    if len(values) < _LEAST_SAMPLED or not np.isfinite(values).all() or values.min(initial=0) < 0:
        return None  # refused elsewhere
    told = tell_transform(values)
    if told is None or told.transform.name in ((given,) if given else ("counts", "log1p")):
        return told
    name, is_other = told.transform.name, told.transform in OTHERS
    remedy = f"X = {told.transform.formula} makes them counts"
    raise InputError(
        f"{file.path}: the values are {name}{f', not {given}' if given else ''}: {told.words};"
        f" {remedy if is_other else f'--values {name} takes them'}"
    )


def read_counts(file: CellFile, given: ValueScale | None) -> CountSummary:
    """Read all values once and return their statistics on the scale of counts.

    Raise InputError as `tell_values` and `summarise_counts`.
    """
    told = tell_values(file, given)
    return summarise_counts(
        file, "counts" if told is not None and told.are_normalised_counts else given
    )


def tell_transform(values: Floats) -> Told | None:
    """Return the transformation of the values of cells, of shape (n_cells, n_genes), none negative;
    None if it cannot be recognised.
    """
    if np.array_equal(values, np.rint(values)):
        return Told(COUNTS, "all are whole numbers", raw=True)
    ordered, largest = np.sort(values, axis=1), values.max()
    with np.errstate(over="ignore"):
        possible = [
            each
            for each in (COUNTS, LOG1P, *OTHERS)
            if each.back(largest) <= math.expm1(LARGEST_LOG)
        ]
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
    widths = np.array([*map(_width, sums), math.inf])
    first, second = np.argsort(widths, kind="stable")[:2]
    if widths[first] <= _ONE_SUM and widths[second] > max(_ONE_SUM, _CLEARLY * widths[first]):
        words = f"{possible[first].formula} sums to {np.median(sums[first]):,.4g} in all cells"
        return Told(possible[first], words, raw=False)
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
    positive = multiples[multiples > 1 + 1 / _UNITS]
    tested = positive[positive < _UNITS]
    if len(tested) < max(_LEAST_TESTED, len(positive) / 2):
        return False
    return bool((np.abs(tested - np.rint(tested)) <= _NEAR_WHOLE).mean() >= _LEAST_MULTIPLES)


def _width(sums: Floats) -> float:
    """Return the distance of the quartiles of the sums above 0, as a share of their median;
    infinite without any."""
    positive = sums[sums > 0]
    if not len(positive):
        return math.inf
    low, middle, high = np.quantile(positive, [0.25, 0.5, 0.75])
    return float((high - low) / middle)
