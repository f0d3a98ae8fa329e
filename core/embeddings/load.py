"""Gene spaces from files, whose format is recognised by content."""

from __future__ import annotations

import csv
import math
import struct
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from safetensors import SafetensorError, safe_open

from core.embeddings import checkpoints
from core.embeddings.plain_pickle import read_plain_pickle
from core.embeddings.space import Space, first_line, list_some, make_space
from core.errors import InputError, UnknownFormat, UnsafeFile
from core.file_io import refuse_special
from core.file_limits import refuse_bomb
from core.parquet_walk import text_bytes, walk_parquet
from core.texts import parse_json

MAX_COLUMNS = 100_000
FORMATS = "safetensors, npz, parquet, CSV, word2vec text, or a folder of scGPT or Geneformer"

_MOST_BYTES = 1 << 32  # of a space
_BYTES_A_NUMBER = 8
_MOST_MEMBERS = 1_000  # of an npz
_NUMPY_DAMAGE = (
    *(ValueError, EOFError, LookupError, MemoryError, NotImplementedError, zipfile.BadZipFile, zlib.error),
    *(TypeError, OverflowError, RecursionError, SyntaxError, struct.error),
)
_MAX_LINE_BYTES = 1 << 24
_SYMBOL_NAMES = {"symbol", "symbols", "gene", "genes", "gene_symbol", "gene_name"}
_INDEX_NAMES = {"", "Unnamed: 0", "__index_level_0__"}  # what pandas calls the index that it writes along


def load_space(path: Path, name: str, *, named: bool = False) -> Space:
    """The space in a file or folder of one of FORMATS; name: what it is called here.

    named: accept a CSV only if a column is called symbol or gene, or the first has no name; for tables that may not be
    spaces.

    Raises UnknownFormat, UnsafeFile (a pickle that imports anything, an archive that unpacks to too much), MissingPackage
    (a scGPT checkpoint without torch) or InputError (damaged, incomplete, or without one finite vector for each gene).
    """
    try:
        return _load_folder(path, name) if path.is_dir() else _load_file(path, name, named)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or first_line(error)})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: text that is not UTF-8 ({first_line(error)})") from error


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder is loaded as a whole, as scGPT's or Geneformer's is."""
    inside = {file.name for file in folder.iterdir()}
    if {checkpoints.VOCABULARY, checkpoints.CHECKPOINT} <= inside:
        return True
    pickles = sum(name.endswith((".pkl", ".pickle")) for name in inside)
    return pickles >= 2 and any(name.endswith(".safetensors") for name in inside)  # Geneformer has two dictionaries


def _load_folder(path: Path, name: str) -> Space:
    for file in path.iterdir():
        refuse_special(file)
    inside = sorted(file.name for file in path.iterdir())
    if {checkpoints.VOCABULARY, checkpoints.CHECKPOINT} <= set(inside):
        return checkpoints.read_scgpt(path, name)
    if any(file.endswith(".safetensors") for file in inside):
        return checkpoints.read_geneformer(path, name)
    raise UnknownFormat(
        f"{path.name}: a folder with {list_some(inside) or 'nothing'}, expected scGPT's {checkpoints.VOCABULARY} and "
        f"{checkpoints.CHECKPOINT}, or Geneformer's *.safetensors and its two dictionaries (*.pkl)"
    )


def _load_file(path: Path, name: str, named: bool) -> Space:
    refuse_special(path)
    with path.open("rb") as file:
        first = file.readline(_MAX_LINE_BYTES)
    if first.startswith(b"PAR1"):
        return _load_parquet(path, name)
    if first.startswith(b"PK"):
        return _load_npz(path, name)
    if first[8:9] == b"{" and int.from_bytes(first[:8], "little") <= path.stat().st_size:
        return _load_safetensors(path, name)
    if first[:1] == b"\x80" or path.suffix in {".pkl", ".pickle"}:
        read_plain_pickle(path)  # raises UnsafeFile, with the name of what a hostile pickle imports
        raise UnknownFormat(f"{path.name}: a pickle, expected {FORMATS}")
    try:
        header = first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnknownFormat(f"{path.name}: neither UTF-8 text nor a known format, expected {FORMATS}") from error
    if _is_word2vec(header):
        return _load_word2vec(path, name)
    if "," in header or "\t" in header:
        return _load_csv(path, name, header, named)
    raise UnknownFormat(f"{path.name}: starts with {header[:40].strip()!r}, expected {FORMATS}")


def _load_safetensors(path: Path, name: str) -> Space:
    """One matrix, with one symbol per line in the metadata, as `save_space` writes it."""
    try:
        with safe_open(path, framework="np") as file:
            keys, metadata = sorted(file.keys()), file.metadata() or {}
    except SafetensorError as error:
        raise InputError(f"{path.name}: damaged safetensors ({first_line(error)})") from error
    if len(keys) != 1 or "symbols" not in metadata:
        raise InputError(
            f"{path.name}: tensors {list_some(keys)}, metadata {list_some(sorted(metadata)) or 'none'}; expected one matrix and "
            "its genes, one per line, under 'symbols' (a Geneformer checkpoint is loaded as a folder with its dictionaries)"
        )
    try:
        notes = [str(note) for note in parse_json(metadata.get("notes", "[]"))]
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path.name}: the metadata's notes are not a JSON list ({error})") from error
    return make_space(
        name,
        metadata["symbols"].split("\n"),
        checkpoints.tensor(path, keys[0]),
        metadata.get("source", path.name),
        notes=notes,
        built_from_labels=metadata.get("built_from_labels"),
    )


def _load_npz(path: Path, name: str) -> Space:
    """One list of texts and one matrix, under any names."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(archive, path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: value for key in file.files if isinstance(value := file[key], np.ndarray)}
    except _NUMPY_DAMAGE as error:
        raise InputError(f"{path.name}: cannot be read as npz ({first_line(error)})") from error
    texts = [array for array in arrays.values() if array.ndim == 1 and array.dtype.kind in "US"]
    matrices = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind in "fiu"]
    if len(texts) != 1 or len(matrices) != 1:
        found = list_some([f"{key} {value.dtype}{value.shape}" for key, value in arrays.items()]) or "no array"
        raise InputError(f"{path.name}: holds {found}, expected one list of symbols and one matrix")
    symbols = texts[0] if texts[0].dtype.kind == "U" else np.char.decode(texts[0], "utf-8", "replace")
    return make_space(name, symbols.tolist(), matrices[0], path.name)


def _check_members(archive: zipfile.ZipFile, path: Path) -> None:
    """Raises UnsafeFile for an archive that unpacks to too much and for pickled arrays, InputError for those that say to be
    larger than their members, and what NumPy raises for damaged headers."""
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS or len({member.filename for member in members}) < len(members):
        raise UnsafeFile(f"{path.name}: {len(members):,} members, expected at most {_MOST_MEMBERS:,}, each once")
    _refuse_bomb(path, sum(member.file_size for member in members))
    for member in members:
        if member.filename.endswith(".npy"):
            with archive.open(member) as file:
                shape, dtype = _read_header(file)
            if dtype.hasobject:
                raise UnsafeFile(f"{path.name}: holds a pickled array of objects, expected arrays of numbers and text")
            if math.prod(shape) * dtype.itemsize > member.file_size:
                raise InputError(
                    f"{path.name}: {member.filename!r} says to hold {math.prod(shape) * dtype.itemsize:,} bytes, and has "
                    f"{member.file_size:,}"
                )


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Returns shape and type of a .npy; NumPy's limit on a header's length keeps it from being evaluated for long."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _refuse_bomb(path: Path, unpacked: int) -> None:
    refuse_bomb(path.name, path.stat().st_size, unpacked, _MOST_BYTES)


def _load_parquet(path: Path, name: str) -> Space:
    """Only the columns of a space are read, texts as dictionaries: one that is repeated a million times is not written out."""
    try:
        found = walk_parquet(path, path.name)
        schema = found.schema.to_arrow_schema()
        texts = [field.name for field in schema if _is_text(field.type)]
        symbol = _symbol_column(schema.names, texts, path.name)
        columns = _number_columns(schema, symbol, path.name)
        _refuse_bomb(path, found.num_rows * len(columns) * _BYTES_A_NUMBER)
        left_out = [name for name in schema.names if name not in columns and name != symbol]
        table = parquet.ParquetFile(path, read_dictionary=[symbol]).read(columns=[symbol, *columns])
        _refuse_bomb(path, text_bytes(table[symbol]))
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{path.name}: cannot be read as parquet ({first_line(error)})") from error
    return _space_from_table(table, symbol, left_out, path.name, name)


def _load_csv(path: Path, name: str, header: str, named: bool) -> Space:
    delimiter = "," if "," in header else "\t"
    if header.count(delimiter) >= MAX_COLUMNS:
        raise InputError(f"{path.name}: {header.count(delimiter) + 1:,} columns, expected at most {MAX_COLUMNS:,}")
    try:
        columns = next(csv.reader(header.splitlines(), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{path.name}, line 1: {error}, expected the names of columns") from error
    symbol = _symbol_column(columns, columns[:1] if not named or columns[:1] == [""] else [], path.name)
    # Types are given, not guessed, and no text is a missing value: NA and None are gene symbols.
    types = {column: pa.string() if column == symbol else pa.float64() for column in columns}
    try:
        with path.open("rb") as file:  # of a path, Arrow would unpack what its name says is packed
            table = arrow_csv.read_csv(
                file,
                parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
                convert_options=arrow_csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
            )
    except pa.ArrowException as error:
        raise InputError(f"{path.name}: cannot be read as symbols and numbers ({first_line(error)})") from error
    if table.column_names != columns:
        raise InputError(f"{path.name}, line 1: column names over several lines, expected one line")
    left_out = [column for column in columns if column in _INDEX_NAMES and column != symbol]
    return _space_from_table(table, symbol, left_out, path.name, name)


def _symbol_column(columns: list[str], texts: list[str], source: str) -> str:
    repeated = sorted(column for column, n in Counter(columns).items() if n > 1)
    if repeated:
        raise InputError(f"{source}: columns named twice: {list_some(repeated)}")
    named = [column for column in columns if column.lower() in _SYMBOL_NAMES]
    for candidates in (named, texts):
        if len(candidates) == 1:
            return candidates[0]
    raise InputError(f"{source}: columns {list_some(columns)}, expected one called symbol and numbers otherwise")


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner))


def _number_columns(schema: pa.Schema, symbol: str, source: str) -> list[str]:
    """The columns beside the symbols, without those of row numbers. Raises InputError unless each is of numbers."""
    columns = [column for column in schema.names if column != symbol and column not in _INDEX_NAMES]
    other = [c for c in columns if not (pa.types.is_integer(t := schema.field(c).type) or pa.types.is_floating(t))]
    if other or not columns:
        raise InputError(f"{source}: {list_some(other) or 'no column'} beside {symbol!r}, expected columns of numbers")
    return columns


def _space_from_table(table: pa.Table, symbol: str, left_out: list[str], source: str, name: str) -> Space:
    columns = _number_columns(table.schema, symbol, source)
    if not _is_text(table.schema.field(symbol).type) or table[symbol].null_count:
        raise InputError(f"{source}: column {symbol!r} has missing symbols or is not text")
    vectors = np.column_stack([table[column].to_numpy() for column in columns])
    notes = [f"a column of row numbers ({left_out[0]!r}) left out"] if left_out else []
    return make_space(name, table[symbol].to_pylist(), vectors, source, notes=notes)


def _is_word2vec(header: str) -> bool:
    """Whether a first line is "genes columns", or a symbol and numbers separated by blanks."""
    fields = header.split()
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        return True
    return " " in header.strip() and len(fields) > 1 and all(map(_is_number, fields[1:]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        raise InputError(f"{path.name}: {len(vectors):,} vectors, expected {count or 1:,}, as line 1 says")
    return make_space(name, symbols, np.stack(vectors), path.name)


def _numbers(fields: list[str], width: int, where: str) -> NDArray[np.float64]:
    if len(fields) != width:
        raise InputError(f"{where}: {len(fields):,} numbers, expected {width:,}")
    try:
        return np.array(fields, dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{where}: {first_line(error)}, expected numbers") from error
