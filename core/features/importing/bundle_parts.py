"""The tables of a run's bundle: how they are written to the same bytes each time, and which values
their columns may hold.

Each is a parquet file without compression, so that no part unpacks to more than its own size. Lists
of words (flags, findings) are joined by blanks.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from core.base.errors import InputError, UnsafeFile
from core.base.file_io import UnnamedFile
from core.base.row_schema import (
    ARROW_TYPES,
    FILE_SUM_TOLERANCE,
    TABLES,
    Column,
    TableSchema,
    field_names,
)
from core.base.texts import quote
from core.base.types import Evidence, Flag
from core.store import calls, evidence
from core.store.connection import Cursor
from core.store.queries import arrow_array, insert, one
from core.store.traces import split_events

# the parts that hold a run's texts, which there may be no room for in memory
LARGE = ("trace_event", "evidence", "call")
BATCH_ROWS = 2_000
_PAGE = 500  # texts of evidence or calls that are read at a time


class PartFile:
    """A part in its parquet file, which is read some thousand rows at a time.

    Raises InputError if it is not parquet or has other columns, UnsafeFile if it claims to hold
    more content than its bytes can; `to_batches` does so too.
    """

    def __init__(self, file: IO[bytes], part: str, where: str) -> None:
        self.file, self._part, self._where = file, part, where
        self._size = file.seek(0, io.SEEK_END)
        with _as_parquet_errors(where):
            self.num_rows = _checked_rows(file, part, where, self._size)

    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, of all or of some columns. A reader keeps every text of a group
        of rows, so that each group has its own."""
        schema = SCHEMAS[self._part]
        chosen = schema if columns is None else pa.schema([schema.field(name) for name in columns])
        n_rows = 0
        with _as_parquet_errors(self._where):
            self.file.seek(0)
            for group in range(parquet.read_metadata(self.file).num_row_groups):
                opened = parquet.ParquetFile(self.file, buffer_size=1 << 20, pre_buffer=False)
                for batch in opened.iter_batches(
                    BATCH_ROWS, [group], chosen.names, use_threads=False
                ):
                    table = pa.table(batch).cast(chosen)
                    table.validate(full=True)
                    n_rows += table.num_rows
                    yield from table.combine_chunks().to_batches()
        if n_rows != self.num_rows:
            raise InputError(f"{self._where}: {n_rows:,} rows, but it says {self.num_rows:,}")

    def select(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows."""
        return pa.Table.from_batches(
            self.to_batches(names), pa.schema([SCHEMAS[self._part].field(name) for name in names])
        )

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.select([name])[name]


Parts = Mapping[str, PartFile]


def _schema(table: TableSchema) -> pa.Schema:
    return pa.schema(
        pa.field(
            column.name,
            pa.type_for_alias(ARROW_TYPES[column.kind]),
            nullable=column.missing != "never",
        )
        for column in table.columns
    )


SCHEMAS: Mapping[str, pa.Schema] = {part: _schema(table) for part, table in TABLES.items()}
_LINKS = (  # every value of the first stands in the second
    ("trace_event", "pair_id", "prediction", "pair_id"),
    ("row_evidence", "pair_id", "prediction", "pair_id"),
    ("row_call", "pair_id", "prediction", "pair_id"),
    ("row_evidence", "evidence", "evidence", "id"),
    ("evidence", "id", "row_evidence", "evidence"),
    ("row_call", "call", "call", "id"),
    ("call", "id", "row_call", "call"),
)
_NOTE_ID = "^[0-9a-f]{12}$"
_LISTED = "^([a-z_]+( [a-z_]+)*)?$"
TIMES = datetime(1900, 1, 1), datetime(2200, 1, 1)  # the first, and the first that is too late
IN_TIMES = "a time from 1900 to 2199"
_MOST_DIGITS = 300  # of a whole number in JSON; most readers cannot read a longer one


def write_part(pieces: Iterable[pa.Table], part: str, where: str) -> PartFile:
    """Return a part in a file of its own, each piece as a group of rows.

    Equal pieces give equal bytes, however many chunks they consist of. pieces: have the columns of
    the part, and may have more.
    """
    file = UnnamedFile()
    how: dict[str, Any] = {
        "compression": "none",
        "use_dictionary": False,
        "write_statistics": False,
    }
    with parquet.ParquetWriter(file, SCHEMAS[part], **how, store_schema=False) as writer:
        for piece in pieces:
            writer.write_table(
                piece.select(SCHEMAS[part].names).cast(SCHEMAS[part]).combine_chunks()
            )
    return PartFile(file, part, where)


@contextmanager
def _as_parquet_errors(where: str) -> Iterator[None]:
    """Raise InputError for what Arrow raises on a file that is damaged."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{where}: cannot be read as parquet ({reason})") from error


def _checked_rows(file: IO[bytes], part: str, where: str, size: int) -> int:
    """Return the number of rows that a file says to have. Nothing in it may take more room than it
    has there."""
    file.seek(0)
    metadata = parquet.read_metadata(file)
    _refuse_other_columns(metadata.schema.to_arrow_schema(), SCHEMAS[part], where)
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    kinds = {encoding for chunk in chunks for encoding in chunk.encodings} - {"PLAIN", "RLE"}
    kinds |= {chunk.compression for chunk in chunks} - {"UNCOMPRESSED"}
    if kinds:
        raise UnsafeFile(f"{where}: packed by {', '.join(sorted(kinds))}, expected plain pages")
    if (rows := int(metadata.num_rows)) > size:
        raise UnsafeFile(f"{where}: {size:,} bytes that claim to hold {rows:,} rows")
    return rows


def _refuse_other_columns(actual: pa.Schema, expected: pa.Schema, where: str) -> None:
    if actual.equals(expected):
        return
    columns, wanted = (
        [
            f"{field.name} {field.type}{'' if field.nullable else ', never missing'}"
            for field in schema
        ]
        for schema in (actual, expected)
    )
    odd = [column for column in columns if column not in wanted]
    message = f"columns {quote('; '.join(odd or columns), 200)}, expected {'; '.join(wanted)}"
    raise InputError(f"{where}: {message}, in this order")


def check(parts: Parts, where: str) -> None:
    """Raise InputError for the first value in the parts that no run can have."""
    for part, table in parts.items():
        _refuse_repeated(table, part, where)
        start = 0
        for batch in table.to_batches():
            for column in TABLES[part].columns:
                values, place = batch[column.name], f"{where}/{part}, {column.name}"
                for wrong, expected in _faults(part, column, values):
                    _refuse_rows(wrong, values, place, expected, start)
            start += batch.num_rows
    _check_predictions(parts["prediction"], f"{where}/prediction")
    for part, name, other, key in _LINKS:
        unknown = pc.invert(pc.is_in(parts[part][name], value_set=parts[other][key]))
        _refuse_rows(
            unknown, parts[part][name], f"{where}/{part}, {name}", f"one that stands in {other}"
        )


def _refuse_repeated(table: PartFile, part: str, where: str) -> None:
    key = list(TABLES[part].key)
    distinct = table.select(key).group_by(key).aggregate([]).num_rows
    if distinct != table.num_rows:
        raise InputError(
            f"{where}/{part}: {table.num_rows - distinct:,} rows repeat the {' and '.join(key)} of"
            " another"
        )


def _faults(part: str, column: Column, values: pa.Array) -> Iterator[tuple[pa.Array, str]]:
    """Yield for each rule of a column which values break it, and what it expects."""
    name, kind = column.name, column.kind
    if kind in ("index", "count", "total"):  # the type excludes what is too large
        yield pc.less(values, 0), "0 or more"
    if kind == "share":
        yield pc.invert(pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, 1))), "0 to 1"
    if kind == "number":
        yield pc.invert(pc.is_finite(values)), "a finite number"
    if kind == "time":
        first, last = (pa.scalar(time, values.type) for time in TIMES)
        yield pc.invert(pc.and_(pc.greater_equal(values, first), pc.less(values, last))), IN_TIMES
    if column.choices:
        known = pa.array([*column.choices, None], pa.string())
        yield pc.invert(pc.is_in(values, value_set=known)), " or ".join(column.choices)
    if kind == "words":
        listed = pc.match_substring_regex(values, _LISTED)
        yield pc.invert(listed), "words with blanks between them"
    if (part, name) == ("note", "id"):
        yield pc.invert(pc.match_substring_regex(values, _NOTE_ID)), "12 hexadecimal digits"
    if name == "pair_id" or (part, name) == ("note", "author"):
        yield pc.equal(values, ""), "a text"
    if kind in ("json", "json text"):
        odd = [text for text in pc.unique(values).to_pylist() if not is_json_object(text)]
        wrong = pc.is_in(values, value_set=pa.array(odd, pa.string()))
        yield wrong, "a JSON object of finite numbers"


def _check_predictions(table: PartFile, where: str) -> None:
    flags = {word for text in pc.unique(table["flags"]).to_pylist() for word in text.split()}
    if unknown := sorted(flags - set(Flag)):
        raise InputError(
            f"{where}, flags: {', '.join(map(quote, unknown))}, expected {', '.join(Flag)}; or a"
            " later version's"
        )
    failed = pc.is_valid(table["error"])
    of_reading = pc.fill_null(pc.equal(table["p_source"], "none"), False)
    for name in (
        column.name for column in TABLES["prediction"].columns if column.missing == "in failures"
    ):
        lacking = failed if name == "p_source" else pc.or_(failed, of_reading)
        odd = pc.equal(pc.is_valid(table[name]), lacking)
        _refuse_rows(
            odd,
            table[name],
            f"{where}, {name}",
            "a value, unless the row failed or is one of a reading",
        )
    total = pc.add(table["prediction_up"], table["prediction_down"])
    _refuse_rows(
        pc.greater(total, 1 + FILE_SUM_TOLERANCE),
        total,
        f"{where}, up and down",
        "a sum of at most 1",
    )
    odd = pc.and_(pc.or_(failed, of_reading), pc.is_valid(table["p_up_given_de"]))
    _refuse_rows(odd, table["p_up_given_de"], f"{where}, p_up_given_de", "none")


def _refuse_rows(
    wrong: pa.ChunkedArray, values: pa.ChunkedArray, where: str, expected: str, start: int = 0
) -> None:
    """Raise InputError for the first wrong row; a missing value is never wrong. start: the place of
    the first value."""
    at = pc.index(wrong, True).as_py()
    if at >= 0:
        value = values[at]
        if pa.types.is_timestamp(value.type):
            value = value.cast(pa.string())  # Python has no years above 9999
        raise InputError(
            f"{where}, row {start + at + 1:,}: {quote(str(value.as_py()))}, expected {expected}"
        )


def is_json_object(text: str) -> bool:
    """Return whether a text is a JSON object that every JSON reader accepts: finite numbers, no
    lone surrogates, not too deep."""
    try:
        value = json.loads(text, parse_int=_parse_int)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _parse_int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("too long a number")
    return int(digits)


def count_rows(predictions: PartFile, fallbacks: tuple[Flag, ...]) -> dict[str, Any]:
    """Return the counts of `RunRecord` that follow from its rows: done, failed, fallbacks,
    collapsed, tokens, tokens_unknown."""
    failed = pc.sum(pc.is_valid(predictions["error"])).as_py() or 0
    flags = [set(text.split()) for text in predictions["flags"].to_pylist()]
    return {
        "done": predictions.num_rows - failed,
        "failed": failed,
        "fallbacks": sum(not words.isdisjoint(fallbacks) for words in flags),
        "collapsed": sum(Flag.ROLE_COLLAPSE in words for words in flags),
        "tokens": pc.sum(predictions["tokens"]).as_py(),
        "tokens_unknown": predictions["tokens"].null_count,
    }


_JOINED = (
    "JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id"
)


def _select(cursor: Cursor, part: str, condition: str, values: list[Any]) -> pa.Table:
    """Return the rows q of a part that a condition chooses, sorted; lists of words are joined by
    blanks."""
    table = TABLES[part]
    columns = ", ".join(map(_select_column, table.columns))
    joined = _JOINED if any(column.of_pair for column in table.columns) else ""
    order = ", ".join(f"q.{name}" for name in table.order or table.key)
    query = f"SELECT {columns} FROM {part} q {joined} WHERE {condition} ORDER BY {order}"
    return cursor.sql(query, params=values).to_arrow_table()


def _select_column(column: Column) -> str:
    if column.kind == "words":
        return f"array_to_string(q.{column.name}, ' ') AS {column.name}"
    return f"{'p' if column.of_pair else 'q'}.{column.name}"


def _of_run(part: str) -> str:
    """Return the condition on the rows q of a part that they are a run's; its parameter is the
    run's id."""
    return (
        f"q.id IN (SELECT {part} FROM row_{part} WHERE run = ?)"
        if TABLES[part].shared
        else "q.run = ?"
    )


def read_part(cursor: Cursor, run: str, part: str) -> pa.Table:
    """Return one of the tables of the run with this id, sorted; lists of words are joined by
    blanks."""
    return _select(cursor, part, _of_run(part), [run])


def read_in_pieces(cursor: Cursor, run: str, part: str) -> Iterator[pa.Table]:
    """Yield the rows of `read_part` of a part with texts, some megabytes at a time."""
    if part == "trace_event":
        for batch in split_events(cursor, "e.run = ?", [run], "e.pair_id, e.seq"):
            condition = batch.condition.replace("e.rowid", "q.rowid")
            yield _select(cursor, part, condition, [*batch.values])
        return
    query = f"SELECT id FROM {part} q WHERE {_of_run(part)} ORDER BY id"
    ids = [key for (key,) in cursor.execute(query, [run]).fetchall()]
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        condition = f"q.id BETWEEN ? AND ? AND {_of_run(part)}"
        yield _select(cursor, part, condition, [page[0], page[-1], run])


def add(cursor: Cursor, run: str, parts: Parts) -> None:
    """Add the parts of a bundle to the run with this id, which has no rows yet. Raise InputError
    for a note of another run."""
    for part, rows in parts.items():
        for batch in rows.to_batches():
            if part == "note":
                query = "SELECT id, run FROM note WHERE list_contains(?, id) LIMIT 1"
                taken = one(cursor, query, [batch["id"].to_pylist()])
                if taken is not None:
                    raise InputError(
                        f"note {taken[0]}: is one of run {taken[1]} here, expected a note of the"
                        " bundle's own run"
                    )
            columns: dict[str, Any] = {
                column.name: batch[column.name]
                for column in TABLES[part].columns
                if not column.of_pair
            }
            for column in TABLES[part].columns:
                if column.kind == "words":
                    columns[column.name] = arrow_array(
                        column, [text.split() for text in batch[column.name].to_pylist()]
                    )
            if not TABLES[part].shared:
                columns["run"] = pa.repeat(run, batch.num_rows)
            insert(cursor, part, columns, ignore_existing=TABLES[part].shared)


def refuse_wrong_ids(parts: Parts) -> None:
    """Raise InputError for evidence or a call whose id is not the hash of its content: others would
    be shown in its place."""
    for row in (row for batch in parts["evidence"].to_batches() for row in batch.to_pylist()):
        # The id may be of the time as stored, without a zone, or of the same time in UTC.
        at = row["retrieved_at"]
        values = {name: row[name] for name in field_names(Evidence)} | {
            "body": json.loads(row["body"])
        }
        if row["id"] not in {
            evidence.identity(Evidence(**{**values, "retrieved_at": time}))
            for time in (at, at and at.replace(tzinfo=UTC))
        }:
            raise InputError(
                f"evidence {row['id']} of {row['tool']}: its id does not belong to what it says"
            )
    for row in (row for batch in parts["call"].to_batches() for row in batch.to_pylist()):
        if row["id"] != calls.identity(row["key"], row["request"], row["reply"]):
            raise InputError(f"call {row['id']}: its id does not belong to what was said")


def add_origin(cursor: Cursor, run: str, origin: str, parent_names: Mapping[str, str]) -> None:
    """Record where a bundled run was made, and the names of its parents."""
    cursor.execute(
        "INSERT INTO bundled_run VALUES (?, ?, ?)", [run, origin, json.dumps(dict(parent_names))]
    )


def origin_of(cursor: Cursor, run: str) -> str | None:
    """Return how a bundled run was made in its first workspace (`RunRecord.origin`); None if no
    bundle brought it."""
    row = one(cursor, "SELECT origin FROM bundled_run WHERE run = ?", [run])
    return None if row is None else str(row[0])


def run_names(cursor: Cursor) -> dict[str, str]:
    """Run id → name of every run in the store, and of the parents that bundles name."""
    named: dict[str, str] = {}
    for (texts,) in cursor.execute("SELECT parent_names FROM bundled_run ORDER BY run").fetchall():
        named |= json.loads(texts)
    return named | dict(cursor.execute("SELECT id, name FROM run").fetchall())
