"""Load gene spaces from files. The format is recognised by content."""

from __future__ import annotations

import io
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from core.base.archives import plain_file
from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.base.file_io import refuse_special
from core.base.file_limits import limit_memory
from core.base.tables import first_character
from core.base.texts import HALF_CHARACTER, is_encodable, list_some, parse_json
from core.base.workbook import is_workbook, text_of_workbook
from core.embeddings import checkpoints
from core.embeddings.checkpoints import read_pickled_vectors
from core.embeddings.space import Space, first_line, make_space, tensor
from core.features.importing.spaces import tables
from core.features.importing.spaces.tables import make_imported_space, refuse_many

FORMATS = (
    "safetensors, npz, parquet, CSV, xlsx, word2vec text, a pickle of GenePT, or a folder of scGPT"
    " or Geneformer"
)

_NUMPY_DAMAGE = (
    *(ValueError, EOFError, LookupError, RuntimeError, zipfile.BadZipFile, zlib.error),
    *(TypeError, OverflowError, SyntaxError, struct.error, tokenize.TokenError),
)
_MAX_LINE_BYTES = 1 << 24


def load_space(path: Path, name: str, *, named: bool = False, kept: Collection[str] = ()) -> Space:
    """Return the space in a file or folder of one of FORMATS. name: its name here. named: accept a
    CSV only if a column is called symbol or gene, or if the first column has no name; for tables
    that may not be spaces. kept: columns of a table to use although they do not look like
    dimensions.

    Raise UnknownFormat, UnsafeFile (a pickle that imports anything, an archive that unpacks to too
    much), MissingPackage (a scGPT checkpoint without torch) or InputError (damaged, incomplete, or
    without one finite vector for each gene).
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(limit_memory(path.name))
            if path.is_dir():
                return _load_folder(path, name)
            refuse_special(path)
            plain, _ = stack.enter_context(plain_file(path, path.name))
            try:
                space = _load_file(plain, name, named, kept)
            except InputError as error:
                if plain == path:
                    raise
                # people know the name of the file, not of its unpacked content
                raise type(error)(str(error).replace(plain.name, path.name, 1)) from error
            return space if plain == path else replace(space, source=path.name)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or first_line(error)})"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: text that is not UTF-8 ({first_line(error)})") from error


def is_checkpoint(folder: Path) -> bool:
    """Return whether a folder is a checkpoint to load as a whole, as for scGPT or Geneformer."""
    inside = {file.name for file in folder.iterdir()}
    if {checkpoints.VOCABULARY, checkpoints.CHECKPOINT} <= inside:
        return True
    pickles = sum(name.endswith((".pkl", ".pickle")) for name in inside)
    # Geneformer has two dictionaries
    return pickles >= 2 and any(name.endswith(".safetensors") for name in inside)


def _load_folder(path: Path, name: str) -> Space:
    for file in path.iterdir():
        refuse_special(file)
    inside = sorted(file.name for file in path.iterdir())
    if {checkpoints.VOCABULARY, checkpoints.CHECKPOINT} <= set(inside):
        return checkpoints.read_scgpt(path, name)
    if any(file.endswith(".safetensors") for file in inside):
        return checkpoints.read_geneformer(path, name)
    raise UnknownFormat(
        f"{path.name}: a folder with {list_some(inside) or 'nothing'}, expected scGPT's"
        f" {checkpoints.VOCABULARY} and {checkpoints.CHECKPOINT}, or Geneformer's *.safetensors and"
        " its two dictionaries (*.pkl)"
    )


def _load_file(path: Path, name: str, named: bool, kept: Collection[str]) -> Space:
    with path.open("rb") as file:
        first = file.readline(_MAX_LINE_BYTES)
        if is_workbook(file):
            text = text_of_workbook(file, path.name)
            return tables.load_text(
                lambda: io.BytesIO(text), path.name, name, named=named, kept=kept
            )
    if first.startswith(b"PAR1"):
        return tables.load_parquet(path, name, named=named, kept=kept)
    if first.startswith(b"PK"):
        return _load_npz(path, name)
    if first[8:9] == b"{" and int.from_bytes(first[:8], "little") <= path.stat().st_size:
        return load_safetensors(path, name)
    if first[:1] == b"\x80" or path.suffix in {".pkl", ".pickle"}:
        # raises UnsafeFile, which names the import of a hostile pickle
        vectors = read_pickled_vectors(path)
        return make_imported_space(
            name, list(vectors), np.array(list(vectors.values()), dtype=np.float64), path.name
        )
    if first_character(first) == b"{":
        return _load_json(path, name)
    if _is_word2vec(first.decode("utf-8-sig", "replace")):
        return _load_word2vec(path, name)
    try:
        return tables.load_text(lambda: path.open("rb"), path.name, name, named=named, kept=kept)
    except UnknownFormat as error:
        raise UnknownFormat(f"{error}; expected {FORMATS}") from error


def _load_json(path: Path, name: str) -> Space:
    """Return the space in {symbol: [numbers]}."""
    try:
        vectors = parse_json(path.read_bytes())
        values = np.array(list(vectors.values()), dtype=np.float64)
        if values.ndim != 2:
            raise ValueError
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UnknownFormat(
            f"{path.name}: JSON, expected {{symbol: [numbers]}}, all of one length, or {FORMATS}"
        ) from error
    return make_imported_space(name, list(vectors), values, path.name)


def load_safetensors(path: Path, name: str) -> Space:
    """Return one matrix, with one symbol per line in the metadata, as written by `save_space`.

    Raise InputError if it is damaged or another kind of file, OSError if it cannot be opened.
    """
    try:
        with safe_open(path, framework="np") as file:
            keys, metadata = sorted(file.keys()), file.metadata() or {}
    except SafetensorError as error:
        raise InputError(f"{path.name}: damaged safetensors ({first_line(error)})") from error
    if len(keys) != 1 or "symbols" not in metadata:
        raise InputError(
            f"{path.name}: tensors {list_some(keys)}, metadata"
            f" {list_some(sorted(metadata)) or 'none'}. Expected one matrix and its genes, one per"
            " line, under 'symbols' (a Geneformer checkpoint is loaded as a folder with its"
            " dictionaries)"
        )
    try:
        notes = [*map(str, parse_json(metadata.get("notes", "[]")))]
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path.name}: the metadata's notes are not a JSON list ({error})"
        ) from error
    if not is_encodable("".join(notes)):
        raise InputError(f"{path.name}: the metadata's notes: {HALF_CHARACTER}")
    return make_space(
        name,
        metadata["symbols"].split("\n"),
        tensor(path, keys[0]),
        metadata.get("source", path.name),
        notes=notes,
        built_from_labels=metadata.get("built_from_labels"),
    )


def _load_npz(path: Path, name: str) -> Space:
    """Return the space from one list of texts and one matrix, with any names."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {
                key: value for key in file.files if isinstance(value := file[key], np.ndarray)
            }
    except _NUMPY_DAMAGE as error:
        if "allow_pickle" in str(error):
            raise UnsafeFile(
                f"{path.name}: contains a pickled array of objects, expected arrays of numbers and"
                " text"
            ) from error
        raise InputError(f"{path.name}: cannot be read as npz ({first_line(error)})") from error
    lists = [array for array in arrays.values() if array.ndim == 1 and array.dtype.kind in "US"]
    matrices = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind in "fiu"]
    if len(lists) != 1 or len(matrices) != 1:
        found = (
            list_some([f"{key} {value.dtype}{value.shape}" for key, value in arrays.items()])
            or "no array"
        )
        raise InputError(
            f"{path.name}: contains {found}, expected one list of symbols and one matrix"
        )
    (texts,) = lists
    refuse_many(len(texts), path.name)
    if texts.dtype.kind == "S":
        texts = np.char.decode(texts, "utf-8", "replace")
    # what NumPy makes of a number that no character has breaks off whatever reads it
    points = np.frombuffer(texts.tobytes(), np.dtype("u4").newbyteorder(texts.dtype.byteorder))
    odd = np.flatnonzero(points > sys.maxunicode)
    if odd.size:
        raise InputError(
            f"{path.name}: row {4 * odd[0] // texts.itemsize + 1:,} of the symbols has the"
            f" character {points[odd[0]]:#x}, expected at most {sys.maxunicode:#x}"
        )
    return make_imported_space(name, texts.tolist(), matrices[0], path.name)


def _is_word2vec(header: str) -> bool:
    """Return whether a first line is "genes columns", or a symbol and numbers separated by
    spaces."""
    fields = header.split()
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        return True
    return (
        " " in header.strip()
        and not set(",;") & set(header)
        and len(fields) > 1
        and all(map(tables.is_number, fields[1:]))
    )


def _load_word2vec(path: Path, name: str) -> Space:
    symbols: list[str] = []
    vectors: list[NDArray[np.float64]] = []
    count, width = None, None
    with path.open(encoding="utf-8-sig") as file:
        for line, text in enumerate(file, 1):
            fields = text.split()
            if line == 1 and len(fields) == 2 and fields[0].isdecimal() and fields[1].isdecimal():
                count, width = int(fields[0]), int(fields[1])
            elif fields:
                width = len(fields) - 1 if width is None else width
                symbols.append(fields[0])
                vectors.append(_numbers(fields[1:], width, f"{path.name}, line {line}"))
    if not vectors or len(vectors) != (count or len(vectors)):
        raise InputError(
            f"{path.name}: {len(vectors):,} vectors, expected {count or 1:,}, as stated in line 1"
        )
    return make_imported_space(name, symbols, np.stack(vectors), path.name)


def _numbers(fields: list[str], width: int, where: str) -> NDArray[np.float64]:
    if len(fields) != width:
        raise InputError(f"{where}: {len(fields):,} numbers, expected {width:,}")
    try:
        return np.array(fields, dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{where}: {first_line(error)}, expected numbers") from error
