"""Files of single cells (.h5ad): columns and genes as anndata reads them; values are read in blocks
of cells, and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_matrix

from core.base.errors import InputError
from core.features.cells.cell_formats import (
    WITH_PANDAS_3,
    import_package,
    open_stored,
    reading,
)
from core.features.cells.columns import GeneNames, choose_gene_names
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
# of pandas, of a column
_PLAIN: Final = {
    *("string", "empty", "boolean", "categorical", "floating", "integer", "integer-na"),
    *("mixed-integer-float", "decimal"),
}


class CellFile:
    """An open .h5ad: its cells' columns (obs), its genes, and its values in blocks of cells."""

    def __init__(self, path: Path, root: Any, layer: str | None = None) -> None:
        self.path = path
        self._root = root
        self.obs = self._read_frame("obs")
        self._var = self._read_frame("var")
        self.layers = (*self._names_in("layers"), *self._names_in("obsm"))
        self.has_raw = "X" in self._names_in("raw")
        self.gene_names = GeneNames(tuple(clean(str(name)) for name in self._var.index))
        self.n_cells: int = len(self.obs)
        self.is_log = False  # whether `blocks` gives expm1 of what the file has
        with reading(str(path)):
            self._values = self._open_values(self._find_values(layer))

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
        self.gene_names = choose_gene_names(self.path, self._var, wanted, given)

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
        with reading(f"{self.path}, cells {rows.start + 1:,} to {rows.stop:,}"):
            block = self._values[rows]
            # as SciPy needs it
            block = block.astype(block.dtype.newbyteorder("="), copy=False)
            return expm1_of(block).astype(np.float32) if self.is_log else block

    def _read_frame(self, name: str) -> pd.DataFrame:
        """Return obs or var. Raise InputError for anything but a frame of texts and numbers."""
        read_elem = import_package("anndata.io").read_elem
        unknown = import_package("anndata._io.specs.registry").IORegistryError
        with reading(f"{self.path}: /{name}"):
            try:
                frame = read_elem(self._root[name])
            except unknown as error:
                raise InputError(f"{self.path}: /{name}: {str(error)[:200]}") from error
            if not isinstance(frame, pd.DataFrame):
                raise InputError(
                    f"{self.path}: /{name}: {type(frame).__name__}, expected a frame; what anndata"
                    " before 0.7 wrote, a later one reads and writes again"
                )
            frame.index = _decode(frame.index).astype(str)
            for column in frame:
                frame[column] = _decode(frame[column])
                kind = pd.api.types.infer_dtype(frame[column])
                if kind not in _PLAIN:
                    raise InputError(
                        f"{self.path}: /{name}/{column}: {kind}, expected texts or numbers"
                    )
            return frame

    def _names_in(self, group: str) -> list[str]:
        """Return the names in layers, or in another group; empty if it is missing."""
        return list(self._root[group]) if group in self._root else []

    def _find_values(self, layer: str | None) -> Any:
        """Return X, or one of layers or obsm by its name. Raise InputError if there is none."""
        names = self._names_in("layers")[:5]
        if layer not in (None, "X"):
            for group in ("layers", "obsm"):
                if layer in self._names_in(group):
                    return self._root[group][layer]
            raise InputError(
                f"{self.path}: --layer {layer}: not in the file, expected"
                f" {' or '.join(['X', *names])}"
            )
        if "X" not in self._root or self._root["X"].attrs.get("encoding-type") == "null":
            others = (
                f"; say which holds the values with --layer NAME: {', '.join(names)}"
                if names
                else ""
            )
            raise InputError(
                f"{self.path}: has no values (X is empty), expected counts of cells × genes{others}"
            )
        return self._root["X"]

    def _open_values(self, node: Any) -> Any:
        """Return values from which slices of rows can be taken: stored ones, but for sparse ones
        that are compressed by gene (CSC), which are read. Raise InputError for anything but real
        numbers of n_cells × n_genes.
        """
        shape = (self.n_cells, self.n_genes)
        is_sparse = isinstance(node, import_package("h5py").Group)
        values = node["data"] if is_sparse else node
        got = tuple(np.atleast_1d(node.attrs["shape"] if is_sparse else node.shape).tolist())
        if got != shape or values.dtype.kind not in "biuf":
            raise InputError(
                f"{self.path}: {node.name} is of shape {got[:3]} and type {values.dtype},"
                f" expected numbers of shape {shape}, as obs and var have"
            )
        if not is_sparse:
            return node
        kind = node.attrs["encoding-type"]
        ends = node["indptr"][()].astype(np.int64)
        if kind == "csr_matrix":
            return StoredRows(values, node["indices"], ends, self.n_genes)
        if kind != "csc_matrix":
            raise InputError(f"{self.path}: {node.name}: {kind!s:.60}, expected CSR or CSC")
        matrix = csc_matrix((values[()], node["indices"][()], ends), shape=shape)
        matrix.check_format(full_check=True)
        return csr_matrix(matrix)


class StoredRows:
    """A sparse matrix that stays in the file, compressed by cell. ends: where each cell ends in
    data and indices. (anndata 0.12 has one that does not work with this SciPy.)"""

    def __init__(self, data: Any, indices: Any, ends: np.ndarray, n_genes: int) -> None:
        self._data, self._indices, self._ends, self._n_genes = data, indices, ends, n_genes

    def __getitem__(self, rows: slice) -> csr_matrix:
        """Return the values of some cells. Raise ValueError for parts that do not fit together."""
        ends = self._ends[rows.start : rows.stop + 1]
        first, last = int(ends[0]), int(ends[-1])
        if first < 0 or (rows.start == 0 and first):
            raise ValueError(f"cells start at value {first:,}")
        parts = self._data[first:last], self._indices[first:last], ends - first
        block = csr_matrix(parts, shape=(rows.stop - rows.start, self._n_genes))
        block.check_format(full_check=True)  # a damaged file may refer to missing genes
        return block


def _decode(values: Any) -> Any:
    """Return a column or index as it is, but bytes (of texts of fixed length) as texts."""
    is_bytes = pd.api.types.infer_dtype(values) == "bytes"
    return values.str.decode("utf-8") if is_bytes else values


@contextmanager
def open_cells(path: Path, layer: str | None = None) -> Iterator[CellFile]:
    """Give a file of cells, whose values are left on disk. Nothing but X (or a layer), obs and var
    is read.

    Raise what `open_stored` does; InputError for one that is missing or damaged, without cells,
    genes or values, or that takes too much memory.
    """
    with open_stored(path) as root:
        cells = CellFile(path, root, layer)
        if not cells.n_cells or not cells.n_genes:
            raise InputError(
                f"{path}: {cells.n_cells:,} cells × {cells.n_genes:,} genes, expected at least one"
                " of each"
            )
        yield cells


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
        check_values(file, rows, block, values, f"{_EXPECTED}{_other_places(file)}")
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
            " Expected counts, or --values counts where a count is never above"
            f" 1{_other_places(file)}"
        )
    if not whole and given is None:
        looks = "looks log-transformed: " if largest <= LARGEST_LOG else ""
        raise InputError(
            f"{file.path}: {looks}{describe_sums(largest, totals)}; expected counts. Say what they"
            " are: --values log1p for log1p of normalised counts, --values counts for means of"
            f" counts, or counts less those of ambient RNA{_other_places(file)}"
        )
    if not largest:
        raise InputError(
            f"{file.path}: all values are 0, expected counts in X{_other_places(file)}"
        )
    return CountSummary(totals, detected, least, stored, whole)


def describe_sums(largest: float, sums: Floats) -> str:
    """Return what values that are not whole may be. sums: of cells."""
    low, high = np.quantile(sums, [0.25, 0.75])
    return (
        f"not all values are whole, the largest is {largest:,.4g} and cells sum to {low:,.4g} to"
        f" {high:,.4g} (the middle half): means, corrections or transforms of counts"
    )


def _other_places(file: CellFile) -> str:
    """Return the likely place of counts in the file, and how to use them; "" if no name suggests
    one."""
    counts = [name for name in file.layers if "count" in name.lower() or name.lower() == "raw"]
    if counts:
        return f"; a layer holds counts, perhaps: --layer {counts[0]}"
    if file.has_raw:
        code = f"anndata.read_h5ad({file.path.name!r}).raw.to_adata().write_h5ad('raw.h5ad')"
        return (
            f"; what X was made of stands in raw, perhaps, of which `{code}` makes a file"
            f" ({WITH_PANDAS_3})"
        )
    return ""


def _depth_of_cells(block: Values) -> tuple[Codes, Floats]:
    """Return each cell's number of values that are not 0, and the smallest of these, infinite
    without one."""
    if not isinstance(block, csr_matrix):
        return np.count_nonzero(block, axis=1), np.where(block > 0, block, np.inf).min(axis=1)
    positive = block.copy()
    positive.eliminate_zeros()
    counts = np.diff(positive.indptr)
    # the last where a row begins at the end; reduceat gives empty rows the value after them
    least = np.minimum.reduceat(np.append(positive.data, np.inf), positive.indptr[:-1])
    return counts, np.where(counts == 0, np.inf, least)


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
        first = int(np.flatnonzero(wrong.ravel())[0])
        if isinstance(block, csr_matrix):
            row, gene = (each[first] for each in block.tocoo().coords)
        else:
            row, gene = divmod(first, file.n_genes)
        cell = file.obs.index[rows.start + row]
        raise InputError(
            f"{file.path}: cell {cell}, gene {file.genes[gene]}: {values.ravel()[first]} {what},"
            f" {expected}"
        )
