"""Files of single cells (.h5ad), opened in memory or backed, read in blocks of cells and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from core.cells.anndata_frames import read_genes, read_obs
from core.cells.anndata_values import open_values
from core.cells.columns import Columns, choose_columns
from core.cells.hdf5_walk import Hdf5File, damage_named, open_hdf5
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

    def __init__(self, file: Hdf5File, *, backed: bool) -> None:
        self.path = file.path
        self.backed = backed
        self.obs: pd.DataFrame = read_obs(file)
        self.genes: tuple[str, ...] = tuple(read_genes(file))
        self.n_cells: int = len(self.obs)
        self._file = file
        self._values = open_values(file, (self.n_cells, self.n_genes), in_memory=not backed)

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
                block = self._values[rows]
            except (OSError, KeyError, ValueError, RuntimeError) as error:
                raise InputError(f"{self.path}: cells {rows.start + 1:,} to {rows.stop:,} cannot be read ({error})") from error
            yield rows, block

    def close(self) -> None:
        """Closes the file; the values can no longer be read if it is backed."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _k: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def open_cells(path: Path, backed: bool = True) -> CellFile:
    """Opens a file of cells; backed leaves the values on disk. Nothing but X, obs and the names in var is read.

    Raises UnknownFormat for another kind of file; UnsafeFile as `open_hdf5`, and for one that says to hold more than it can;
    InputError for one that is missing or damaged, without cells, genes or values, with duplicated genes, or compressed by column
    and backed, which cannot be read by cells; MissingPackage without h5py.
    """
    _refuse_others(path)
    file = open_hdf5(path)
    try:
        with damage_named(str(path)):
            cells = CellFile(file, backed=backed)
            _check_shape(cells)
    except BaseException:
        file.close()
        raise
    return cells


def _refuse_others(path: Path) -> None:
    try:
        head = read_head(path, len(_HDF5))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if head != _HDF5:
        raise UnknownFormat(f"{path}: no HDF5 file, expected cells as .h5ad (AnnData)")


def _check_shape(cells: CellFile) -> None:
    if not cells.n_cells or not cells.n_genes:
        raise InputError(f"{cells.path}: {cells.n_cells:,} cells × {cells.n_genes:,} genes, expected at least one of each")
    names = pd.Index(cells.genes)
    repeated = list(dict.fromkeys(names[names.duplicated()]))
    if repeated:
        more = f" and {len(repeated) - 5:,} more" if len(repeated) > 5 else ""
        raise InputError(
            f"{cells.path}: gene symbols that stand there more than once: {', '.join(repeated[:5])}{more}; expected each once, "
            "so make them unique (by identifier, say) or add up their counts"
        )


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
