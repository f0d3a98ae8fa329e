"""How each perturbation changes each gene: pdex's Wilcoxon rank sum against control cells, in parts
that fit into memory.

Cells are brought to COUNTS_PER_CELL counts. The file is read in blocks of cells, as often as its
values, in parts of genes, need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_matrix

from core.base.errors import InputError
from core.features.cells.anndata_file import COUNTS_PER_CELL, CellFile, CountSummary
from core.features.cells.cell_formats import import_package
from core.features.cells.comparisons import (
    Compared,
    CompareEach,
    Design,
    MockChanges,
    MockTests,
    ReplicateChanges,
    ReplicateTests,
    compare_in_strata,
    log2_fold_change,
    plan_strata,
)
from core.features.cells.groups import CellGroups
from core.stats.arrays import Floats
from core.stats.multiplicity import benjamini_hochberg

RANK_SUM = "pdex._parallel"
VALUES_IN_MEMORY = 100_000_000  # stored values of the genes that are worked on together: 800 MB
DENSE_VALUES = 20_000_000  # of the genes that are tested together: 80 MB
NO_STRATA = Design()
VALUES_PER_THREAD = 50_000
Progress = Callable[[float], None]  # gets the share that is done


@dataclass(frozen=True, slots=True, eq=False)
class GeneChanges:
    """What perturbations change; arrays of shape (n_targets, n_genes).

    p: two-sided, of the rank sum with its normal approximation, corrected for ties; NaN for genes
    that none of the compared cells expresses. fdr: Benjamini and Hochberg's, among the genes of a
    perturbation. log2_fc: of the means of counts per COUNTS_PER_CELL, not shrunk;
    ±log2(FOLD_LIMIT) where one of both is 0, NaN where both are. guides: a row for each guide of a
    target that is among the genes. controls: of each
    gene its mean and variance (of counts per COUNTS_PER_CELL) in controls, and the share of cells
    where it is detected; None in a table of changes. replicates:
    None without enough of them. mocks: None with too few controls.
    """

    p: Floats
    fdr: Floats
    log2_fc: Floats
    guides: tuple[GuideExpression, ...]
    controls: pd.DataFrame | None = None
    replicates: ReplicateChanges | None = None
    mocks: MockChanges | None = None


class GuideExpression(NamedTuple):
    """The target's own expression in the cells of a guide; in all cells of the perturbation where
    guide is "".

    mean, control_mean: counts per COUNTS_PER_CELL.
    """

    target: str
    guide: str
    n_cells: int
    mean: float
    control_mean: float


def compare_here(cells: Iterable[np.ndarray], control: np.ndarray) -> Iterator[Compared]:
    """Compare one perturbation after the other in this process."""
    return (compare_cells(of_one, control) for of_one in cells)


def compare_with_controls(
    file: CellFile,
    groups: CellGroups,
    counts: CountSummary,
    progress: Progress | None = None,
    compare_each: CompareEach = compare_here,
    design: Design = NO_STRATA,
) -> GeneChanges:
    """Return the change of each gene by each perturbation.

    compare_each: runs the comparisons; design: their strata, replicates and mocks. Raise
    MissingPackage without pdex, and what `compare_each` raises.
    """
    import_package(RANK_SUM)  # before anything is read
    shape = (len(groups.targets), file.n_genes)
    p, log2_fc = np.full((2, *shape), np.nan)
    of_controls = np.zeros((file.n_genes, 3))
    guides: list[GuideExpression] = []
    position = {gene: i for i, gene in enumerate(file.genes)}
    control = np.flatnonzero(groups.of_cell == -1)
    rows_of = [np.flatnonzero(groups.of_cell == i) for i in range(len(groups.targets))]
    plan = () if design.strata is None else plan_strata(rows_of, control, design.strata)
    replicates = mocks = None
    if design.replicates is not None:
        replicates = ReplicateTests(design.replicates, control, design, shape)
    if design.mocks is not None:
        mocks = MockTests(design.mocks, design, file.n_cells)
    for genes, values in _columns_in_parts(file, counts):
        reference = values[control]
        of_controls[genes, 0] = reference.mean(axis=0, dtype=np.float64)
        of_controls[genes, 1] = reference.var(axis=0, dtype=np.float64)
        of_controls[genes, 2] = (reference > 0).mean(axis=0)
        if design.strata is None:
            compared = compare_each((values[rows] for rows in rows_of), reference)
            for i, (of_genes, mean, _) in enumerate(compared):
                p[i, genes] = of_genes
                log2_fc[i, genes] = log2_fold_change(mean, of_controls[genes, 0])
        else:
            p[:, genes], log2_fc[:, genes] = compare_in_strata(values, plan, shape[0], compare_each)
        if replicates is not None:
            replicates.add(genes, values)
        if mocks is not None:
            mocks.add(genes, values, compare_here)
        for target, rows in zip(groups.targets, rows_of, strict=True):
            at = position.get(target, -1)
            if genes.start <= at < genes.stop:
                own = values[rows, at - genes.start].astype(np.float64)
                names = None if groups.guides is None else groups.guides[rows].astype(str)
                guides += _guides_of(target, own, names, float(of_controls[at, 0]))
        if progress is not None:
            progress(genes.stop / file.n_genes)
    return GeneChanges(
        p,
        np.apply_along_axis(benjamini_hochberg, 1, p),
        log2_fc,
        tuple(sorted(guides)),
        pd.DataFrame(of_controls, columns=["mean", "variance", "detected"]),
        None if replicates is None else replicates.finish(p),
        None if mocks is None else mocks.finish(replicates),
    )


def _guides_of(
    target: str, own: Floats, names: np.ndarray | None, control_mean: float
) -> Iterator[GuideExpression]:
    """Yield a target's own expression in all its cells and by guide. names: of the guides, both of
    shape (n_cells,)."""
    yield GuideExpression(target, "", len(own), float(own.mean()), control_mean)
    for guide in [] if names is None else np.unique(names).tolist():
        of_guide = own[names == guide]
        yield GuideExpression(target, guide, len(of_guide), float(of_guide.mean()), control_mean)


def compare_cells(cells: np.ndarray, control: np.ndarray) -> Compared:
    """Return each gene's p against the controls, the mean of its counts, and U; both of shape
    (n_cells, n_genes)."""
    p, u = rank_sum_tests(import_package(RANK_SUM), cells, control)
    return p, cells.mean(axis=0, dtype=np.float64), u


def compare_on_one_processor(cells: np.ndarray, control: np.ndarray) -> Compared:
    """Return the result of `compare_cells`, while other comparisons use the other processors. Raise
    MissingPackage."""
    # imports numba too; otherwise the error for missing numba would name no requirements file
    import_package(RANK_SUM)
    import numba

    numba.set_num_threads(1)
    return compare_cells(cells, control)


def rank_sum_tests(
    rank_sum: object, cells: np.ndarray, reference: np.ndarray
) -> tuple[Floats, Floats]:
    """Return the p of each gene and the cells' U, of shape (n_genes,); cells and reference of shape
    (n, n_genes). p is NaN where all values are 0."""
    # pdex chooses between two kernels by 10,000 values drawn at random: of rarely expressed genes
    # these may all be 0, and the kernel for whole numbers would cut every value down to one. The
    # kernel for any numbers is therefore called by name.
    with _threads_for((len(cells) + len(reference)) * cells.shape[1]):
        p, u = rank_sum._ranksum_float(cells, reference)  # type: ignore[attr-defined]
    found = np.minimum(p, 1.0)
    silent = np.flatnonzero(~cells.any(axis=0))
    found[silent[~reference[:, silent].any(axis=0)]] = np.nan
    return found, u


@contextmanager
def _threads_for(n_values: int) -> Iterator[None]:
    """Let numba use one thread per VALUES_PER_THREAD values; more would wait for work, and waiting
    uses processors too."""
    import numba

    most = numba.get_num_threads()
    numba.set_num_threads(max(1, min(most, n_values // VALUES_PER_THREAD)))
    try:
        yield
    finally:
        numba.set_num_threads(most)


def _columns_in_parts(file: CellFile, counts: CountSummary) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (which genes, their counts per COUNTS_PER_CELL, float32 of shape (n_cells, n_genes of
    the part))."""
    dense = max(1, DENSE_VALUES // file.n_cells)
    start = 0
    while start < file.n_genes:
        together = int(
            np.searchsorted(np.cumsum(counts.stored[start:]), VALUES_IN_MEMORY, side="right")
        )
        genes = slice(start, min(start + max(1, together), file.n_genes))
        columns = _read_columns(file, genes, counts)
        for first in range(0, columns.shape[1], dense):
            last = min(first + dense, columns.shape[1])
            # cells are selected many times, which is faster if a cell's values are contiguous
            yield slice(start + first, start + last), columns[:, first:last].toarray(order="C")
        del columns  # before the next are read
        start = genes.stop


def _read_columns(file: CellFile, genes: slice, counts: CountSummary) -> csc_matrix:
    """Return the genes' counts per COUNTS_PER_CELL, from one pass over the file; cells without
    counts stay 0.

    Each value is put where its gene's begin, so that nothing is held twice. Raise InputError if the
    file has other values than before.
    """
    totals = counts.totals
    factors = np.divide(
        COUNTS_PER_CELL, totals, out=np.zeros(len(totals)), where=totals > 0
    ).astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(counts.stored[genes])])
    values, cells = np.empty(ends[-1], dtype=np.float32), np.empty(ends[-1], dtype=np.int32)
    free = ends[:-1].copy()
    for rows, block in file.blocks():
        part = csc_matrix(csr_matrix(block[:, genes], dtype=np.float32))
        sizes = np.diff(part.indptr)
        if (free + sizes > ends[1:]).any():
            raise InputError(f"{file.path}: changed while it was read")
        place = np.repeat(free - part.indptr[:-1], sizes) + np.arange(part.nnz)
        of_cell = part.indices + rows.start
        values[place], cells[place] = part.data * factors[of_cell], of_cell
        free += sizes
    if (free != ends[1:]).any():
        raise InputError(f"{file.path}: changed while it was read")
    return csc_matrix((values, cells, ends), shape=(file.n_cells, len(free)))
