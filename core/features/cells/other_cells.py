"""Recognise files of cells in other formats than AnnData (.h5ad), with the lines of Python that
convert them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from core.base.archives import packing_of, unpack_file
from core.base.errors import InputError, MissingPackage
from core.base.file_io import open_file, read_head
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.features.cells.anndata_parts import is_group
from core.features.cells.hdf5_walk import Hdf5File, open_hdf5
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
_FROM_ZARR: Final = (
    f"read them with `cells = anndata.read_zarr('STORE')`, which needs zarr ({WITH_PANDAS_3}), and"
    f" write {_WRITE}"
)
_ADD: Final = (
    "it does not say what was done to each cell. Add that as `cells.obs['perturbation']`, with one"
    f" value for controls, and write it with {_WRITE}"
)


def is_hdf5(path: Path) -> bool:
    """Return whether a file begins as HDF5 does; False for what cannot be read."""
    try:
        return read_head(path, len(HDF5)) == HDF5
    except (OSError, InputError):
        return False


def describe_cells(path: Path) -> str:
    """Return what a file or folder of cells is, and what to do with it; "" for anything else. Raise
    what `describe_other_cells` raises."""
    if path.is_dir() or not is_hdf5(path):
        return describe_other_cells(path)
    try:
        with open_hdf5(path) as file:
            return describe_hdf5(file) or f"cells as AnnData (.h5ad): {USE}"
    except MissingPackage:
        return f"HDF5, perhaps cells: {USE}"


def describe_other_cells(path: Path) -> str:
    """Return the format of a file or folder of cells other than HDF5, and what to do with it; ""
    for anything else.

    Raise OSError, and InputError or UnsafeFile for what is damaged or unpacks to too much.
    """
    if path.is_dir():
        if is_zarr(path):
            return f"cells as Zarr: {_FROM_ZARR}"
        names = {file.name for file in path.iterdir()}
        is_tenx = any(name.endswith(("matrix.mtx", "matrix.mtx.gz")) for name in names)
        return _describe_tenx(f"read_10x_mtx('{path.name}')") if is_tenx else ""
    head = read_head(path, len(_TEXT))
    if head.startswith(_TEXT):
        return _describe_tenx("read_10x_mtx('.')", ", in its folder")
    kind = packing_of(head)
    if not kind:
        return ""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        plain = unpack_file(file, path.name)
        inside = b"" if plain is None else plain.read(len(_TEXT)) or b""
    if inside.startswith(HDF5):
        return (
            f"cells (HDF5) packed by {kind}: unpack the file, with `{_UNPACK[kind]} -c {path.name}"
            f" > cells.h5ad`; then {USE}"
        )
    return (
        _describe_tenx("read_10x_mtx('.')", ", in its folder") if inside.startswith(_TEXT) else ""
    )


def describe_hdf5(file: Hdf5File) -> str:
    """Return the format of an HDF5 file from the names in it, and what to do with it; "" for
    AnnData."""
    found, file_name = set(file.root), file.path.name
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
    if any(is_group(node) and {"barcodes", "indptr"} <= set(node) for node in file.root.values()):
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
