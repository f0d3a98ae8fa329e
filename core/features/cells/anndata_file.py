"""Files of single cells (.h5ad), opened in memory or backed, read in blocks of cells and
checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.features.cells.anndata_parts import list_layers, open_values, read_frame
from core.features.cells.cell_formats import open_stored
from core.features.cells.gene_names import GeneNames, choose_gene_names, is_name_column
from core.features.cells.hdf5_walk import Hdf5File, damage_named
from core.features.cells.other_cells import WITH_PANDAS_3
from core.features.importing.symbols import clean
from core.stats.arrays import Codes, Floats

COUNTS_PER_CELL = 10_000.0  # that cells are brought to
BLOCK_VALUES = 20_000_000  # of a dense block: 80 MB of float32
SPREAD_PLACES = 20
LEAST_BINARY = 10_000  # values, among which counts have one above 1
_EXPECTED = "expected a count (scaled and centred values, and residuals, are negative)"
LARGEST_LOG = 20.0  # log1p of 485 million; the natural or binary log of any count is below
Values: TypeAlias = csr_matrix | np.ndarray
ValueScale = Literal["counts", "log1p"]


class CellFile:
    """An open .h5ad: its cells' columns (obs), its genes, and its values in blocks of cells. Close
    it, or use `with`."""

    def __init__(self, file: Hdf5File, *, backed: bool, layer: str | None = None) -> None:
        self.path = file.path
        self.obs: pd.DataFrame = read_frame(file, "obs", lambda _: True)
        self.layers = (*list_layers(file), *list_layers(file, "obsm"))
        self.has_raw = "X" in list_layers(file, "raw")
        self._file = file
        index = read_frame(file, "var", lambda _: False).index
        self.gene_names = GeneNames(tuple(clean(str(name)) for name in index))
        self.n_cells: int = len(self.obs)
        self.is_log = False  # whether `blocks` gives expm1 of what the file has
        self._values = open_values(
            file, (self.n_cells, self.n_genes), in_memory=not backed, layer=layer
        )

    @property
    def genes(self) -> tuple[str, ...]:
        """The names of the genes: the index of var, until `name_genes` chooses."""
        return self.gene_names.names

    @property
    def n_genes(self) -> int:
        return len(self.genes)

    def name_genes(self, wanted: Iterable[str], given: str | None) -> None:
        """Name the genes as the perturbed ones are called; raise what `choose_gene_names`
        raises."""
        with damage_named(str(self.path)):
            var = read_frame(self._file, "var", lambda name: name == given or is_name_column(name))
        self.gene_names = choose_gene_names(self.path, var, wanted, given)

    def blocks(self, rows_per_block: int | None = None) -> Iterator[tuple[slice, Values]]:
        """Yield (which cells, their values of shape (n_cells in the block, n_genes)) in the file's
        order.

        Sparse files yield CSR, dense ones arrays. Raise InputError if the file breaks off or
        changes while it is read.
        """
        step = rows_per_block or max(1, BLOCK_VALUES // self.n_genes)
        for start in range(0, self.n_cells, step):
            rows = slice(start, min(start + step, self.n_cells))
            yield rows, self._read(rows)

    def spread(self, n_cells: int) -> Iterator[Values]:
        """Yield the values of about n_cells cells from evenly spaced positions. Raise the errors of
        `blocks`."""
        places = min(SPREAD_PLACES, n_cells)
        wanted = -(-min(n_cells, self.n_cells) // places)
        for start in sorted(
            {i * (self.n_cells - wanted) // max(1, places - 1) for i in range(places)}
        ):
            yield self._read(slice(start, start + wanted))

    def _read(self, rows: slice) -> Values:
        try:
            block = self._values[rows]
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise InputError(
                f"{self.path}: cells {rows.start + 1:,} to {rows.stop:,} cannot be read ({error})"
            ) from error
        return expm1_of(block).astype(np.float32) if self.is_log else block

    def close(self) -> None:
        """Close the file; the values can no longer be read if it is backed."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_cells(path: Path, backed: bool = True, layer: str | None = None) -> CellFile:
    """Open a file of cells; backed leaves the values on disk. Nothing but X (or a layer), obs and
    the names in var is read.

    Raise what `open_stored` does; UnsafeFile for a file that declares more than it can contain;
    InputError for one that is missing or damaged, without cells, genes or values.
    """
    file = open_stored(path)
    try:
        with damage_named(str(path)):
            cells = CellFile(file, backed=backed, layer=layer)
        if not cells.n_cells or not cells.n_genes:
            raise InputError(
                f"{path}: {cells.n_cells:,} cells × {cells.n_genes:,} genes, expected at least one"
                " of each"
            )
    except BaseException:
        file.close()
        raise
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class CountSummary:
    """What the values of a file are like. totals: the sum of each cell, of shape (n_cells,).
    stored: of each gene, how many values the file keeps, zeros too where they are stored, of shape
    (n_genes,).

    detected, least: of each cell, how many genes it has, and the smallest value that is not 0 (that
    of one count, as a rule; infinite in a cell without any): depth that normalised values keep,
    too.
    """

    totals: Floats
    detected: Codes
    least: Floats
    stored: Codes
    whole_numbers: bool


def summarise_counts(file: CellFile, given: ValueScale | None = None) -> CountSummary:
    """Read all values once and return their statistics. given: the user's --values.

    Raise InputError for values that are not finite or negative, and for values that are not all
    whole, unless `given` is set.
    """
    file.is_log = given == "log1p"
    totals, stored = np.zeros(file.n_cells), np.zeros(file.n_genes, dtype=np.int64)
    detected, least = np.zeros(file.n_cells, dtype=np.intp), np.zeros(file.n_cells)
    largest, whole = 0.0, True
    for rows, block in file.blocks():
        values = stored_values(block)
        check_values(file, rows, block, values, f"{_EXPECTED}{_other_places(file, '; ')}")
        totals[rows] = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        # zeros too where they are stored, as `csr_matrix` makes of it
        stored += (
            block.getnnz(axis=0)
            if isinstance(block, csr_matrix)
            else np.count_nonzero(block, axis=0)
        )
        detected[rows], least[rows] = _depth_of_cells(block)
        largest = max(largest, float(np.max(values, initial=0)))
        whole = whole and bool(np.array_equal(values, np.rint(values)))
    if whole and largest == 1 and given is None and file.n_cells * file.n_genes >= LEAST_BINARY:
        raise InputError(
            f"{file.path}: no value is above 1: they say whether a gene is seen, and not how much."
            f" Expected counts{_other_places(file, '; ')}, or --values counts where a count is"
            " never above 1"
        )
    if not whole and given is None:
        raise InputError(f"{file.path}: {_describe_unclear(file, largest, totals)}")
    if not largest:
        raise InputError(
            f"{file.path}: all values are 0, expected counts in X{_other_places(file, '; ')}"
        )
    return CountSummary(totals, detected, least, stored, whole)


def _describe_unclear(file: CellFile, largest: float, totals: Floats) -> str:
    """Return why values that are not whole may not be counts, and which option to set."""
    low, high = np.quantile(totals, [0.25, 0.75])
    sums = f"cells sum to {low:,.4g} to {high:,.4g} (the middle half)"
    how = f"looks log-transformed: the largest value is {largest:.3g} and not all are whole numbers"
    if largest > LARGEST_LOG:
        how = (
            f"not all values are whole, the largest is {largest:,.4g} and {sums}: means or"
            " corrections of counts, or roots"
        )
    return (
        f"{how}; expected counts. Say what they are: {_other_places(file, '', ' or ')}--values"
        " log1p for log1p of normalised counts, --values counts for means of counts, or counts"
        " less those of ambient RNA"
    )


def _other_places(file: CellFile, before: str, after: str = "") -> str:
    """Return the likely place of counts in the file, and how to use them; "" if no name suggests
    one."""
    counts = [name for name in file.layers if "count" in name.lower() or name.lower() == "raw"]
    if counts:
        return f"{before}a layer holds counts, perhaps: --layer {counts[0]}{after}"
    if file.has_raw:
        code = f"anndata.read_h5ad({file.path.name!r}).raw.to_adata().write_h5ad('raw.h5ad')"
        return (
            f"{before}what X was made of stands in raw, perhaps, of which `{code}` makes a file"
            f" ({WITH_PANDAS_3}){after}"
        )
    return ""


def _depth_of_cells(block: Values) -> tuple[Codes, Floats]:
    """Return each cell's number of values that are not 0, and the smallest of these, infinite
    without one."""
    if not isinstance(block, csr_matrix):
        return np.count_nonzero(block, axis=1), np.where(block > 0, block, np.inf).min(axis=1)
    # the last where a row begins at the end
    positive = np.append(np.where(block.data > 0, block.data, np.inf), np.inf)
    least = np.minimum.reduceat(positive, block.indptr[:-1])
    empty = np.diff(block.indptr) == 0  # reduceat gives these the value after them
    counts = np.add.reduceat(np.append(block.data > 0, False).astype(np.intp), block.indptr[:-1])
    return np.where(empty, 0, counts), np.where(empty, np.inf, least)


def expm1_of(block: Values) -> Values:
    """Return expm1 of values, as float64."""
    values = block.astype(np.float64)
    return values.expm1() if isinstance(values, csr_matrix) else np.expm1(values)


def stored_values(block: Values) -> np.ndarray:
    """Return the values of a block: those that are stored if it is sparse, all of them if it is
    dense."""
    return np.asarray(block.data) if isinstance(block, csr_matrix) else block


def check_values(
    file: CellFile, rows: slice, block: Values, values: np.ndarray, expected: str
) -> None:
    """Raise InputError that names the first cell and gene whose value is negative or not finite.
    expected: ends it."""
    if not np.issubdtype(values.dtype, np.number):
        raise InputError(f"{file.path}: values of type {values.dtype}, expected numbers")
    for what, wrong in (("is not finite", ~np.isfinite(values)), ("is negative", values < 0)):
        if not wrong.any():
            continue
        first = np.flatnonzero(wrong.ravel())[0]
        if isinstance(block, csr_matrix):
            row, gene = (
                int(np.searchsorted(block.indptr, first, side="right")) - 1,
                int(block.indices[first]),
            )
        else:
            row, gene = divmod(int(first), file.n_genes)
        cell = file.obs.index[rows.start + row]
        raise InputError(
            f"{file.path}: cell {cell}, gene {file.genes[gene]}: {values.ravel()[first]} {what},"
            f" {expected}"
        )
