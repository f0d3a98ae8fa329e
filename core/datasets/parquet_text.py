"""Tables of rows in parquet, as the text that a CSV file has: one reading of rows for both."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from core.datasets.archives import Content, open_content
from core.errors import InputError, UnknownFormat
from core.file_limits import MAX_UNPACKED_BYTES, refuse_bomb
from core.parquet_walk import text_bytes, walk_parquet

PARQUET: Final = b"PAR1"
_BYTES_A_CELL: Final = 8


def text_of_parquet(content: Content, name: str) -> bytes:
    """Return a table as CSV. Raise UnknownFormat for columns that are neither texts nor numbers, UnsafeFile for more than the
    file can hold, and InputError for a damaged one."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(open_content(content).read())
        file.flush()
        path = Path(file.name)
        try:
            found = walk_parquet(path, name)
            schema = found.schema.to_arrow_schema()
            odd = [field.name for field in schema if not _is_plain(field.type)]
            if odd:
                kind = InputError if {"pert", "gene"} <= set(schema.names) else UnknownFormat
                raise kind(f"{name}: column {odd[0]} of type {schema.field(odd[0]).type}, expected texts and numbers")
            packed = path.stat().st_size
            refuse_bomb(name, packed, found.num_rows * len(schema) * _BYTES_A_CELL, MAX_UNPACKED_BYTES)
            texts = [field.name for field in schema if _is_text(field.type)]
            table = parquet.ParquetFile(path, read_dictionary=texts).read()
            table.validate(full=True)  # texts that are no UTF-8
            refuse_bomb(name, packed, sum(text_bytes(table[text]) for text in texts), MAX_UNPACKED_BYTES)
        except (pa.ArrowException, OverflowError) as error:
            raise InputError(f"{name}: cannot be read as parquet ({str(error).splitlines()[0]})") from error
    out = io.BytesIO()
    arrow_csv.write_csv(table.cast(pa.schema([(field.name, pa.string()) for field in table.schema])), out)
    return out.getvalue()


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def _is_plain(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    return _is_text(kind) or any(is_kind(kind) for is_kind in tests)
