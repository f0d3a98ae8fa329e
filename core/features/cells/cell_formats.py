"""The one format in which cells are read: AnnData as HDF5. Others are named with the lines that
convert them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from core.base.errors import InputError, UnknownFormat
from core.base.file_io import refuse_special
from core.base.hashes import sha256_of_file
from core.features.cells.hdf5_walk import Hdf5File, open_hdf5
from core.features.cells.other_cells import describe_hdf5, describe_other_cells, is_hdf5


def is_cell_file(path: Path) -> bool:
    """Return whether a file is AnnData by its name, or HDF5 by its first bytes."""
    return path.suffix.lower() == ".h5ad" or is_hdf5(path)


def open_stored(path: Path) -> Hdf5File:
    """Open cells as the HDF5 of AnnData.

    Raise UnknownFormat for another kind of file, with what to do; UnsafeFile and InputError as
    `open_hdf5`; MissingPackage.
    """
    try:
        words = (
            ""
            if is_hdf5(path)
            else describe_other_cells(path) or "no HDF5 file, expected cells as .h5ad (AnnData)"
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    with ExitStack() as stack:
        file = None if words else stack.enter_context(open_hdf5(path))
        if file is None or (words := describe_hdf5(file)):
            raise UnknownFormat(f"{path}: {words}")
        stack.pop_all()
        return file


def hash_cells(path: Path) -> str:
    """Return the SHA-256 of a file. Raise InputError if it cannot be read."""
    try:
        refuse_special(path)
        return sha256_of_file(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
