"""Walk a Zarr store (a folder, of format 2 or 3) before reading it: all content must be in the folder, with codecs that come
with zarr, and no array may claim much more than its files can contain.

Metadata are JSON beside the chunks. They may name codecs that load code of others, and shapes without end; a link may lead
anywhere. Each is refused by the name of its array before a value is read. Consolidated metadata are not used.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.compressed import packing_of, unpack_file
from core.errors import InputError, UnsafeFile
from core.file_io import read_file, refuse_special
from core.file_limits import refuse_beyond_memory, refuse_bomb

_METADATA: Final = (".zgroup", ".zattrs", ".zarray", ".zmetadata", "zarr.json")
_MOST_FILES: Final = 1_000_000
_MOST_DEPTH: Final = 32
_MOST_METADATA_BYTES: Final = 16 << 20
_CHUNKS_A_FILE: Final = 100  # missing chunks have the fill value, but are looked up too
_FEW_CHUNKS: Final = 10_000
_TEXT_BYTES: Final = 4  # of an empty text: its length
_PACKED: Final = {"zstd": "zstd", "gzip": "gzip", "bz2": "bz2"}
_CODECS: Final = {*_PACKED, "blosc", "bytes", "vlen-utf8", "crc32c"}
_BLOSC_HEADER: Final = 16


@dataclass(frozen=True, slots=True)
class ZarrNode:
    """A group or an array of a store. is_array: with shape, and with dtype or None for texts."""

    path: Path
    attributes: Mapping[str, Any]
    is_array: bool = False
    shape: tuple[int, ...] = ()
    chunks: tuple[int, ...] = ()
    dtype: np.dtype[Any] | None = None


def list_store(root: Path) -> dict[str, int]:
    """Return the files of a store by their names in it, sorted, with their sizes in bytes.

    Raise UnsafeFile for links, pipes and devices, and for more files or levels than a store of data has.
    """
    found: dict[str, int] = {}
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        if depth > _MOST_DEPTH:
            raise UnsafeFile(f"{folder}: {depth} folders deep, expected at most {_MOST_DEPTH}")
        for entry in os.scandir(folder):
            path = Path(entry.path)
            if entry.is_symlink():
                raise UnsafeFile(f"{path}: a link; expected all files of the store in its folder itself")
            if entry.is_dir():
                waiting.append((path, depth + 1))
                continue
            refuse_special(path)
            found[path.relative_to(root).as_posix()] = entry.stat().st_size
        if len(found) > _MOST_FILES:
            raise UnsafeFile(f"{root}: more than {_MOST_FILES:,} files, expected larger chunks")
    return dict(sorted(found.items()))


def read_node(path: Path) -> ZarrNode | None:
    """Return a group or array with its metadata, or None. Raise InputError for damaged or unknown metadata. Raise UnsafeFile
    for unsupported codecs, and for arrays that claim more than they can contain.
    """
    if not path.is_dir():
        return None
    if (path / "zarr.json").is_file():
        found = _read_json(path / "zarr.json")
        attributes = _require_mapping(path, found.get("attributes", {}))
        return ZarrNode(path, attributes) if found.get("node_type") == "group" else _array_3(path, found, attributes)
    attributes = _read_json(path / ".zattrs") if (path / ".zattrs").is_file() else {}
    if (path / ".zarray").is_file():
        return _array_2(path, _read_json(path / ".zarray"), attributes)
    return ZarrNode(path, attributes) if (path / ".zgroup").is_file() else None


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        return _require_mapping(path, json.loads(read_file(path, _MOST_METADATA_BYTES)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged metadata ({error}), expected JSON") from error


def _require_mapping(path: Path, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise InputError(f"{path}: metadata of type {type(found).__name__}, expected an object with names")
    return found


def _array_2(path: Path, found: Mapping[str, Any], attributes: Mapping[str, Any]) -> ZarrNode:
    packed, filters = found.get("compressor"), found.get("filters") or []
    codecs = [_codec_name(path, codec, "id") for codec in (*filters, *([] if packed is None else [packed]))]
    chunks = _sizes(path, found.get("chunks"))
    return _check_array(path, attributes, (_sizes(path, found.get("shape")), chunks), str(found.get("dtype")), codecs)


def _array_3(path: Path, found: Mapping[str, Any], attributes: Mapping[str, Any]) -> ZarrNode:
    if found.get("storage_transformers"):
        raise UnsafeFile(f"{path}: storage transformers, expected chunks as they are")
    codecs = [_codec_name(path, codec, "name") for codec in found.get("codecs", [])]
    grid = _require_mapping(path, found.get("chunk_grid", {}))
    chunks = _sizes(path, _require_mapping(path, grid.get("configuration", {})).get("chunk_shape"))
    return _check_array(path, attributes, (_sizes(path, found.get("shape")), chunks), str(found.get("data_type")), codecs)


def _codec_name(path: Path, codec: Any, key: str) -> str:
    name = str(codec.get(key) if isinstance(codec, dict) else codec)[:60]
    if name not in _CODECS:
        raise UnsafeFile(f"{path}: codec {name!r}, which is not read; expected blosc, zstd, gzip or bz2, and no shards")
    return name


def _sizes(path: Path, found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in found):
        raise InputError(f"{path}: sizes {str(found)[:60]}, expected a list of whole numbers")
    return tuple(found)


def _check_array(
    path: Path, attributes: Mapping[str, Any], sizes: tuple[tuple[int, ...], tuple[int, ...]], kind: str, codecs: list[str]
) -> ZarrNode:
    shape, chunks = sizes
    dtype = _dtype(path, kind)
    if (dtype is None) != ("vlen-utf8" in codecs):
        raise InputError(f"{path}: values of type {kind[:60]!r} by {', '.join(codecs) or 'no codec'}, expected numbers or texts")
    if len(shape) > 2 or len(chunks) != len(shape) or 0 in chunks:
        raise InputError(f"{path}: of shape {shape} in chunks of {chunks}, expected one or two dimensions")
    files = [each for each in list_store(path).items() if each[0] not in _METADATA]
    stored, width = sum(size for _, size in files), _TEXT_BYTES if dtype is None else dtype.itemsize
    n_chunks = math.prod(-(-size // chunk) for size, chunk in zip(shape, chunks, strict=True))
    chunk_bytes = math.prod(chunks) * width
    refuse_bomb(str(path), stored, math.prod(shape) * width)
    refuse_bomb(f"{path}: a chunk", stored, chunk_bytes)
    refuse_beyond_memory(f"{path}: a chunk", chunk_bytes)
    if n_chunks > max(_FEW_CHUNKS, _CHUNKS_A_FILE * len(files)):
        raise UnsafeFile(f"{path}: {n_chunks:,} chunks in {len(files):,} files, expected most of them to be there")
    for name, size in files:
        _refuse_chunk(path / name, size, codecs, None if dtype is None else chunk_bytes)
    return ZarrNode(path, attributes, True, shape, chunks, dtype)


def _dtype(path: Path, kind: str) -> np.dtype[Any] | None:
    """Return the type of numbers and truth values, None for texts of any length. Raise InputError for other types."""
    if kind in ("|O", "string"):
        return None
    try:
        dtype = np.dtype(kind)
    except (TypeError, ValueError):
        dtype = np.dtype(object)
    if dtype.kind not in "biuf":
        raise InputError(f"{path}: values of type {kind[:60]!r}, expected real numbers or texts")
    return dtype


def _refuse_chunk(path: Path, size: int, codecs: list[str], expected: int | None) -> None:
    """Raise UnsafeFile for a packed chunk that unpacks to more than it may. expected: bytes of a chunk of numbers."""
    kind = next((codec for codec in codecs if codec == "blosc" or codec in _PACKED), None)
    if kind is None:
        return
    with path.open("rb") as file:
        head = file.read(_BLOSC_HEADER)
        if kind == "blosc":
            n_bytes = int.from_bytes(head[4:8], "little")
        elif packing_of(head) != _PACKED[kind]:
            raise InputError(f"{path}: a chunk that is not packed by {kind}, as its array says")
        else:
            plain = unpack_file(file, str(path))  # counts what it unpacks to, and no further than it may
            assert plain is not None
            n_bytes = 0
            while part := plain.read(1 << 20):
                n_bytes += len(part)
    refuse_bomb(str(path), size, n_bytes, None if expected is None else max(expected, 1))
