"""Files of single cells (.h5ad), opened in memory or backed, read in blocks of cells and checked."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from core.cells.columns import Columns, choose_columns
from core.cells.packages import import_anndata
from core.errors import InputError, UnknownFormat
from core.file_io import read_head
from core.stats.arrays import Floats

__all__ = ["CellFile", "Columns", "CountSummary", "choose_columns", "open_cells", "summarise_counts"]

BLOCK_VALUES = 20_000_000  # of a dense block: 80 MB of float32
LARGEST_LOG = 20.0  # log1p of 485 million; the natural or binary log of any count is below
Values: TypeAlias = csr_matrix | np.ndarray
_HDF5 = b"\x89HDF\r\n\x1a\n"


class CellFile:
    """An open .h5ad: its cells' columns (obs), its genes, and its values in blocks of cells. Close it, or use `with`."""

    def __init__(self, path: Path, cells: Any, *, backed: bool) -> None:
        self.path = path
        self.backed = backed
        self._cells = cells
        self.genes: tuple[str, ...] = tuple(str(gene) for gene in cells.var_names)
        self.obs: pd.DataFrame = cells.obs
        self.n_cells: int = int(cells.n_obs)

    @property
    def n_genes(self) -> int:
        return len(self.genes)

    def rows_per_block(self) -> int:
        """Returns how many cells make a dense block of BLOCK_VALUES values; at least 1."""
        return max(1, BLOCK_VALUES // max(1, self.n_genes))

    def blocks(self, rows_per_block: int | None = None) -> Iterator[tuple[slice, Values]]:
        """Yields (which cells, their values of shape (n_cells in the block, n_genes)) in the file's order.

        Sparse files yield CSR, dense ones arrays. Raises InputError if the file breaks off or changes while it is read.
        """
        step = rows_per_block or self.rows_per_block()
        for start in range(0, self.n_cells, step):
            rows = slice(start, min(start + step, self.n_cells))
            try:
                block = self._read(rows)
            except (OSError, KeyError, ValueError, RuntimeError) as error:
                raise InputError(f"{self.path}: cells {rows.start + 1:,} to {rows.stop:,} cannot be read ({error})") from error
            yield rows, block

    def _read(self, rows: slice) -> Values:
        values = self._cells.X
        if self.backed and hasattr(values, "group"):  # anndata 0.12's own slices of a sparse file fail with SciPy 1.17
            group = values.group
            ends = group["indptr"][rows.start : rows.stop + 1]
            stored = slice(int(ends[0]), int(ends[-1]))
            block = csr_matrix(
                (group["data"][stored], group["indices"][stored], ends - ends[0]), shape=(rows.stop - rows.start, self.n_genes)
            )
            block.check_format(full_check=True)  # a damaged file may name genes that are not there
            return block
        block = values[rows]
        return csr_matrix(block) if issparse(block) else np.asarray(block)

    def close(self) -> None:
        """Closes the file; the values can no longer be read if it is backed."""
        if self.backed:
            self._cells.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _k: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def open_cells(path: Path, backed: bool = True) -> CellFile:
    """Opens a file of cells; backed leaves the values on disk.

    Raises UnknownFormat for another kind of file; InputError for one that is missing or damaged, without cells, genes or values,
    with duplicated genes, or compressed by column and backed, which cannot be read by cells; MissingPackage without anndata.
    """
    _refuse_others(path)
    anndata = import_anndata()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what counts is checked below
            cells = anndata.read_h5ad(path, backed="r" if backed else None)
    except Exception as error:  # anndata raises whatever its readers and HDF5 do
        raise InputError(f"{path}: cannot be read as AnnData ({_first_line(error)}), expected an .h5ad file") from error
    try:
        _check_shape(path, cells, backed=backed)
    except InputError:
        if backed:
            cells.file.close()
        raise
    return CellFile(path, cells, backed=backed)


def _refuse_others(path: Path) -> None:
    try:
        head = read_head(path, len(_HDF5))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if head != _HDF5:
        raise UnknownFormat(f"{path}: no HDF5 file, expected cells as .h5ad (AnnData)")


def _check_shape(path: Path, cells: Any, *, backed: bool) -> None:
    if cells.X is None:
        raise InputError(f"{path}: has no values (X is empty), expected counts of cells × genes")
    if not cells.n_obs or not cells.n_vars:
        raise InputError(f"{path}: {cells.n_obs:,} cells × {cells.n_vars:,} genes, expected at least one of each")
    names = pd.Index([str(gene) for gene in cells.var_names])
    repeated = list(dict.fromkeys(names[names.duplicated()]))
    if repeated:
        more = f" and {len(repeated) - 5:,} more" if len(repeated) > 5 else ""
        raise InputError(
            f"{path}: gene symbols that stand there more than once: {', '.join(repeated[:5])}{more}; expected each once, so "
            "make them unique (by identifier, say) or add up their counts"
        )
    if backed and getattr(cells.X, "format", "csr") != "csr":
        raise InputError(
            f"{path}: values compressed by gene (CSC) cannot be read by cells from the disk; write them as CSR, or read the "
            "whole file into memory (--in-memory)"
        )


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


@dataclass(frozen=True, slots=True, eq=False)
class CountSummary:
    """What the values of a file are like. totals: the sum of each cell, of shape (n_cells,). non_zero: how many values."""

    totals: Floats
    non_zero: int
    largest: float
    whole_numbers: bool

    @property
    def empty_cells(self) -> int:
        return int((self.totals == 0).sum())


def summarise_counts(file: CellFile) -> CountSummary:
    """Reads all values once and returns what they are like.

    Raises InputError for values that are not finite, negative, or log-transformed: not whole, and none above LARGEST_LOG.
    """
    totals = np.zeros(file.n_cells)
    non_zero, largest, whole = 0, 0.0, True
    for rows, block in file.blocks():
        values = stored_values(block)
        check_values(file, rows, block, values)
        totals[rows] = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        non_zero += int(np.count_nonzero(values))
        largest = max(largest, float(np.max(values, initial=0)))
        whole = whole and bool(np.array_equal(values, np.rint(values)))
    if not whole and largest <= LARGEST_LOG:
        raise InputError(
            f"{file.path}: looks log-transformed: the largest value is {largest:.3g} and not all are whole numbers; "
            "expected counts in X"
        )
    if not non_zero:
        raise InputError(f"{file.path}: all values are 0, expected counts in X")
    return CountSummary(totals, non_zero, largest, whole)


def stored_values(block: Values) -> np.ndarray:
    """Returns the values of a block: those that are stored if it is sparse, all of them if it is dense."""
    return np.asarray(block.data) if isinstance(block, csr_matrix) else block


def check_values(file: CellFile, rows: slice, block: Values, values: np.ndarray) -> None:
    """Raises InputError that names the first cell and gene whose value is no count."""
    if not np.issubdtype(values.dtype, np.number):
        raise InputError(f"{file.path}: values of type {values.dtype}, expected numbers")
    for what, wrong in (("is not finite", ~np.isfinite(values)), ("is negative", values < 0)):
        if not wrong.any():
            continue
        first = np.flatnonzero(wrong.ravel())[0]
        if isinstance(block, csr_matrix):
            row, gene = int(np.searchsorted(block.indptr, first, side="right")) - 1, int(block.indices[first])
        else:
            row, gene = divmod(int(first), file.n_genes)
        cell = file.obs.index[rows.start + row]
        raise InputError(f"{file.path}: cell {cell}, gene {file.genes[gene]}: {values.ravel()[first]} {what}, expected a count")
