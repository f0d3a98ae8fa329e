"""Recognise files of unsupported formats and say what to do with them, before a reader reports
another problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.base.archives import DAMAGE, open_archive, unpack_file
from core.base.errors import InputError, UnknownFormat
from core.base.file_io import open_file, read_head
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.tables import json_rows
from core.base.texts import parse_json
from core.features import hooks

_TEXTS: Final[Mapping[bytes, str]] = {
    b"format-version:": (
        "an ontology (OBO), which has terms but no genes; genes with their terms are read from GAF"
        " or GMT"
    ),
    b"#string_protein_id": (
        "names of STRING's proteins, which are read with its protein.links file: import that file"
    ),
    b"%PDF": "a PDF; expected a table or a matrix",
    b">": "sequences (FASTA); expected a table or a matrix",
    b"##gff": "annotations of a genome (GFF); expected a table or a matrix",
    b"##fileformat=VCF": "variants (VCF); expected a table or a matrix",
    b"RDX": "R data; write a table as CSV, or cells as .h5ad (with anndataR)",
    b"X\n\x00\x00": "R data; write a table as CSV, or cells as .h5ad (with anndataR)",
    b"\xd0\xcf\x11\xe0": (
        "an old Excel workbook (.xls), which is not supported: save it as .xlsx, or its sheet as"
        " CSV UTF-8"
    ),
    b"version https://git-lfs": (
        "a pointer of Git LFS instead of the file: fetch the file with git lfs pull"
    ),
    b"<!DOCTYPE": (
        "a web page (HTML), perhaps an error page instead of the file: download the file again"
    ),
    b"<html": (
        "a web page (HTML), perhaps an error page instead of the file: download the file again"
    ),
    b"<?xml": "XML; expected a table or a matrix",
    b"#1.3": (
        "a table of expression (GCT), which is not supported: write it as CSV with one row per gene"
    ),
    b"#1.2": (
        "a table of expression (GCT), which is not supported: write it as CSV with one row per gene"
    ),
    b"ARROW1": "a table of Arrow (Feather), which is not supported: write it as Parquet or CSV",
    b"FEA1": "a table of Arrow (Feather), which is not supported: write it as Parquet or CSV",
    b"\x93NUMPY": (
        "an array without names of genes (.npy): write it as .npz beside a list of symbols, or"
        " as CSV"
    ),
    b"\xfd7zXZ": "compressed with xz, which is not supported: unpack it, or use gzip",
    b"7z\xbc\xaf": "an archive (7z): unpack it, and import its files",
    b"Rar!": "an archive (RAR): unpack it, and import its files",
    b"SQLite format 3": "a database (SQLite); write its table as CSV",
}
# Keys of JSON that nobody reads here: logs of calls, batches of them, examples for fine-tuning.
_OF_CALLS: Final = frozenset(
    ("traceId", "trace_id", "resourceSpans", "scopeSpans", "custom_id", "messages")
)
_ZARR: Final = (".zgroup", ".zattrs", ".zmetadata", "zarr.json")
_TAR_AT, _TAR = 257, b"ustar"
_READ: Final = 1 << 12


def refuse_other_format(path: Path, name: str) -> None:
    """Raise UnknownFormat for a file of a known format that is not read, or by another command,
    with its name and what to do."""
    words = _of_features(path) if path.is_dir() else _other_file(path, name)
    if words:
        raise UnknownFormat(f"{name}: {words}")


def is_zarr(path: Path) -> bool:
    """Return whether a path is the folder of a Zarr store."""
    return path.is_dir() and any((path / name).is_file() for name in _ZARR)


def _of_features(path: Path) -> str:
    for describe in hooks("file_formats"):
        if words := describe(path):
            return str(words)
    return ""


def _other_file(path: Path, name: str) -> str:
    try:
        head = read_head(path, _READ)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if words := _of_features(path):
        return words
    if head.startswith(b"PK"):
        return _zip(path)
    if head[_TAR_AT:].startswith(_TAR):
        return "an archive (tar): unpack it, and import its files"
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        plain = unpack_file(file, name)
        if plain is not None:
            head = plain.read(_READ) or b""
    if head.startswith(b"PK"):
        return _zip(path)
    if head[_TAR_AT:].startswith(_TAR):
        return "a compressed archive (tar): unpack it, and import its files"
    text = head.lstrip(b"\xef\xbb\xbf")
    return next((_TEXTS[begin] for begin in _TEXTS if text.startswith(begin)), "")


def _zip(path: Path) -> str:
    try:
        with path.open("rb") as file, open_archive(file, path.name) as archive:
            names = archive.namelist()
    except DAMAGE:
        return ""  # the reader of zips says what is wrong with it
    if "xl/workbook.bin" in names or "content.xml" in names:
        return "an unsupported workbook: save it as .xlsx, or its sheet as CSV UTF-8"
    if any(name.endswith("/data.pkl") for name in names):
        return (
            "saved by PyTorch, which may be anything: write vectors of genes as .npz, beside a list"
            " of their symbols"
        )
    return ""


def refuse_other_json(data: bytes, name: str) -> None:
    """Raise UnknownFormat for a JSON file of calls, which would be taken for something else."""
    try:
        value = parse_json(data)
    except ValueError:
        value = None
    rows = [value] if isinstance(value, dict) else json_rows(data, name)
    keys = _OF_CALLS & {*rows[0]} if rows and isinstance(rows[0], dict) else ()
    if keys:
        raise UnknownFormat(
            f"{name}: {', '.join(sorted(keys))}: a log of calls or examples, which is not imported;"
            " expected rows with an id, and their predictions or replies"
        )
