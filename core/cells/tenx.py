"""Copy 10x Genomics' matrices (HDF5, or a folder with matrix.mtx) into HDF5 as AnnData, to be read as such.

Genes are named by Ensembl's identifier, with their symbols beside it. Features that are not genes (guides, antibodies) are left
out. What was done to each cell such a matrix does not say: a table of cells does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.io import mminfo, mmread
from scipy.sparse import csr_matrix

from core.cells.anndata_frames import find_child
from core.cells.hdf5_values import native, read_values, require_dataset
from core.cells.hdf5_walk import Hdf5File, damage_named
from core.cells.other_cells import tenx_group
from core.cells.packages import import_hdf5
from core.compressed import DAMAGE, plain_file, unpack_file
from core.errors import InputError
from core.file_io import open_file
from core.file_limits import MAX_UNPACKED_BYTES, refuse_beyond_memory

GENES: Final = "Gene Expression"
SYMBOLS: Final = "gene_name"
MATRIX: Final = ("matrix.mtx", "matrix.mtx.gz")
_FEATURES: Final = ("features.tsv", "features.tsv.gz", "genes.tsv", "genes.tsv.gz")
_BARCODES: Final = ("barcodes.tsv", "barcodes.tsv.gz")
_LEAST_BYTES: Final = 6  # of an entry of matrix.mtx: two places and a number
_BYTES_A_VALUE: Final = 3 * 16  # in memory: positions and numbers when reading, and twice that when sorting


def copy_tenx_hdf5(file: Hdf5File, target: Path) -> None:
    """Write a matrix of 10x as AnnData. Raise InputError for parts that are missing or do not fit together."""
    group = tenx_group(file)
    assert group is not None
    features = find_child(file, group, "features") if "features" in group else group
    ids, symbols = ("id", "name") if "features" in group else ("genes", "gene_names")
    texts = [read_values(file, find_child(file, features, name)) for name in (ids, symbols)]
    kinds = read_values(file, find_child(file, features, "feature_type")) if "feature_type" in features else None
    barcodes = read_values(file, find_child(file, group, "barcodes"))
    data, indices, ends = (find_child(file, group, name) for name in ("data", "indices", "indptr"))
    n_values = require_dataset(file, data).size
    file.take_memory("its matrix", n_values * _BYTES_A_VALUE)
    with damage_named(str(file.path), "a matrix of 10x Genomics"):
        parts = native(data[()]), native(require_dataset(file, indices)[()]), read_values(file, ends)
        counts = csr_matrix(parts, shape=(len(barcodes), len(texts[0])))
        counts.check_format(full_check=True)
    _write(target, counts, barcodes, _genes_of(file.path, texts, kinds))


def tenx_folder(path: Path) -> Path | None:
    """Return the folder of a matrix of 10x, of which a path is the folder or its matrix.mtx; None for any other."""
    folder = path.parent if path.name in MATRIX and path.is_file() else path
    return folder if folder.is_dir() and any((folder / name).is_file() for name in MATRIX) else None


def list_tenx(folder: Path) -> list[Path]:
    """Return the files of a matrix in a folder: values, genes, cells. Raise InputError if one is missing."""
    found = []
    for names in (MATRIX, _FEATURES, _BARCODES):
        there = [folder / name for name in names if (folder / name).is_file()]
        if not there:
            raise InputError(f"{folder}: no {' or '.join(names)}, expected a matrix of 10x Genomics with its genes and cells")
        found.append(there[0])
    return found


def copy_tenx_folder(folder: Path, target: Path) -> None:
    """Write the 10x matrix in a folder as AnnData. Raise the InputErrors of `copy_tenx_hdf5`, and UnsafeFile for a file that
    claims more values than it has.
    """
    matrix, features, cells = list_tenx(folder)
    rows, barcodes = _read_lines(features), [line.split("\t")[0] for line in _read_lines(cells)]
    columns = [line.split("\t") for line in rows]
    short = [line for line, row in enumerate(columns, start=1) if len(row) < 2]
    if short:
        raise InputError(f"{features}: line {short[0]}: expected an identifier and a symbol, separated by a tab")
    kinds = [row[2] for row in columns] if all(len(row) > 2 for row in columns) else None
    with plain_file(matrix, str(matrix)) as (plain, _):
        counts = _read_matrix(matrix, plain, (len(rows), len(barcodes)))
    _write(target, counts, barcodes, _genes_of(folder, [[row[0] for row in columns], [row[1] for row in columns]], kinds))


def _read_lines(path: Path) -> list[str]:
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        stream = unpack_file(file, str(path))
        try:
            return (file.read() if stream is None else stream.readall()).decode().splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: no text in UTF-8 ({error})") from error


def _read_matrix(path: Path, plain: Path, shape: tuple[int, int]) -> csr_matrix:
    """Return counts, a row for each cell. plain: the unpacked file. shape: genes and cells."""
    try:
        n_rows, n_columns, n_values, form, kind, symmetry = mminfo(plain)
        if (n_rows, n_columns) != shape or (form, symmetry) != ("coordinate", "general") or kind not in ("integer", "real"):
            raise InputError(
                f"{path}: {n_rows:,} × {n_columns:,} values as {form}, {kind}, {symmetry}; expected counts (coordinate, general) "
                f"of {shape[0]:,} genes × {shape[1]:,} cells, as the files beside it have"
            )
        if n_values * _LEAST_BYTES > plain.stat().st_size:
            raise InputError(f"{path}: says to hold {n_values:,} values, which is more than its {plain.stat().st_size:,} bytes")
        refuse_beyond_memory(str(path), n_values * _BYTES_A_VALUE)
        return csr_matrix(mmread(plain).T)
    except (OSError, IndexError, *DAMAGE) as error:
        raise InputError(f"{path}: cannot be read as Matrix Market ({error})") from error


def _genes_of(path: Path, texts: Sequence[Any], kinds: Any) -> tuple[Any, Any, np.ndarray]:
    """Return identifiers, symbols, and which features are genes."""
    is_gene = np.array([kinds is None or kind == GENES for kind in (texts[0] if kinds is None else kinds)], dtype=np.bool_)
    if not is_gene.any() or any(len(text) != len(is_gene) for text in texts):
        raise InputError(f"{path}: {len(is_gene):,} features, {int(is_gene.sum()):,} of them {GENES!r}; expected genes")
    return texts[0], texts[1], is_gene


def _write(target: Path, counts: csr_matrix, barcodes: Any, genes: tuple[Any, Any, np.ndarray]) -> None:
    h5py = import_hdf5()
    ids, symbols, is_gene = genes
    counts = csr_matrix(counts[:, np.flatnonzero(is_gene)], dtype=np.float32)
    with h5py.File(target, "w") as file:
        _write_frame(file, "obs", barcodes, {})
        _write_frame(file, "var", np.array(ids, dtype=object)[is_gene], {SYMBOLS: np.array(symbols, dtype=object)[is_gene]})
        values = file.create_group("X")
        for name in ("data", "indices", "indptr"):
            values[name] = getattr(counts, name)
        values.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": np.array(counts.shape)})


def _write_frame(file: Any, name: str, index: Any, columns: dict[str, Any]) -> None:
    texts = import_hdf5().string_dtype()
    frame = file.create_group(name)
    frame.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
    frame.attrs["column-order"] = np.array(list(columns), dtype=texts if columns else float)
    for key, values in {"_index": index, **columns}.items():
        made = frame.create_dataset(key, data=np.array(values, dtype=object), dtype=texts)
        made.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
