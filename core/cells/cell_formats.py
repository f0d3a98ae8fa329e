"""The formats in which cells are read: AnnData as HDF5, and Zarr stores (a folder, or zipped), which are first copied into it.
The temporary copy is deleted when the file is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from core.cells.hdf5_walk import Hdf5File, open_hdf5
from core.cells.other_cells import describe_hdf5, describe_other_cells, is_hdf5, is_zarr, list_zipped_zarr
from core.cells.zarr_copy import copy_zarr
from core.cells.zarr_walk import list_store
from core.compressed import DAMAGE, open_archive
from core.errors import InputError, UnknownFormat
from core.file_io import refuse_special, temporary_folder
from core.file_limits import refuse_bomb
from core.hashes import sha256_of, sha256_of_file

_COPY: Final = "cells.h5ad"


def is_cell_file(path: Path) -> bool:
    """Return whether a file is AnnData by its name, HDF5 by its first bytes, or a Zarr store."""
    return path.suffix.lower() == ".h5ad" or is_hdf5(path) or is_zarr(path) or bool(list_zipped_zarr(path))


def open_stored(path: Path, layer: str | None = None) -> Hdf5File:
    """Open cells as the HDF5 of AnnData. layer: that will be read, instead of X.

    Raise UnknownFormat for another kind of file, with what to do; UnsafeFile and InputError as `open_hdf5`, `list_store` and
    `copy_zarr`; MissingPackage.
    """
    try:
        if is_zarr(path):
            return _open_copy(path, lambda target: _copy_store(path, target, layer))
        if list_zipped_zarr(path):
            return _open_copy(path, lambda target: _copy_zipped(path, target, layer))
        words = "" if is_hdf5(path) else describe_other_cells(path) or "no HDF5 file, expected cells as .h5ad (AnnData)"
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    with ExitStack() as stack:
        file = None if words else stack.enter_context(open_hdf5(path))
        if file is None or (words := describe_hdf5(file)):
            raise UnknownFormat(f"{path}: {words}")
        stack.pop_all()
        return file


def _open_copy(path: Path, copy: Callable[[Path], None]) -> Hdf5File:
    with ExitStack() as stack:
        target = stack.enter_context(temporary_folder("cells")) / _COPY
        copy(target)
        file = open_hdf5(path, target)
        file.cleanup.push(stack.pop_all())
        return file


def _copy_store(path: Path, target: Path, layer: str | None) -> None:
    list_store(path)  # which refuses links
    copy_zarr(path, target, layer)


def _copy_zipped(path: Path, target: Path, layer: str | None) -> None:
    try:
        with temporary_folder("zarr") as folder, path.open("rb") as file, open_archive(file, path.name) as archive:
            refuse_bomb(str(path), path.stat().st_size, sum(member.file_size for member in archive.infolist()))
            archive.extractall(folder)
            root = folder / list_zipped_zarr(path)[0]
            try:
                _copy_store(root, target, layer)
            except InputError as error:  # a person knows the archive's name, and no folder of ours
                raise type(error)(str(error).replace(str(root), str(path))) from error
    except (*DAMAGE, RuntimeError) as error:  # RuntimeError: of a member that needs a password
        raise InputError(f"{path}: a damaged zip ({error})") from error


def hash_cells(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of the files of a Zarr store.

    Raise InputError if one cannot be read, and UnsafeFile as `list_store`.
    """
    try:
        if not is_zarr(path):
            refuse_special(path)
            return sha256_of_file(path)
        lines = [f"{sha256_of_file(path / name)}  {name}\n" for name in list_store(path)]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return sha256_of("".join(lines))
