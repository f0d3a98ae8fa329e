"""The parts of an AnnData file that are read: obs, the columns of var that name genes, and X or one
of its layers.

Frames and encodings are those of anndata 0.7 and later. Its own reader is not used: it follows
names out of a frame, and takes the lengths of texts and the parts of a sparse matrix as the file
declares them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_matrix

from core.base.errors import InputError
from core.features.cells.hdf5_values import native, read_attribute, read_values, require_dataset
from core.features.cells.hdf5_walk import Hdf5File, damage_named
from core.features.cells.packages import import_hdf5

_FRAMES: Final = ("dataframe 0.2.0", "dataframe 0.1.0")
_ARRAYS: Final = ("array 0.2.0", "string-array 0.2.0", "")
_MEMBERS: Final = {
    "categorical 0.2.0": ("codes", "categories"),
    "nullable-integer 0.1.0": ("values", "mask"),
    "nullable-boolean 0.1.0": ("values", "mask"),
    "nullable-string-array 0.1.0": ("values", "mask"),
}
_SPARSE: Final = ("csr_matrix 0.1.0", "csc_matrix 0.1.0", "csr_matrix", "csc_matrix")


def is_group(node: Any) -> bool:
    """Return whether an object contains others."""
    return isinstance(node, import_hdf5().Group)


def find_child(file: Hdf5File, node: Any, name: str) -> Any:
    """Return a group's child by name. Raise InputError if it is missing or its name leads out of
    the group."""
    outside = name.startswith("/") or {"", ".", ".."} & set(name.split("/"))
    if outside or not is_group(node) or name not in node:
        raise InputError(
            f"{file.path}: {node.name}: no {name!r} in it, expected what an AnnData file has"
        )
    return node[name]


def _encoding_of(file: Hdf5File, node: Any) -> str:
    """Return the type and version of an object's encoding, "" without one."""
    parts = (read_attribute(file, node, f"encoding-{name}") for name in ("type", "version"))
    return " ".join(str(part)[:60] for part in parts if part is not None)


def _require_encoding(file: Hdf5File, node: Any, expected: Collection[str]) -> str:
    encoding = _encoding_of(file, node)
    if encoding not in expected:
        raise InputError(
            f"{file.path}: {node.name}: encoding {encoding!r}, expected"
            f" {', '.join(filter(None, expected))}; what anndata before 0.7 wrote, a later one"
            " reads and writes again"
        )
    return encoding


def read_frame(file: Hdf5File, name: str, is_wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Return obs or var with its index and the wanted columns.

    Raise InputError for anything but a frame of equally long columns, or if one is encoded in an
    unknown way.
    """
    node = find_child(file, file.root, name)
    where = f"{file.path}: {node.name}"
    _require_encoding(file, node, _FRAMES)
    key = read_attribute(file, node, "_index")
    order = read_attribute(file, node, "column-order")
    names = [str(name) for name in np.atleast_1d(order)]
    if not isinstance(key, str) or order is None or len(set(names)) < len(names):
        raise InputError(
            f"{where}: index {str(key)[:60]}, columns {names[:5]}; expected the index by name, each"
            " column once"
        )
    index = pd.Index(_read_column(file, find_child(file, node, key)))
    columns = {
        name: _read_column(file, find_child(file, node, name)) for name in names if is_wanted(name)
    }
    for name, values in columns.items():
        if len(values) != len(index):
            raise InputError(f"{where}/{name}: {len(values):,} values, expected {len(index):,}")
    if not pd.api.types.is_string_dtype(index):
        index = index.astype(str)
    return pd.DataFrame(
        columns, index.rename(None if key == "_index" else key), columns=list(columns) or None
    )


def _read_column(file: Hdf5File, node: Any) -> Any:
    """Return the values of a column: an array, categories, or an array with missing values."""
    with damage_named(f"{file.path}: {node.name}"):
        encoding = _require_encoding(file, node, _MEMBERS if is_group(node) else _ARRAYS)
        described = node
        if encoding in _MEMBERS:
            parts = [find_child(file, node, name) for name in _MEMBERS[encoding]]
        elif (reference := read_attribute(file, node, "categories")) is None:
            return read_values(file, node)
        else:  # of a dataframe 0.1.0
            described = file.root[reference]
            parts = [node, described]
            if described.parent != find_child(file, node.parent, "__categories"):
                raise InputError(
                    f"{file.path}: {node.name}: refers to {described.name}, expected categories of"
                    " its frame"
                )
        values, kept = (read_values(file, part) for part in parts)
        if encoding.startswith("nullable"):
            dtype: Any = "string" if values.dtype.kind == "O" else None
            column: Any = pd.array(values, dtype)
            column[kept.astype(bool)] = pd.NA
            return column
        return pd.Categorical.from_codes(
            values, kept, ordered=bool(read_attribute(file, described, "ordered"))
        )


class StoredRows:
    """A sparse matrix that stays in the file, compressed by cell. ends: where each cell ends in
    data and indices."""

    def __init__(self, data: Any, indices: Any, ends: np.ndarray, n_genes: int) -> None:
        self._data, self._indices, self._ends, self._n_genes = (
            native(data),
            native(indices),
            ends,
            n_genes,
        )

    def __getitem__(self, rows: slice) -> csr_matrix:
        """Return the values of some cells. Raise ValueError for indices of genes that are not
        there."""
        ends = self._ends[rows.start : rows.stop + 1]
        stored = slice(int(ends[0]), int(ends[-1]))
        parts = self._data[stored], self._indices[stored], ends - ends[0]
        block = csr_matrix(parts, shape=(len(ends) - 1, self._n_genes))
        block.check_format(full_check=True)  # a damaged file may refer to missing genes
        return block


def open_values(
    file: Hdf5File, shape: tuple[int, int], *, in_memory: bool, layer: str | None = None
) -> Any:
    """Return X, of shape (n_cells, n_genes): stored, or in memory as CSR or an array; slices of
    rows can be taken from it.

    layer: one of layers or obsm by its name, instead of X. What is compressed by gene (CSC) is read
    into memory. Raise InputError if there are no such values, if they are no matrix of real numbers
    of this shape, if the parts of a sparse one do not fit together, or if they do not fit into
    memory.
    """
    node = _find_values(file, layer)
    with damage_named(f"{file.path}: {node.name}"):
        is_sparse = is_group(node)
        encoding = _require_encoding(file, node, _SPARSE if is_sparse else _ARRAYS)
        sizes = (
            read_attribute(file, node, "shape")
            if is_sparse
            else require_dataset(file, node, 2, "numbers").shape
        )
        if (got := np.atleast_1d(sizes).tolist()) != [*shape]:
            raise InputError(
                f"{file.path}: {node.name} is of shape {got[:3]}, expected {[*shape]}, as obs and"
                " var have"
            )
        if is_sparse:
            return _open_sparse(file, node, shape, encoding[:3], in_memory)
        if not in_memory:
            return native(node)
        file.take_memory(node.name, node.nbytes)
        return native(node)[()]


def _find_values(file: Hdf5File, layer: str | None) -> Any:
    names = list_layers(file)[:5]
    if layer not in (None, "X"):
        for group in ("layers", "obsm"):
            if layer in list_layers(file, group):
                return file.root[group][layer]
        raise InputError(
            f"{file.path}: --layer {layer}: not in the file, expected {' or '.join(['X', *names])}"
        )
    if "X" not in file.root or _encoding_of(file, file.root["X"]).startswith("null"):
        others = (
            f"; say which holds the values with --layer NAME: {', '.join(names)}" if names else ""
        )
        raise InputError(
            f"{file.path}: has no values (X is empty), expected counts of cells × genes{others}"
        )
    return file.root["X"]


def list_layers(file: Hdf5File, group: str = "layers") -> list[str]:
    """Return the names in layers, or in another group; empty if it is missing."""
    return list(file.root[group]) if group in file.root and is_group(file.root[group]) else []


def _open_sparse(
    file: Hdf5File, group: Any, shape: tuple[int, int], kind: str, in_memory: bool
) -> StoredRows | csr_matrix:
    """Return a sparse matrix. Raise InputError unless its parts fit together."""
    n_rows, width = shape if kind == "csr" else shape[::-1]
    parts = {"data": "numbers", "indices": "whole numbers", "indptr": "whole numbers"}
    data, indices, indptr = (
        require_dataset(file, find_child(file, group, name), 1, of) for name, of in parts.items()
    )
    ends = read_values(file, indptr).astype(np.int64)
    steps = np.diff(ends)
    if (
        (data.size, len(ends)) != (indices.size, n_rows + 1)
        or (ends[0], ends[-1]) != (0, data.size)
        or not 0 <= steps.min(initial=0) <= steps.max(initial=0) <= width
    ):
        raise InputError(
            f"{file.path}: {group.name}: {data.size:,} values, {indices.size:,} indices and"
            f" {len(ends):,} in indptr, to {ends.max(initial=0):,} in steps of"
            f" {steps.min(initial=0):,} to {steps.max(initial=0):,}; expected as many values as"
            f" indices, and {n_rows + 1:,} in indptr, from 0 to their number in steps of 0 to"
            f" {width:,}"
        )
    if kind == "csr" and not in_memory:
        return StoredRows(data, indices, ends, width)
    file.take_memory(group.name, (1 if kind == "csr" else 2) * (data.nbytes + indices.nbytes))
    if kind == "csr":
        return StoredRows(data, indices, ends, width)[:n_rows]
    values = csc_matrix((native(data)[()], native(indices)[()], ends), shape=shape)
    values.check_format(full_check=True)
    return csr_matrix(values)
