"""Read a table of pairs or predictions, whose kind is recognised by its columns.

Tables of rows in parquet, as the text that a CSV file has: one reading of rows for both.
"""

from __future__ import annotations

import gc
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from core.compressed import bare_name, unpack_file
from core.datasets.archives import Content, is_zip, open_content, open_csv
from core.datasets.external_scores import ScoreTable, is_external_score, read_external_scores
from core.datasets.inspect_logs import Epochs, is_log, read_log
from core.datasets.json_predictions import are_predictions, objects_in, read_json_predictions
from core.datasets.pairs import (
    PairTable,
    in_lower_case,
    is_challenge,
    is_labelled,
    is_perturbqa,
    read_challenge,
    read_perturbqa,
)
from core.datasets.submissions import SubmissionTable, TakeRow, is_submission, read_submission
from core.datasets.tables import Table, quote
from core.errors import InputError, UnknownFormat
from core.file_io import open_file
from core.file_limits import MAX_UNPACKED_BYTES, refuse_bomb
from core.hashes import sha256_of_open
from core.parquet_walk import text_bytes, walk_parquet
from core.workbook import is_workbook, text_of_workbook

PARQUET: Final = b"PAR1"
_BYTES_A_CELL: Final = 8


_FOLD_CHANGES = {
    *("fold_change", "log2_fold_change", "log2fc", "logfoldchanges", "log2foldchange", "logfc", "avg_log2fc", "log2_fc"),
}
_READERS = (
    (is_perturbqa, read_perturbqa),
    (is_challenge, read_challenge),
    (is_external_score, read_external_scores),
)


def read(
    content: Content, name: str, take: TakeRow | None = None, epochs: Epochs = "mean"
) -> PairTable | SubmissionTable | ScoreTable:
    """Return the table in a CSV file, or in the CSV inside a zip; `name` is for messages and tells PerturbQA's tasks apart.

    Rows that cannot be read are in the table's `rejected`. take: is given the rows of a submission or a log, instead of the
    table. epochs: see `read_log`. Raise UnknownFormat, UnsafeFile or InputError.
    """
    sha256 = sha256_of_open(open_content(content))
    with collector_paused():
        if is_log(content):
            return read_log(content, name, sha256, take, epochs)
        if is_json(content) and (objects := objects_in(content)) is not None and are_predictions(objects):
            return read_json_predictions(objects, name, sha256, take)
        table = _open_table(content, name)
        if is_submission(table.header):
            return read_submission(table, sha256, take)
        shown = quote(", ".join(table.header), 120)
        header = table.header
        lower = in_lower_case(header)
        is_known = any(recognises(header) for recognises, _ in _READERS) or _is_differential(header)
        table.header = header if is_known and not is_labelled(lower) else lower
        for recognises, read_table in _READERS:
            if recognises(table.header):
                return read_table(table, sha256)
    if _is_differential(table.header):
        raise UnknownFormat(
            f"{table.name}: differential expression ({shown}): as predictions, `cells predictions "
            "FILE --dataset D` makes a run of it; as labels, `cells labels FILE --name D` makes a dataset"
        )
    raise UnknownFormat(
        f"{table.name}: columns {shown}, expected those of a challenge file (id, pert, "
        "gene[, label]), a submission (id, prediction_up, prediction_down, …), PerturbQA (pert, gene, label, split) or external "
        "scores (id, or pert and gene, and columns of numbers)"
    )


def _is_differential(header: tuple[str, ...]) -> bool:
    """Return whether a header names perturbations and fold changes, as those of pdex, cell-eval, scanpy and DESeq2 do."""
    names = {name.lower() for name in header}
    return bool(names & {"target", "target_gene", "group", "pert", "perturbation"} and names & _FOLD_CHANGES)


def is_json(content: Content) -> bool:
    """Return whether a file may be JSON, by its first character."""
    return open_content(content).read(64).lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[")


def _open_table(content: Content, name: str) -> Table:
    """Return the table in a file of text, packed or not, in a zip, in a workbook of Excel, or in parquet."""
    if is_workbook(open_content(content)):
        return Table(io.BytesIO(text_of_workbook(open_content(content), name)), name)
    if is_zip(content):
        stream, member = open_csv(content, name)
        return Table(stream, f"{name}/{member}")
    file = open_content(content)
    if file.read(4) == PARQUET:
        return Table(io.BytesIO(text_of_parquet(content, name)), name)
    plain = unpack_file(file, name)
    if plain is not None:
        return Table(plain, bare_name(name))
    return Table(open_content(content), name)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause garbage collection during the block, which may be nested.

    A large file makes a million records without cycles; searching them again and again would take a quarter of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_path(
    path: Path, name: str = "", take: TakeRow | None = None, epochs: Epochs = "mean"
) -> PairTable | SubmissionTable | ScoreTable:
    """As `read`, from a file of at most 1 GiB; raises InputError if it cannot be opened. name: by default the path's."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        return read(file, name or path.name, take, epochs)


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
