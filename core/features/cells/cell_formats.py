"""The one format in which cells are read, AnnData as HDF5 whose content lies in the file itself;
others are named with the lines of Python that convert them.

HDF5 opens other files by itself: for a link to one, for values in external storage and for virtual
datasets. Each is refused by the name of its object before any value is read.
"""

from __future__ import annotations

import logging
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from core.base.archives import packing_of, unpack_file
from core.base.errors import InputError, MissingPackage, UnknownFormat, UnsafeFile, require_package
from core.base.file_io import open_file, read_head, refuse_special
from core.base.file_limits import MAX_UNPACKED_BYTES, limit_memory
from core.base.hashes import sha256_of_file
from core.features.importing.other_formats import is_zarr

HDF5: Final = b"\x89HDF\r\n\x1a\n"
USE: Final = (
    "`cells labels FILE --name D` makes a dataset of it, `cells predictions FILE --dataset D` a"
    " run; vectors of genes are read from CSV, Parquet or .npz"
)
_TEXT: Final = b"%%MatrixMarket"
_UNPACK: Final = {"gzip": "gunzip", "bz2": "bunzip2", "zstd": "unzstd"}
# With pandas 3, anndata 0.12 cannot write the texts that it reads.
WITH_PANDAS_3: Final = "with pandas 3, first `pandas.set_option('future.infer_string', False)`"
_WRITE: Final = "`cells.write_h5ad('cells.h5ad')`"
_ADD: Final = (
    "it does not say what was done to each cell. Add that as `cells.obs['perturbation']`, with one"
    f" value for controls, and write it with {_WRITE}"
)
# Errors of h5py for bytes that are not HDF5, for missing objects, and for types unknown to NumPy.
_DAMAGE: Final = (
    *(OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError),
    *(ArithmeticError, AssertionError, BufferError, SystemError, struct.error),
)


def import_package(module: str) -> Any:
    """Return a module of the packages that read and test cells. Raise MissingPackage.

    The log stays as it is (pdex sets it up when it is imported).
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that announce their own future
            return require_package(module, "a file of cells", "requirements-cells.txt")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Limit the memory of the block, and raise InputError, naming the place, for what h5py raises
    of a damaged file."""
    try:
        with limit_memory(where):
            yield
    except _DAMAGE as error:
        text = next(iter(str(error).strip().splitlines()), "")[:200] or type(error).__name__
        raise InputError(
            f"{where}: cannot be read as AnnData ({text}), expected an .h5ad file"
        ) from error


@contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """Give the h5py.File of a file.

    Raise UnsafeFile, with the name of the object, for links to other files, external storage and
    virtual datasets; InputError for a damaged file; MissingPackage without h5py.
    """
    h5py = import_package("h5py")
    with reading(str(path)):
        root = h5py.File(path, "r")
    with root:
        with reading(str(path)):
            _refuse_other_files(h5py, path, root)
        yield root


def _refuse_other_files(h5py: Any, path: Path, root: Any) -> None:
    links: list[tuple[bytes, int]] = []
    # each object once, soft links not followed; h5py loses what is raised in there
    root.id.links.visit(lambda name, info: links.append((name, info.type)), info=True)
    for name, kind in links:
        found = ""
        if kind == h5py.h5l.TYPE_HARD:
            opened = h5py.h5o.open(root.id, name)
            if isinstance(opened, h5py.h5d.DatasetID):
                made = opened.get_create_plist()
                if made.get_external_count():
                    found = "values in another file (external storage)"
                elif made.get_layout() == h5py.h5d.VIRTUAL:
                    found = "a virtual dataset, whose values lie elsewhere"
        elif kind != h5py.h5l.TYPE_SOFT:  # leads through links of this file alone
            found = "a link to another file"
        if found:
            where = name.decode("utf-8", "backslashreplace")[:200]
            raise UnsafeFile(f"{path}: /{where}: {found}; expected all values in the file itself")


def is_cell_file(path: Path) -> bool:
    """Return whether a file is AnnData by its name, or HDF5 by its first bytes."""
    return path.suffix.lower() == ".h5ad" or is_hdf5(path)


def is_hdf5(path: Path) -> bool:
    """Return whether a file begins as HDF5 does; False for what cannot be read."""
    try:
        return read_head(path, len(HDF5)) == HDF5
    except (OSError, InputError):
        return False


@contextmanager
def open_stored(path: Path) -> Iterator[Any]:
    """Give cells as the HDF5 of AnnData.

    Raise UnknownFormat for another kind of file, with what to do; else as `open_hdf5`.
    """
    if not is_hdf5(path):
        try:
            words = describe_other_cells(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        raise UnknownFormat(f"{path}: {words or 'no HDF5 file, expected cells as .h5ad (AnnData)'}")
    with open_hdf5(path) as root:
        if words := _describe_hdf5(root, path.name):
            raise UnknownFormat(f"{path}: {words}")
        yield root


def hash_cells(path: Path) -> str:
    """Return the SHA-256 of a file. Raise InputError if it cannot be read."""
    try:
        refuse_special(path)
        return sha256_of_file(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def describe_cells(path: Path) -> str:
    """Return what a file or folder of cells is, and what to do with it; "" for anything else. Raise
    what `describe_other_cells` raises."""
    if path.is_dir() or not is_hdf5(path):
        return describe_other_cells(path)
    try:
        with open_hdf5(path) as root:
            return _describe_hdf5(root, path.name) or f"cells as AnnData (.h5ad): {USE}"
    except MissingPackage:
        return f"HDF5, perhaps cells: {USE}"


def describe_other_cells(path: Path) -> str:
    """Return the format of a file or folder of cells other than HDF5, and what to do with it; ""
    for anything else.

    Raise OSError, and InputError or UnsafeFile for what is damaged or unpacks to too much.
    """
    if path.is_dir():
        if is_zarr(path):
            return (
                "cells as Zarr: read them with `cells = anndata.read_zarr('STORE')`, which needs"
                f" zarr ({WITH_PANDAS_3}), and write {_WRITE}"
            )
        names = {file.name for file in path.iterdir()}
        is_tenx = any(name.endswith(("matrix.mtx", "matrix.mtx.gz")) for name in names)
        return _describe_tenx(f"read_10x_mtx('{path.name}')") if is_tenx else ""
    head = read_head(path, len(_TEXT))
    kind = packing_of(head)
    if kind:
        with open_file(path, MAX_UNPACKED_BYTES) as file:
            plain = unpack_file(file, path.name)
            head = b"" if plain is None else plain.read(len(_TEXT)) or b""
    if kind and head.startswith(HDF5):
        return (
            f"cells (HDF5) packed by {kind}: unpack the file, with `{_UNPACK[kind]} -c {path.name}"
            f" > cells.h5ad`; then {USE}"
        )
    is_text = head.startswith(_TEXT)
    return _describe_tenx("read_10x_mtx('.')", ", in its folder") if is_text else ""


def _describe_hdf5(root: Any, file_name: str) -> str:
    """Return the format of an HDF5 file from the names in it, and what to do with it; "" for
    AnnData."""
    found = set(root)
    if "mod" in found:
        read = f"`cells = anndata.io.read_elem(h5py.File('{file_name}')['mod/rna'])`"
        return (
            f"several modalities (MuData, .h5mu): take one, such as rna, with {read}"
            f" ({WITH_PANDAS_3}); write it with {_WRITE}"
        )
    if {"obs", "var"} & found:  # its reader reports missing parts
        return ""
    if {"row_attrs", "col_attrs"} <= found:
        read = f"`cells = anndata.io.read_loom('{file_name}')`"
        return f"cells as loom: read it with {read}, which needs loompy ({WITH_PANDAS_3}); {_ADD}"
    group = import_package("h5py").Group
    if any({"barcodes", "indptr"} <= set(node) for node in root.values() if type(node) is group):
        return _describe_tenx(f"read_10x_h5('{file_name}')")
    return (
        f"HDF5 with {', '.join(sorted(found)[:5]) or 'nothing'} in it; expected cells as AnnData"
        " (.h5ad): obs, var and X"
    )


def _describe_tenx(call: str, where: str = "") -> str:
    return (
        f"a matrix of 10x Genomics: read it with `cells = scanpy.{call}`{where} ({WITH_PANDAS_3});"
        f" {_ADD}"
    )
