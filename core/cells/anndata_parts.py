"""The parts of an AnnData file that are read: obs, the names in var, and X; nothing of uns, obsm, raw and the rest.

Frames and encodings are those of anndata 0.7 and later (dataframe 0.1.0 and 0.2.0), and the tables of before.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_matrix

from core.cells.hdf5_values import is_text, native, read_attribute, read_values, require_dataset
from core.cells.hdf5_walk import Hdf5File, damage_named
from core.cells.packages import import_hdf5
from core.errors import InputError
from core.file_limits import refuse_bomb

_FRAMES: Final = {("dataframe", "0.1.0"), ("dataframe", "0.2.0")}
_ARRAYS: Final = {("", ""), ("array", "0.2.0"), ("string-array", "0.2.0")}
_NULLABLE: Final = {
    "nullable-integer": pd.arrays.IntegerArray,
    "nullable-boolean": pd.arrays.BooleanArray,
    "nullable-string-array": None,
}
_FORMATS: Final = ("csr", "csc")
Encoding = tuple[str, str]


def read_obs(file: Hdf5File) -> pd.DataFrame:
    """Return the columns of the cells. Raise InputError for what is no frame of columns of one length, or is encoded in an
    unknown way."""
    return _read_frame(file, _part(file, "obs"))


def read_genes(file: Hdf5File) -> list[str]:
    """Return the names of the genes. Raise InputError as `read_obs`."""
    node = _part(file, "var")
    if _is_table(node):
        return [str(name) for name in _read_table(file, node).index]
    return [str(name) for name in _read_index(file, node)[1]]


def _part(file: Hdf5File, name: str) -> Any:
    with damage_named(f"{file.path}: {name}"):
        if name not in file.root:
            raise InputError(f"{file.path}: no {name}, expected cells as AnnData with obs, var and X")
        return file.root[name]


def _read_frame(file: Hdf5File, node: Any) -> pd.DataFrame:
    if _is_table(node):
        return _read_table(file, node)
    key, index = _read_index(file, node)
    names = [str(name) for name in np.atleast_1d(_attribute(file, node, "column-order"))]
    if len(set(names)) != len(names):
        raise InputError(f"{file.path}: {node.name}: a column stands there twice, expected each once")
    columns = {name: _read_column(file, _child(file, node, name)) for name in names}
    for name, values in columns.items():
        if len(values) != len(index):
            raise InputError(f"{file.path}: {node.name}/{name}: {len(values):,} values, expected {len(index):,}")
    frame = pd.DataFrame(columns, index=index, columns=names or None)
    frame.index.name = None if key == "_index" else key
    return frame


def _read_index(file: Hdf5File, node: Any) -> tuple[str, pd.Index]:
    """Return the name of a frame's index, and the names in it."""
    encoding = _encoding_of(file, node)
    if encoding not in _FRAMES:
        raise _unknown(file, node, encoding, "a dataframe")
    key = _attribute(file, node, "_index")
    if not isinstance(key, str):
        raise InputError(f"{file.path}: {node.name}: its attribute _index is no text")
    index = pd.Index(_read_column(file, _child(file, node, key)))
    return key, index if pd.api.types.is_string_dtype(index) else index.astype(str)


def _attribute(file: Hdf5File, node: Any, name: str) -> Any:
    found = read_attribute(file, node, name)
    if found is None:
        raise InputError(f"{file.path}: {node.name}: no attribute {name}, expected one of a dataframe")
    return found


def _child(file: Hdf5File, node: Any, name: str) -> Any:
    """Return what lies in a group under a name; names that lead out of the group are refused."""
    inside = not name.startswith("/") and not {"", ".", ".."} & set(name.split("/"))
    with damage_named(f"{file.path}: {node.name}: {name!r}"):
        if not inside or name not in node:
            raise InputError(f"{file.path}: {node.name}: no {name!r} in it")
        return node[name]


def _encoding_of(file: Hdf5File, node: Any) -> Encoding:
    kind, version = (read_attribute(file, node, f"encoding-{name}") for name in ("type", "version"))
    return "" if kind is None else str(kind)[:60], "" if version is None else str(version)[:60]


def _unknown(file: Hdf5File, node: Any, encoding: Encoding, expected: str) -> InputError:
    got = f"encoding {encoding[0]!r} {encoding[1]!r}" if any(encoding) else "no encoding"
    return InputError(f"{file.path}: {node.name}: {got}, expected {expected}")


def _read_column(file: Hdf5File, node: Any) -> Any:
    """Return the values of a column: an array, categories, or an array with missing values."""
    encoding = _encoding_of(file, node)
    if not _is_group(node):
        if encoding not in _ARRAYS:
            raise _unknown(file, node, encoding, "an array or a string-array")
        values = read_values(file, node)
        reference = read_attribute(file, node, "categories")
        return values if reference is None else _read_old_categories(file, node, values, reference)
    if encoding == ("categorical", "0.2.0"):
        codes, categories = (read_values(file, _child(file, node, name)) for name in ("codes", "categories"))
        return _categorical(file, node, codes, categories, ordered=read_attribute(file, node, "ordered"))
    if encoding[0] in _NULLABLE and encoding[1] == "0.1.0":
        return _read_nullable(file, node, encoding[0])
    raise _unknown(file, node, encoding, "a categorical, a nullable array, an array or a string-array")


def _categorical(file: Hdf5File, node: Any, codes: Any, categories: Any, *, ordered: Any) -> pd.Categorical:
    """Return categories of their codes. Raise InputError for codes that name none of them."""
    where = f"{file.path}: {node.name}"
    if codes.dtype.kind not in "iu":
        raise InputError(f"{where}: codes of type {codes.dtype}, expected whole numbers")
    if len(codes) and not -1 <= int(codes.min()) <= int(codes.max()) < len(categories):
        raise InputError(
            f"{where}: codes from {int(codes.min()):,} to {int(codes.max()):,}, expected -1 to {len(categories) - 1:,}, "
            f"since it has {len(categories):,} categories"
        )
    with damage_named(where):
        return pd.Categorical.from_codes(codes, categories, ordered=bool(ordered))


def _read_old_categories(file: Hdf5File, node: Any, codes: np.ndarray, reference: Any) -> pd.Categorical:
    """Return the categories of a column of a dataframe 0.1.0, which refers to them; no reference leads out of that frame."""
    with damage_named(f"{file.path}: {node.name}"):
        kept = _child(file, node.parent, "__categories")
        target = file.root[reference]
        if target.name is None or target.name.rpartition("/")[0] != kept.name:
            raise InputError(f"{file.path}: {node.name}: refers to {target.name}, expected categories in {kept.name}")
    ordered = read_attribute(file, target, "ordered")
    return _categorical(file, node, codes, read_values(file, target), ordered=ordered)


def _read_nullable(file: Hdf5File, node: Any, kind: str) -> Any:
    values, mask = (read_values(file, _child(file, node, name)) for name in ("values", "mask"))
    with damage_named(f"{file.path}: {node.name}"):
        build = _NULLABLE[kind]
        if build is not None:
            return build(values, mask)
        texts = pd.array(values, dtype=pd.StringDtype())
        texts[mask] = pd.NA
        return texts


def _is_group(node: Any) -> bool:
    return isinstance(node, import_hdf5().Group)


def _is_table(node: Any) -> bool:
    """Whether a part is one table of compound rows, as anndata wrote frames before 0.7."""
    return not _is_group(node) and bool(getattr(node.dtype, "names", None))


def _read_table(file: Hdf5File, node: Any) -> pd.DataFrame:
    """Return a table of compound rows, whose first column is the index and whose categories stand in uns."""
    where = f"{file.path}: {node.name}"
    columns: dict[str, Any] = {}
    for name in node.dtype.names:
        kind = node.dtype[name]
        if len(node.shape) != 1 or not (kind.kind in "biufS" and kind.subdtype is None):
            raise InputError(f"{where}: column {name!r} of type {str(kind)[:80]}, expected numbers or texts")
    refuse_bomb(where, file.size, node.size * node.dtype.itemsize)
    file.take_memory(node.name, 4 * node.size * node.dtype.itemsize)
    with damage_named(where):
        table = node[()]
        for name in node.dtype.names:
            values = table[name]
            columns[name] = np.char.decode(values, "utf-8").astype(object) if values.dtype.kind == "S" else native(values)
    for name in node.dtype.names[1:]:
        kept = f"uns/{name}_categories"
        if columns[name].dtype.kind in "iu" and kept in file.root:
            columns[name] = _categorical(file, node, columns[name], read_values(file, file.root[kept]), ordered=False)
    frame = pd.DataFrame(columns)
    frame = frame.set_index(frame.columns[0])
    frame.index = frame.index.astype(str)
    return frame


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
        block.check_format(full_check=True)  # a damaged file may name genes that are not there
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


def open_values(file: Hdf5File, shape: tuple[int, int], *, in_memory: bool) -> Any:
    """Return X, of shape (n_cells, n_genes): stored, or in memory as CSR or an array; slices of rows can be taken from it.

    Raise InputError if there is no X, if it is no matrix of real numbers of this shape, if the parts of a sparse one do not
    fit together, or if it is compressed by gene and not read into memory.
    """
    if "X" not in file.root or _encoding_of(file, file.root["X"])[0] == "null":
        raise InputError(f"{file.path}: has no values (X is empty), expected counts of cells × genes{_other_layers(file)}")
    node = _part(file, "X")
    if not _is_group(node):
        dataset = _require_dense(file, node, shape)
        if not in_memory:
            return StoredTable(dataset)
        file.take_memory("X", dataset.size * dataset.dtype.itemsize)
        with damage_named(f"{file.path}: X"):
            return native(dataset[()])
    kind = _sparse_format(file, node, shape)
    if in_memory:
        return _read_sparse(file, node, shape, kind)
    if kind == "csc":
        raise InputError(
            f"{file.path}: values compressed by gene (CSC) cannot be read by cells from the disk; write them as CSR, or read the "
            "whole file into memory (--in-memory)"
        )
    return StoredRows(file, node, shape)


def _other_layers(file: Hdf5File) -> str:
    with damage_named(f"{file.path}: layers"):
        names = list(file.root["layers"]) if "layers" in file.root and _is_group(file.root["layers"]) else []
    return f"; its layers are {', '.join(map(repr, names[:5]))}" if names else ""


def _require_dense(file: Hdf5File, node: Any, shape: tuple[int, int]) -> Any:
    encoding = _encoding_of(file, node)
    if encoding not in _ARRAYS:
        raise _unknown(file, node, encoding, "an array")
    dataset = require_dataset(file, node, 2)
    if is_text(dataset.dtype):
        raise InputError(f"{file.path}: X: texts, expected numbers")
    _require_shape(file, dataset.shape, shape)
    return dataset


def _require_shape(file: Hdf5File, got: tuple[int, ...], expected: tuple[int, int]) -> None:
    if got != expected:
        raise InputError(
            f"{file.path}: X is of shape {got}, expected {expected[0]:,} cells × {expected[1]:,} genes, as obs and var have"
        )


def _sparse_format(file: Hdf5File, group: Any, shape: tuple[int, int]) -> str:
    """Return "csr" or "csc". Raise InputError for other encodings and shapes."""
    kind, version = _encoding_of(file, group)
    old = read_attribute(file, group, "h5sparse_format")  # of anndata before 0.7
    name = str(old) if not kind and old is not None else kind.removesuffix("_matrix")
    if name not in _FORMATS or version not in ("", "0.1.0"):
        raise _unknown(file, group, (kind, version), "csr_matrix or csc_matrix")
    found = read_attribute(file, group, "shape" if kind else "h5sparse_shape")
    sizes = np.atleast_1d(found) if found is not None else np.empty(0)
    if sizes.dtype.kind not in "iu":
        raise InputError(f"{file.path}: X: its attribute shape holds no whole numbers")
    _require_shape(file, tuple(int(size) for size in sizes), shape)
    return name


def _members(file: Hdf5File, group: Any, shape: tuple[int, int], kind: str) -> tuple[Any, Any, np.ndarray]:
    """Return the datasets of values and of indices, and where each row (or column) ends in them. Raise InputError unless these
    fit together."""
    data, indices, ends = (require_dataset(file, _child(file, group, name)) for name in ("data", "indices", "indptr"))
    n_rows, width = shape if kind == "csr" else shape[::-1]
    if is_text(data.dtype) or indices.dtype.kind not in "iu" or ends.dtype.kind not in "iu":
        raise InputError(f"{file.path}: X: {data.dtype} values, {indices.dtype} indices, {ends.dtype} indptr, expected numbers")
    if data.shape != indices.shape or ends.shape != (n_rows + 1,):
        raise InputError(
            f"{file.path}: X: {data.size:,} values, {indices.size:,} indices and {ends.size:,} in indptr; expected as many "
            f"values as indices, and {n_rows + 1:,} in indptr"
        )
    at = read_values(file, ends).astype(np.int64)
    steps = np.diff(at)
    if at[0] != 0 or at[-1] != data.size or (steps < 0).any() or (steps > width).any():
        raise InputError(
            f"{file.path}: X: indptr runs from {at[0]:,} to {at[-1]:,} in steps of {steps.min(initial=0):,} to "
            f"{steps.max(initial=0):,}; expected 0 to {data.size:,} in steps of 0 to {width:,}"
        )
    return data, indices, at


def _read_sparse(file: Hdf5File, group: Any, shape: tuple[int, int], kind: str) -> csr_matrix:
    data, indices, ends = _members(file, group, shape, kind)
    copies = 1 if kind == "csr" else 2
    file.take_memory("X", copies * data.size * (data.dtype.itemsize + indices.dtype.itemsize))
    with damage_named(f"{file.path}: X"):
        make = csr_matrix if kind == "csr" else csc_matrix
        found = make((native(data[()]), native(indices[()]), ends), shape=shape)
        found.check_format(full_check=True)
        return csr_matrix(found)
