"""X of an AnnData file, or one of its layers: dense, or sparse with parts that fit together; in the file or in memory."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from core.cells.anndata_frames import ARRAYS, encoding_of, find_child, find_part, is_group, unknown_encoding
from core.cells.hdf5_values import is_text, native, read_attribute, read_values, require_dataset
from core.cells.hdf5_walk import Hdf5File, damage_named
from core.errors import InputError

_FORMATS: Final = ("csr", "csc")


class StoredRows:
    """A sparse X that stays in the file, compressed by cell. dtype: of its values."""

    format: Final = "csr"

    def __init__(self, file: Hdf5File, group: Any, shape: tuple[int, int]) -> None:
        self._data, self._indices, self._ends = _members(file, group, shape, "csr")
        self.shape = shape
        self.dtype = self._data.dtype

    def __getitem__(self, rows: slice) -> csr_matrix:
        """Return the values of some cells. Raise ValueError for indices of genes that are not there."""
        ends = self._ends[rows.start : rows.stop + 1]
        stored = slice(int(ends[0]), int(ends[-1]))
        parts = native(self._data[stored]), native(self._indices[stored]), ends - ends[0]
        block = csr_matrix(parts, shape=(len(ends) - 1, self.shape[1]))
        block.check_format(full_check=True)  # a damaged file may refer to missing genes
        return block


class StoredTable:
    """A dense X that stays in the file."""

    format: Final = "dense"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.dtype = dataset.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        return native(self._dataset[rows])


Stored = StoredRows | StoredTable


def open_values(file: Hdf5File, shape: tuple[int, int], *, in_memory: bool, layer: str | None = None) -> Any:
    """Return X, of shape (n_cells, n_genes): stored, or in memory as CSR or an array; slices of rows can be taken from it.

    layer: one of layers or obsm by its name, instead of X. What is compressed by gene (CSC) is read into memory. Raise
    InputError if there are no such values, if they are no matrix of real numbers of this shape, if the parts of a sparse one do
    not fit together, or if they do not fit into memory.
    """
    node, name = _find_values(file, layer)
    if not is_group(node):
        dataset = _require_dense(file, node, shape)
        if not in_memory:
            return StoredTable(dataset)
        file.take_memory(name, dataset.size * dataset.dtype.itemsize)
        with damage_named(f"{file.path}: {name}"):
            return native(dataset[()])
    kind = _sparse_format(file, node, shape)
    if in_memory or kind == "csc":
        return _read_sparse(file, node, shape, kind)
    return StoredRows(file, node, shape)


def _find_values(file: Hdf5File, layer: str | None) -> tuple[Any, str]:
    """Return the object with the values, and its name."""
    if layer is not None and layer != "X":
        for group in ("layers", "obsm"):
            if layer in list_layers(file, group):
                return find_child(file, file.root[group], layer), f"{group}/{layer}"
        raise InputError(f"{file.path}: --layer {layer}: not in the file, expected X{_others(file, ' or one of ')}")
    if "X" not in file.root or encoding_of(file, file.root["X"])[0] == "null":
        how = "; say which holds the values with --layer NAME:" if list_layers(file) else ""
        others = _others(file, f"{how} ")
        raise InputError(f"{file.path}: has no values (X is empty), expected counts of cells × genes{others}")
    return find_part(file, "X"), "X"


def list_layers(file: Hdf5File, group: str = "layers") -> list[str]:
    """Return the names in layers, or in another group; empty if it is missing."""
    with damage_named(f"{file.path}: {group}"):
        return list(file.root[group]) if group in file.root and is_group(file.root[group]) else []


def _others(file: Hdf5File, before: str) -> str:
    names = list_layers(file)
    return f"{before}{', '.join(names[:5])}" if names else ""


def _require_dense(file: Hdf5File, node: Any, shape: tuple[int, int]) -> Any:
    encoding = encoding_of(file, node)
    if encoding not in ARRAYS:
        raise unknown_encoding(file, node, encoding, "an array")
    dataset = require_dataset(file, node, 2)
    if is_text(dataset.dtype):
        raise InputError(f"{file.path}: {_name(node)}: texts, expected numbers")
    _require_shape(file, node, dataset.shape, shape)
    return dataset


def _require_shape(file: Hdf5File, node: Any, got: tuple[int, ...], expected: tuple[int, int]) -> None:
    if got != expected:
        raise InputError(
            f"{file.path}: {_name(node)} is of shape {got}, expected {expected[0]:,} cells × {expected[1]:,} genes, as obs and "
            "var have"
        )


def _sparse_format(file: Hdf5File, group: Any, shape: tuple[int, int]) -> str:
    """Return "csr" or "csc". Raise InputError for other encodings and shapes."""
    kind, version = encoding_of(file, group)
    name = kind.removesuffix("_matrix")
    if name not in _FORMATS or version not in ("", "0.1.0"):
        raise unknown_encoding(file, group, (kind, version), "csr_matrix or csc_matrix")
    found = read_attribute(file, group, "shape")
    sizes = np.atleast_1d(found) if found is not None else np.empty(0)
    if sizes.dtype.kind not in "iu":
        raise InputError(f"{file.path}: {_name(group)}: its attribute shape holds no whole numbers")
    _require_shape(file, group, tuple(int(size) for size in sizes), shape)
    return name


def _members(file: Hdf5File, group: Any, shape: tuple[int, int], kind: str) -> tuple[Any, Any, np.ndarray]:
    """Return the datasets of values and of indices, and where each row (or column) ends in them. Raise InputError unless these
    fit together."""
    data, indices, ends = (require_dataset(file, find_child(file, group, name)) for name in ("data", "indices", "indptr"))
    n_rows, width = shape if kind == "csr" else shape[::-1]
    if is_text(data.dtype) or indices.dtype.kind not in "iu" or ends.dtype.kind not in "iu":
        raise InputError(
            f"{file.path}: {_name(group)}: {data.dtype} values, {indices.dtype} indices, {ends.dtype} indptr, expected numbers"
        )
    if data.shape != indices.shape or ends.shape != (n_rows + 1,):
        raise InputError(
            f"{file.path}: {_name(group)}: {data.size:,} values, {indices.size:,} indices and {ends.size:,} in indptr; expected "
            f"as many values as indices, and {n_rows + 1:,} in indptr"
        )
    at = read_values(file, ends).astype(np.int64)
    steps = np.diff(at)
    if at[0] != 0 or at[-1] != data.size or (steps < 0).any() or (steps > width).any():
        raise InputError(
            f"{file.path}: {_name(group)}: indptr runs from {at[0]:,} to {at[-1]:,} in steps of {steps.min(initial=0):,} to "
            f"{steps.max(initial=0):,}; expected 0 to {data.size:,} in steps of 0 to {width:,}"
        )
    return data, indices, at


def _read_sparse(file: Hdf5File, group: Any, shape: tuple[int, int], kind: str) -> csr_matrix:
    data, indices, ends = _members(file, group, shape, kind)
    copies = 1 if kind == "csr" else 2
    file.take_memory(_name(group), copies * data.size * (data.dtype.itemsize + indices.dtype.itemsize))
    with damage_named(f"{file.path}: {_name(group)}"):
        make = csr_matrix if kind == "csr" else csc_matrix
        found = make((native(data[()]), native(indices[()]), ends), shape=shape)
        found.check_format(full_check=True)
        return csr_matrix(found)


def _name(node: Any) -> str:
    """Return an object's name in the file."""
    return str(node.name).removeprefix("/")
