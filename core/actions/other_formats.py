"""Files that no reader takes, by what they are, and what to do with them. Said before any reader complains of something else."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.compressed import DAMAGE, open_archive, unpacked
from core.datasets.challenge_archive import PREDICTIONS
from core.errors import InputError, MissingPackage, UnknownFormat
from core.file_io import open_file, read_head
from core.file_limits import MAX_UNPACKED_BYTES

_HDF5: Final = b"\x89HDF\r\n\x1a\n"
_CELLS: Final = "`cells labels FILE --name D` makes a dataset of it, `cells predictions FILE --dataset D` a run"
_H5AD: Final = f"write it as .h5ad with a column of obs for the perturbation; {_CELLS}"
_TEXTS: Final[Mapping[bytes, str]] = {
    b"%%MatrixMarket": f"a matrix (Matrix Market, as of 10x Genomics): read its folder with scanpy.read_10x_mtx, {_H5AD}",
    b"format-version:": "an ontology (OBO), which holds terms and no genes; genes with their terms are read from GAF or GMT",
    b"#string_protein_id": "names of STRING's proteins, which are read beside its protein.links file: import that one",
    b"%PDF": "a PDF; expected a table or a matrix",
    b">": "sequences (FASTA); expected a table or a matrix",
    b"##gff": "annotations of a genome (GFF); expected a table or a matrix",
    b"##fileformat=VCF": "variants (VCF); expected a table or a matrix",
    b"RDX": "data of R; write a table as CSV, or cells as .h5ad (with anndataR)",
    b"X\n\x00\x00": "data of R; write a table as CSV, or cells as .h5ad (with anndataR)",
    b"\xd0\xcf\x11\xe0": "an old workbook of Excel (.xls), which is not read: save it as .xlsx, or its sheet as CSV UTF-8",
    b"SQLite format 3": "a database (SQLite); write its table as CSV",
}
_TAR_AT, _TAR = 257, b"ustar"
_READ: Final = 1 << 12


def refuse_other_format(path: Path, name: str) -> None:
    """Raise UnknownFormat for a file of a known format that is not read, or by another command, with its name and what to do."""
    words = _other_folder(path) if path.is_dir() else _other_file(path, name)
    if words:
        raise UnknownFormat(f"{name}: {words}")


def _other_folder(path: Path) -> str:
    if any((path / marker).is_file() for marker in (".zgroup", "zarr.json", ".zattrs")):
        return f"a zarr store: read it with anndata.read_zarr and {_H5AD}"
    if any((path / f"matrix.mtx{suffix}").is_file() for suffix in ("", ".gz")):
        return f"10x Genomics' matrix: read the folder with scanpy.read_10x_mtx and {_H5AD}"
    return ""


def _other_file(path: Path, name: str) -> str:
    try:
        head = read_head(path, _READ)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if head.startswith(_HDF5):
        return _hdf5(path)
    if head.startswith(b"PK"):
        return _zip(path)
    if head[_TAR_AT:].startswith(_TAR):
        return _tar(path)
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        plain = unpacked(file, name)
        if plain is not None:
            head = plain.read(_READ) or b""
    if head.startswith(_HDF5):
        return f"packed cells (HDF5): unpack the file; then {_CELLS}"
    if head[_TAR_AT:].startswith(_TAR):
        return "a packed archive (tar): unpack it, and import what is in it"
    return next((words for begin, words in _TEXTS.items() if head.lstrip(b"\xef\xbb\xbf").startswith(begin)), "")


def _hdf5(path: Path) -> str:
    from core.cells.hdf5_walk import open_hdf5

    try:
        with open_hdf5(path) as file:
            names = set(file.root)
    except MissingPackage:
        return f"HDF5, cells perhaps: {_CELLS}"
    if {"obs", "var"} <= names:
        return f"cells as AnnData (.h5ad): {_CELLS}"
    if "mod" in names:
        return f"cells of several modalities (MuData, .h5mu): take one of them, such as mdata.mod['rna'], and {_H5AD}"
    if {"row_attrs", "col_attrs"} <= names:
        return f"cells as loom: read it with anndata.io.read_loom and {_H5AD}"
    if "matrix" in names or any("barcodes" in file_name for file_name in names):
        return f"10x Genomics' matrix (HDF5): read it with scanpy.read_10x_h5 and {_H5AD}"
    return f"HDF5 with {', '.join(sorted(names)[:5]) or 'nothing'} in it; expected cells as AnnData (.h5ad): obs, var and X"


def _zip(path: Path) -> str:
    try:
        with path.open("rb") as file, open_archive(file, path.name) as archive:
            names = archive.namelist()
    except DAMAGE:
        return ""  # the reader of zips says what is wrong with it
    if "xl/workbook.bin" in names or "content.xml" in names:
        return "a workbook that is not read: save it as .xlsx, or its sheet as CSV UTF-8"
    if any(name.startswith(("word/", "ppt/")) for name in names):
        return "a document of Word or PowerPoint: save its table as CSV UTF-8"
    if any(name.rsplit("/", 1)[-1] in (".zgroup", "zarr.json") for name in names):
        return f"a zarr store: read it with anndata.read_zarr and {_H5AD}"
    return ""


def _tar(path: Path) -> str:
    try:
        with tarfile.open(path, "r:") as archive:
            names = archive.getnames()
    except (tarfile.TarError, *DAMAGE) as error:
        raise InputError(f"{path.name}: a damaged archive (tar): {error}") from error
    if PREDICTIONS in names:
        return "a submission to the Virtual Cell Challenge (.vcc): `cells predictions FILE --dataset D` makes a run of it"
    return "an archive (tar): unpack it, and import what is in it"
