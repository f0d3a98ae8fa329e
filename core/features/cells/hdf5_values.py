"""Read values of a walked HDF5 file: only numbers and texts, and no more than the file can
contain."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from core.base.errors import InputError, UnsafeFile
from core.base.file_limits import refuse_beyond_memory, refuse_bomb
from core.features.cells.hdf5_walk import TEXT_REFERENCE, Hdf5File, damage_named
from core.features.cells.packages import import_hdf5

MOST_ATTRIBUTE_BYTES = 1 << 20
TEXT_BLOCK_BYTES = 1 << 28  # of texts of varying length that are read at once
_MOST_ATTRIBUTE_TEXTS = 1 << 29  # bytes that the texts of one attribute may have together
_BYTES_A_TEXT = 64  # overhead of a Python text
# of NumPy
_KINDS: Final = {"real numbers or texts": "biufOS", "numbers": "biuf", "whole numbers": "iu"}


def require_dataset(
    file: Hdf5File, node: Any, n_dimensions: int = 1, of: str = "real numbers or texts"
) -> Any:
    """Return a dataset of values of one of `_KINDS` with this number of dimensions.

    Raise InputError for anything else: groups, complex and compound numbers, references,
    enumerations, lists; UnsafeFile for one that declares much more than the file contains, or whose
    chunks do.
    """
    where = f"{file.path}: {node.name}"
    if (
        not isinstance(node, import_hdf5().Dataset)
        or len(node.shape or ()) != n_dimensions
        or node.dtype.kind not in _KINDS[of]
        or not _is_plain(node.dtype)
    ):
        raise InputError(
            f"{where}: {node}, expected {of} in {n_dimensions} dimension{'s' * (n_dimensions > 1)}"
        )
    # of a text of varying length: its own length and its place
    n_bytes = 16 if node.dtype.kind == "O" else node.dtype.itemsize
    chunk = math.prod(node.chunks or ()) * n_bytes
    refuse_bomb(where, file.size, math.prod(node.shape) * n_bytes)  # h5py's own size has 64 bits
    refuse_bomb(f"{where}, a chunk of it", file.size, chunk)
    refuse_beyond_memory(f"{where}, a chunk of it", chunk)
    return node


def _is_plain(dtype: Any) -> bool:
    """Return whether a type of h5py is text or a real number: enumerations, references and lists
    have metadata."""
    return import_hdf5().check_string_dtype(dtype) is not None or (
        dtype.kind in "biuf" and not dtype.metadata
    )


def native(dataset: Any) -> Any:
    """Return a dataset whose values are read in this machine's order of bytes, which SciPy
    needs."""
    return dataset.astype(dataset.dtype.newbyteorder("="))


def read_values(file: Hdf5File, node: Any) -> Any:
    """Return the array of a dataset of one dimension: numbers, truth values, or texts as objects.
    Raise as `require_dataset`, and InputError for texts that are not UTF-8 or take more memory than
    there is."""
    with damage_named(f"{file.path}: {node.name}"):
        dataset = require_dataset(file, node)
        if dataset.dtype.kind in "OS":
            return _read_texts(file, dataset)
        file.take_memory(dataset.name, dataset.nbytes)
        return native(dataset)[()]


def _read_texts(file: Hdf5File, dataset: Any) -> Any:
    """Return texts; those of varying length are read in blocks of at most TEXT_BLOCK_BYTES,
    wherever they point to."""
    varying = dataset.dtype.kind == "O"
    needed = dataset.size * (_BYTES_A_TEXT + (0 if varying else 2 * dataset.dtype.itemsize))
    refuse_bomb(f"{file.path}: {dataset.name}", file.size, needed)
    file.take_memory(dataset.name, needed)
    if not varying:
        return dataset.asstr()[()]
    offset = dataset.id.get_offset()
    if offset is not None:  # not in chunks: the lengths that the texts are said to have stand there
        lengths = np.fromfile(file.path, TEXT_REFERENCE, dataset.size, offset=offset)["length"]
        file.refuse_long_text(dataset.name, lengths.tolist())
    step = max(1, TEXT_BLOCK_BYTES // max(1, file.longest_text))
    texts, total = np.empty(dataset.size, dtype=object), 0
    for start in range(0, dataset.size, step):
        texts[start : start + step] = block = dataset.asstr()[start : start + step]
        total += sum(map(len, block))
        if total > file.size:
            raise UnsafeFile(
                f"{file.path}: {dataset.name}: texts of more than the file's {file.size:,} bytes"
            )
    return texts


def read_attribute(file: Hdf5File, node: Any, name: str) -> Any:
    """Return an attribute: a text, a number, or an array of one dimension of them; None if there is
    none.

    Raise InputError for attributes of other kinds, and UnsafeFile for those that are larger than
    any should be.
    """
    where = f"{file.path}: {node.name or '/'}, attribute {name}"
    with damage_named(where):
        if name not in node.attrs:
            return None
        attribute = node.attrs.get_id(name)
        n, dtype = math.prod(attribute.shape), attribute.dtype
        if not n:  # as column-order of a frame without columns; HDF5 has no size for it
            return np.empty(0, dtype=object)
        is_reference = import_hdf5().check_ref_dtype(dtype) is not None
        if len(attribute.shape) > 1 or not (is_reference or _is_plain(dtype)):
            raise InputError(
                f"{where}: {dtype!s:.80} of shape {attribute.shape}, expected a text or a number"
            )
        varying = dtype.kind == "O" and not is_reference
        if varying and n > 1 and n * file.longest_text > _MOST_ATTRIBUTE_TEXTS:
            raise UnsafeFile(f"{where}: {n:,} texts, each of up to {file.longest_text:,} bytes")
        if (n_bytes := attribute.get_storage_size()) > MOST_ATTRIBUTE_BYTES:
            raise UnsafeFile(
                f"{where}: {n_bytes:,} bytes, expected at most {MOST_ATTRIBUTE_BYTES:,}"
            )
        if varying:
            file.refuse_long_text(where, file.attribute_lengths(name, n))
        return node.attrs[name]
