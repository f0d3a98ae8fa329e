"""The scale of the values of predicted and real cells: counts (or their means), or log1p of counts
brought to some sum a cell.

Nothing is assumed: sums a cell are compared with those of the real cells, and the user has to state
other scales. Logarithms, square roots and inverse hyperbolic sines of counts tell themselves: if
counts were divided by a factor in each cell, a cell's values are whole multiples of one unit (one
count), or all cells have the same sum; of transformed values this shows only after the
transformation is inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.features.cells.anndata_file import (
    COUNTS_PER_CELL,
    LARGEST_LOG,
    CellFile,
    CountSummary,
    Values,
    ValueScale,
    check_values,
    describe_sums,
    expm1_of,
    stored_values,
    summarise_counts,
)
from core.stats.arrays import Bools, Codes, Floats

_MILLION: Final = 1e6
# sums within are those of log1p of counts per 10,000, or of another sum nearby
_SAME: Final = (0.5, 2.0)
_FACTOR: Final = (0.8, 1.25)  # sums within are another sum's
# spread of log sums between cells' quartiles; from here on, cells are not normalised
_SPREAD: Final = 0.7
_LEAST_CELLS: Final = 10  # for estimating the target sum by the median
_AS_MUCH: Final = 1.2  # times the spread of the real cells' shares
_CONSTANT: Final = 1e-3
# of 10,000 that some of the genes may sum to, where nobody knows the others
_LEAST_SHARE: Final = 0.01
ASK: Final = "say what they are: --values counts (means of counts, too) or --values log1p"


@dataclass(frozen=True, slots=True)
class Scale:
    """The conversion of values to counts per 10,000. kind: of the values.

    factor: of all cells; None scales each cell to 10,000 over the genes that count. words: the
    finding, for people.
    """

    kind: ValueScale
    factor: float | None
    words: str


def tell_scale(
    where: str,
    facts: ValueFacts,
    given: ValueScale | None,
    cells: Bools | None = None,
    real: tuple[ValueFacts, ValueScale, Bools] | None = None,
) -> Scale:
    """Return how values become counts per 10,000. Without real cells a factor common to all cells
    does not change fold changes.

    given: the user's --values. cells: which count, of shape (n_cells,). real: the facts and scale
    of the real cells that they are compared with, and which count (of the same perturbations, if
    there are any).  Raise InputError, with the sums, for values that may be
    logarithms but do not sum to what normalised cells sum to, unless `given` is set.
    """
    if given == "counts" or (given is None and facts.kind == "counts"):
        beside = "" if real is None else ", brought to 10,000 over the genes of both files"
        return Scale("counts", None, f"counts{beside}")
    if given is None and facts.are_unclear:
        raise InputError(f"{where}: {describe_sums(facts.largest, facts.sums)}; {ASK}")
    if facts.kind == "log1p" and facts.are_raw:
        return Scale("log1p", None, "log1p of counts as they were, each cell brought to 10,000")
    used = facts.sums > 0 if cells is None else cells & (facts.sums > 0)
    sums = (facts.exp_sums if real is None else facts.shared_exp_sums)[used]
    found = float(np.median(sums)) if len(sums) else 0.0
    is_one_sum = len(sums) > 2 and _spread(sums) <= _CONSTANT  # cells were brought to it
    is_log = given == "log1p" or facts.kind == "log1p" or is_one_sum
    if real is not None:
        factors, expected = _factors_beside(sums, found, *real)
        if factors or is_log:
            factor = factors[0] if factors else None
            rescaled = "" if factor == 1 else ", rescaled to 10,000"
            return Scale("log1p", factor, f"log1p (expm1 sums to {found:,.0f} a cell{rescaled})")
    else:
        low, high = _LEAST_SHARE * COUNTS_PER_CELL, _SAME[1] * COUNTS_PER_CELL
        is_known = low <= found <= high or _is_near(found, _MILLION)
        if is_log or (is_known and _spread(sums) <= _SPREAD):
            return Scale("log1p", 1.0, f"log1p (expm1 sums to {found:,.0f} a cell)")
        expected = "a sum that cells were brought to, such as 10,000"
    raise InputError(
        f"{where}: no value is above {LARGEST_LOG:g} and not all are whole, but expm1 of them sums"
        f" to {found:,.0f} a cell (half of the cells within a factor of"
        f" {np.exp(_spread(sums)):.2g}), expected {expected}; {ASK}"
    )


def _factors_beside(
    sums: Floats, found: float, real: ValueFacts, kind: ValueScale, cells: Bools
) -> tuple[list[float | None], str]:
    """Return the factors that log1p values may have by their sums a cell over the shared genes
    (found: the median) and those of the real cells, the likeliest first; and what was expected."""
    totals, shared = (
        (real.exp_sums, real.shared_exp_sums) if kind == "log1p" else (real.sums, real.shared_sums)
    )
    used = cells & (totals > 0)
    shares = shared[used] / totals[used]
    share, median = float(np.median(shares)), float(np.median(totals[used]))
    is_normalised = kind == "log1p" and not real.are_raw
    of_all = float(np.median(shared[used])) if is_normalised else COUNTS_PER_CELL * share
    # with few genes, the sums of normalised cells differ, and the real ones too
    known = _spread(sums) <= max(_SPREAD, _AS_MUCH * _spread(shares))
    nearby = known and _SAME[0] * of_all <= found <= _SAME[1] * of_all
    expected = f"some {of_all:,.0f} as in the real cells (at 10,000)"
    if nearby and (_is_near(found, of_all) or len(sums) < _LEAST_CELLS):
        return [1.0], expected
    of_sums = [
        (COUNTS_PER_CELL, None),  # over the shared genes
        (share * _MILLION, COUNTS_PER_CELL / _MILLION),
        (_MILLION, None),
        (share * median, of_all / max(found, 1e-9)),  # unknown which cells
    ]
    factors = [factor for sum_, factor in of_sums if known and _is_near(found, sum_)]
    return [*factors, *([of_all / found] if nearby else [])], expected


def _is_near(found: float, expected: float) -> bool:
    return _FACTOR[0] * expected <= found <= _FACTOR[1] * expected


def _spread(sums: Floats) -> float:
    """Return the difference of the quartiles of the sums' logarithms; 0 for fewer than two sums
    above 0."""
    positive = sums[sums > 0]
    if len(positive) < 2:
        return 0.0
    low, high = np.quantile(np.log(positive), [0.25, 0.75])
    return float(high - low)


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
    shared_sums, shared_exp_sums: the same over the shared genes. kind: what they are for certain;
    are_raw: as counts or their log1p, without normalisation. negative: how many were read as 0;
    smallest of them.
    """

    kind: ValueScale | None
    are_raw: bool
    largest: float
    sums: Floats
    exp_sums: Floats
    shared_sums: Floats
    shared_exp_sums: Floats
    negative: int = 0
    smallest: float = 0.0

    @property
    def are_unclear(self) -> bool:
        """Whether the values are too large for logarithms, and nothing shows that they are
        counts."""
        return self.kind != "counts" and self.largest > LARGEST_LOG


def measure_values(
    file: CellFile, shared: Codes, given: ValueScale | None = None, *, clip_negative: bool = False
) -> ValueFacts:
    """Read all values once. shared: positions of genes. given: the user's --values.

    Raise InputError as `tell_values`, and for values that are not finite, negative, or all 0.
    """
    told = tell_values(file, given, clip_negative=clip_negative)
    whole, largest, smallest, negative = True, 0.0, 0.0, 0
    sums = np.zeros((4, file.n_cells))
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
    if largest == 0:
        raise InputError(f"{file.path}: all values are 0, expected expression")
    if smallest < MOST_NEGATIVE:
        raise InputError(
            f"{file.path}: the smallest value is {smallest:.3g}, which is no small output of a"
            " decoder. The values look scaled or centred (z-scores); expected counts or log1p"
            " values"
        )
    kind: ValueScale | None = None
    if whole or (told is not None and told.transform is COUNTS):
        kind = "counts"
    elif told is not None:
        kind = "log1p"
    is_raw = whole or (told is not None and told.raw)
    return ValueFacts(kind, is_raw, largest, sums[0], sums[1], sums[2], sums[3], negative, smallest)


def without_negatives(block: Values) -> Values:
    """Return a block whose negative values are 0."""
    return csr_matrix(block.maximum(0)) if isinstance(block, csr_matrix) else np.maximum(block, 0)


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
