"""What the values of predicted and real cells are: counts (or their means), or log1p of counts brought to some sum a cell.

Nothing is assumed: sums a cell are compared with those of the real cells, and what fits neither is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from core.cells.anndata_file import COUNTS_PER_CELL, LARGEST_LOG, CellFile, Values, ValueScale, check_values, stored_values
from core.errors import InputError
from core.stats.arrays import Bools, Codes, Floats

MOST_NEGATIVE: Final = -1.0  # below, values are no small outputs of a linear decoder
_LARGEST_EXPONENT: Final = 50.0
_MILLION: Final = 1e6
_SAME: Final = (0.5, 2.0)  # sums within are those of log1p of counts per 10,000, or of another sum nearby
_FACTOR: Final = (0.8, 1.25)  # sums within are another sum's
_SPREAD: Final = 0.7  # of log sums between cells' quartiles, from which on they are no sums of normalised cells
_LEAST_CELLS: Final = 10  # whose median says what sum they were brought to
_AS_MUCH: Final = 1.2  # times the spread of the real cells' shares
_CONSTANT: Final = 1e-3
_LEAST_SHARE: Final = 0.01  # of 10,000 that some of the genes may sum to, where nobody knows the others
_NOT_NEGATIVE: Final = "expected counts, or log1p of them; --clip-negative reads small negative values of a decoder as 0"
ASK: Final = "say what they are: --values counts (means of counts, too) or --values log1p"


@dataclass(frozen=True, slots=True, eq=False)
class ValueFacts:
    """What the values of a file are like. sums, exp_sums: of a cell's values and of their expm1, over all genes, of shape
    (n_cells,); shared_sums, shared_exp_sums: the same over the shared genes. negative: how many were read as 0; smallest of
    them."""

    whole: bool
    largest: float
    sums: Floats
    exp_sums: Floats
    shared_sums: Floats
    shared_exp_sums: Floats
    negative: int = 0
    smallest: float = 0.0

    @property
    def may_be_log(self) -> bool:
        """Whether the values can be logarithms: not all whole, none above LARGEST_LOG."""
        return not self.whole and self.largest <= LARGEST_LOG


@dataclass(frozen=True, slots=True)
class Scale:
    """How values become counts per 10,000. kind: what they are. factor: of all cells; None brings each cell to 10,000 over
    the genes that count. words: what was found, for people."""

    kind: ValueScale
    factor: float | None
    words: str


def measure_values(file: CellFile, shared: Codes, *, clip_negative: bool = False) -> ValueFacts:
    """Reads all values once. shared: positions of genes. Raises InputError for values that are not finite, negative, or all 0."""
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
        for at, each in ((0, block), (1, _exponentials(block))):
            sums[at, rows] = np.asarray(each.sum(axis=1, dtype=np.float64)).ravel()
            sums[at + 2, rows] = np.asarray(each[:, shared].sum(axis=1, dtype=np.float64)).ravel()
    if largest == 0:
        raise InputError(f"{file.path}: all values are 0, expected expression")
    if smallest < MOST_NEGATIVE:
        raise InputError(
            f"{file.path}: the smallest value is {smallest:.3g}, which is no small output of a decoder: the values look scaled "
            "or centred (z-scores); expected counts or log1p values"
        )
    return ValueFacts(whole, largest, sums[0], sums[1], sums[2], sums[3], negative, smallest)


def without_negatives(block: Values) -> Values:
    """Returns a block whose negative values are 0."""
    return csr_matrix(block.maximum(0)) if isinstance(block, csr_matrix) else np.maximum(block, 0)


def _exponentials(block: Values) -> Values:
    if isinstance(block, csr_matrix):
        return block.astype(np.float64).minimum(_LARGEST_EXPONENT).expm1()
    return np.expm1(np.minimum(block.astype(np.float64), _LARGEST_EXPONENT))


def linear_values(block: Values, kind: ValueScale, *, clip_negative: bool = False) -> Values:
    """Returns values on a linear scale, float64."""
    block = without_negatives(block) if clip_negative else block
    if kind == "counts":
        return block.astype(np.float64)
    return block.astype(np.float64).expm1() if isinstance(block, csr_matrix) else np.expm1(block.astype(np.float64))


def tell_scale(where: str, facts: ValueFacts, given: ValueScale | None, cells: Bools | None = None, advice: str = ASK) -> Scale:
    """Returns what values are, in a file that holds its controls: a factor that all cells share changes no fold change.

    given: what a person says that they are. cells: which count, of shape (n_cells,). advice: ends the error. Raises InputError,
    with the sums, for values that may be logarithms but do not sum to what normalised cells sum to, unless `given`
    says what they are.
    """
    if given == "counts" or (given is None and not facts.may_be_log):
        return Scale("counts", None, "counts")
    sums = _of(facts.exp_sums, facts, cells)
    found = _median(sums)
    known = _LEAST_SHARE * COUNTS_PER_CELL <= found <= _SAME[1] * COUNTS_PER_CELL or _is_near(found, _MILLION)
    if given == "log1p" or _is_constant(sums) or (known and _spread(sums) <= _SPREAD):
        return Scale("log1p", 1.0, f"log1p (expm1 sums to {found:,.0f} a cell)")
    raise InputError(f"{_describe_sums(where, sums)}, expected a sum that cells were brought to, such as 10,000; {advice}")


def tell_scale_beside(
    where: str, facts: ValueFacts, given: ValueScale | None, real: tuple[ValueFacts, ValueScale, Bools], cells: Bools
) -> Scale:
    """Returns how values become counts per 10,000, beside real cells: their facts, their scale, and which of them count (those of
    the same perturbations, if there are any). The rest is as in `tell_scale`."""
    if given == "counts" or (given is None and not facts.may_be_log):
        return Scale("counts", None, "counts, brought to 10,000 over the genes of both files")
    sums = _of(facts.shared_exp_sums, facts, cells)
    of_all, share, median, spread = _real_sums(*real)
    # of few genes, the sums of normalised cells differ, and the real ones as much
    found, known = _median(sums), _spread(sums) <= max(_SPREAD, _AS_MUCH * spread)
    nearby = known and _SAME[0] * of_all <= found <= _SAME[1] * of_all
    if nearby and (_is_near(found, of_all) or len(sums) < _LEAST_CELLS):
        return Scale(
            "log1p", 1.0, f"log1p of counts per 10,000 (expm1 sums to {found:,.0f} a cell, the real cells to {of_all:,.0f})"
        )
    targets = (
        ("10,000 over the shared genes", COUNTS_PER_CELL, None),
        ("a million", share * _MILLION, COUNTS_PER_CELL / _MILLION),
        ("a million over the shared genes", _MILLION, None),
        ("the median of the real cells", share * median, of_all / max(found, 1e-9)),  # of which cells nobody knows
    )
    for words, expected, factor in targets:
        if known and _is_near(found, expected):
            return _rescaled(found, words, factor)
    if nearby:
        return _rescaled(found, f"another sum, where the real cells' is {of_all:,.0f}", of_all / found)
    if given == "log1p" or _is_constant(sums):
        return _rescaled(found, "another sum", None)
    real_words = f"{of_all:,.0f} at 10,000, {100 * of_all:,.0f} at a million, {share * median:,.0f} at their median"
    raise InputError(f"{_describe_sums(where, sums)} and the real cells to {real_words}; {ASK}")


def _real_sums(facts: ValueFacts, kind: ValueScale, cells: Bools) -> tuple[float, float, float, float]:
    """Returns medians of the real cells: of their normalised counts over the shared genes, of the shared genes' share of them,
    and of their counts over all genes; and how much these shares differ (`_spread`)."""
    total, shared = (facts.exp_sums, facts.shared_exp_sums) if kind == "log1p" else (facts.sums, facts.shared_sums)
    used = cells & (total > 0)
    share = float(np.median(shared[used] / total[used]))
    of_all = _median(shared[used]) if kind == "log1p" else COUNTS_PER_CELL * share
    return of_all, share, _median(total[used]), _spread(shared[used] / total[used])


def _of(sums: Floats, facts: ValueFacts, cells: Bools | None) -> Floats:
    used = facts.sums > 0
    return sums[used if cells is None else cells & used]


def _median(sums: Floats) -> float:
    return float(np.median(sums)) if len(sums) else 0.0


def _describe_sums(where: str, sums: Floats) -> str:
    return (
        f"{where}: no value is above {LARGEST_LOG:g} and not all are whole, but expm1 of them sums to {_median(sums):,.0f} a "
        f"cell (half of the cells within a factor of {np.exp(_spread(sums)):.2g})"
    )


def _rescaled(found: float, words: str, factor: float | None) -> Scale:
    """Returns the scale of values that were brought to another sum. factor: to 10,000; None for 10,000 in each cell."""
    return Scale("log1p", factor, f"log1p of counts brought to {words} (expm1 sums to {found:,.0f} a cell), rescaled to 10,000")


def _is_near(found: float, expected: float) -> bool:
    return _FACTOR[0] * expected <= found <= _FACTOR[1] * expected


def _is_constant(sums: Floats) -> bool:
    """Whether at least three cells have one sum, so that they were brought to it."""
    return len(sums) > 2 and _spread(sums) <= _CONSTANT


def _spread(sums: Floats) -> float:
    """Returns the difference of the quartiles of the sums' logarithms; 0 for fewer than two sums above 0."""
    positive = sums[sums > 0]
    if len(positive) < 2:
        return 0.0
    low, high = np.quantile(np.log(positive), [0.25, 0.75])
    return float(high - low)
