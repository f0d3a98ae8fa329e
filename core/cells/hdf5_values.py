"""Read values of a walked HDF5 file: only numbers and texts, and no more than the file can contain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.cells.hdf5_walk import TEXT_REFERENCE, Hdf5File, damage_named
from core.cells.packages import import_hdf5
from core.errors import InputError, UnsafeFile
from core.file_limits import refuse_beyond_memory, refuse_bomb

MOST_ATTRIBUTE_BYTES = 1 << 20
TEXT_BLOCK_BYTES = 1 << 28  # of texts of varying length that are read at once
_MOST_ATTRIBUTE_TEXTS = 1 << 29  # bytes that the texts of one attribute may have together
_BYTES_A_TEXT = 64  # overhead of a Python text


def require_dataset(file: Hdf5File, node: Any, n_dimensions: int = 1) -> Any:
    """Return a dataset of numbers or texts with this number of dimensions.

    Raise InputError for anything else: groups, complex and compound numbers, references, enumerations, lists; UnsafeFile for one
    that declares much more than the file contains, or whose chunks do.
    """
    h5py = import_hdf5()
    where = f"{file.path}: {node.name}"
    if not isinstance(node, h5py.Dataset):
        raise InputError(f"{where}: a group, expected values")
    with damage_named(where):
        shape, dtype = node.shape, node.dtype
    if shape is None or len(shape) != n_dimensions:
        raise InputError(f"{where}: of shape {shape}, expected {n_dimensions} dimension{'s' * (n_dimensions > 1)}")
    if not (is_text(dtype) or _is_number(dtype)):
        raise InputError(f"{where}: values of type {_describe(dtype)}, expected real numbers or texts")
    stored = 16 if dtype.kind == "O" else dtype.itemsize  # of a text of varying length: its own length and its place
    refuse_bomb(where, file.size, math.prod(shape) * stored)
    if node.chunks is not None:
        refuse_bomb(f"{where}, a chunk of it", file.size, math.prod(node.chunks) * stored)
        refuse_beyond_memory(f"{where}, a chunk of it", math.prod(node.chunks) * stored)
    return node


def is_text(dtype: Any) -> bool:
    """Return whether a type of h5py is text."""
    return import_hdf5().check_string_dtype(dtype) is not None


def _is_number(dtype: Any) -> bool:
    h5py = import_hdf5()
    return dtype.kind in "biuf" and dtype.subdtype is None and h5py.check_enum_dtype(dtype) is None


def _describe(dtype: Any) -> str:
    h5py = import_hdf5()
    kinds = {
        "a reference": h5py.check_ref_dtype(dtype),
        "an enumeration": h5py.check_enum_dtype(dtype),
        "a list of varying length": h5py.check_vlen_dtype(dtype),
    }
    return next((words for words, found in kinds.items() if found is not None), str(dtype)[:80])


def read_values(file: Hdf5File, node: Any) -> np.ndarray:
    """Return the values of a dataset of one dimension: numbers, truth values, or texts as objects. Raise as
    `require_dataset`, and InputError for texts that are not UTF-8 or take more memory than there is."""
    dataset = require_dataset(file, node)
    with damage_named(f"{file.path}: {dataset.name}"):
        if is_text(dataset.dtype):
            return _read_texts(file, dataset)
        file.take_memory(dataset.name, dataset.size * dataset.dtype.itemsize)
        return native(dataset[()])


def native(values: np.ndarray) -> np.ndarray:
    """Return values in this machine's order of bytes, which SciPy needs."""
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _read_texts(file: Hdf5File, dataset: Any) -> np.ndarray:
    """Return texts, read in blocks of which none takes more than TEXT_BLOCK_BYTES, wherever they point to."""
    n, width = dataset.size, dataset.dtype.itemsize
    varying = dataset.dtype.kind == "O"
    needed = n * (_BYTES_A_TEXT + (0 if varying else 2 * width))
    refuse_bomb(f"{file.path}: {dataset.name}", file.size, needed)
    file.take_memory(dataset.name, needed)
    if varying:
        file.refuse_long_text(dataset.name, _stored_lengths(file, dataset))
    step = max(1, TEXT_BLOCK_BYTES // max(1, file.longest_text if varying else width))
    found = np.empty(n, dtype=object)
    total = 0
    for start in range(0, n, step):
        block = dataset.asstr()[start : start + step]
        found[start : start + step] = block
        total += sum(map(len, block)) if varying else 0
        if total > file.size:
            raise UnsafeFile(f"{file.path}: {dataset.name}: texts of more than the file's {file.size:,} bytes")
    return found


def _stored_lengths(file: Hdf5File, dataset: Any) -> list[int]:
    """Return the declared lengths of the texts of a dataset; empty if they are stored in chunks."""
    offset = dataset.id.get_offset()
    if offset is None:
        return []
    with file.path.open("rb") as content:
        content.seek(offset)
        stored = content.read(dataset.size * TEXT_REFERENCE.itemsize)
    whole = len(stored) - len(stored) % TEXT_REFERENCE.itemsize
    lengths: list[int] = np.frombuffer(stored[:whole], TEXT_REFERENCE)["length"].tolist()
    return lengths


def read_attribute(file: Hdf5File, node: Any, name: str) -> Any:
    """Return an attribute: a text, a number, or an array of one dimension of them; None if there is none.

    Raise InputError for attributes of other kinds, and UnsafeFile for those that are larger than any should be.
    """
    where = f"{file.path}: {node.name or '/'}, attribute {name}"
    with damage_named(where):
        if name not in node.attrs:
            return None
        attribute = node.attrs.get_id(name)
        shape, dtype = attribute.shape, attribute.dtype
        if 0 in shape:  # as column-order of a frame without columns; HDF5 has no size for it
            return np.empty(0, dtype=object)
        n_bytes = attribute.get_storage_size()
        if n_bytes > MOST_ATTRIBUTE_BYTES:
            raise UnsafeFile(f"{where}: {n_bytes:,} bytes, expected at most {MOST_ATTRIBUTE_BYTES:,}")
        if len(shape) > 1 or not (is_text(dtype) or _is_number(dtype) or _is_reference(dtype)):
            raise InputError(f"{where}: {_describe(dtype)} of shape {shape}, expected a text or a number")
        if dtype.kind == "O" and shape and math.prod(shape) * file.longest_text > _MOST_ATTRIBUTE_TEXTS:
            raise UnsafeFile(f"{where}: {math.prod(shape):,} texts, each of up to {file.longest_text:,} bytes")
        if dtype.kind == "O" and not _is_reference(dtype):
            file.refuse_long_text(where, file.attribute_lengths(name, math.prod(shape)))
        return node.attrs[name]


def _is_reference(dtype: Any) -> bool:
    h5py = import_hdf5()
    return h5py.check_ref_dtype(dtype) is h5py.Reference
