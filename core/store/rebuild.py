"""Rebuild a store from elsewhere: copy only the rows of its tables into our own tables.

A DuckDB file can hold more than rows: instead of a table a view that reads a file or never ends, a column that is computed, a
macro that hides a function, a trigger, a billion rows in a kilobyte. So the file is attached for reading, by a DuckDB that
reaches its folder alone and in which nothing of the file is found by a bare name; its tables must be those that our migrations
make, to the letter; and what they unpack to is counted before it is read.

The store's files, held still while they are copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from core.errors import StoreBusy, StoreDamaged, StoreTooNew, UnsafeFile
from core.store import migrations
from core.store.attachment import closed_connection, first_line, let_go, quote_path
from core.store.connection import Cursor, Store
from core.system_errors import explain_text

MOST_UNPACKED = 200  # times the bytes that it came in, as of the zips in core/datasets/archives.py
_LEAST_UNPACKED = 1 << 24  # bytes that any store may unpack to
_BYTES = {"BOOLEAN": 1, "SMALLINT": 2, "INTEGER": 4, "BIGINT": 8, "DOUBLE": 8, "TIMESTAMP": 8, "VARCHAR": 1, "VARCHAR[]": 16}
_SHOWN = 60  # characters of a name
# Objects of a database other than tables: word, DuckDB's list of them, the column of names, and the column of definitions.
_OTHERS = (
    ("view", "duckdb_views", "view_name", "sql"),
    ("macro", "duckdb_functions", "function_name", "macro_definition"),
    ("trigger", "duckdb_triggers", "trigger_name", "sql"),
    ("sequence", "duckdb_sequences", "sequence_name", "sql"),
    ("type", "duckdb_types", "type_name", "logical_type"),
    ("index", "duckdb_indexes", "index_name", "sql"),
    ("schema", "duckdb_schemas", "schema_name", "sql"),
)


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of a database. tables: name → definition, in the main schema. others: "view v" → definition."""

    tables: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)

    def beside(self, known: _Objects) -> list[str]:
        """Return the objects that are not in `known`, by kind and name, sorted."""
        others = (name for name, sql in self.others.items() if known.others.get(name) != sql)
        return sorted([*others, *(f"table {name[:_SHOWN]}" for name in self.tables.keys() - known.tables.keys())])


def rebuild(source: Path, target: Path, said: str, packed_bytes: int, memory_mb: int) -> list[str]:
    """Make a store at `target` from the rows of the one at `source`, upgraded; return what was left out, by kind and name.

    said: the source's name in messages. packed_bytes: its compressed size, which limits its unpacked size. Raise StoreTooNew,
    UnsafeFile for tables that are not those of a store or unpack to too much, StoreDamaged for what cannot be read, and
    SystemFailure.
    """
    let_go(source)
    with closing(closed_connection(source.parent, source.parent / "scratch", memory_mb, target.parent)) as connection:
        try:
            connection.execute(f"ATTACH {quote_path(source)} AS source (TYPE duckdb, READ_ONLY)")
            connection.execute(f"ATTACH {quote_path(target)} AS desk (TYPE duckdb)")
            connection.execute("USE desk")
            left_out = _copy(connection, said, packed_bytes)
            migrations.upgrade(connection, target)
            connection.execute("USE memory")
            connection.execute("DETACH desk")
        except duckdb.Error as error:
            raise explain_text(error, target) or StoreDamaged(
                f"{said}: its store cannot be read: {first_line(error)}; nothing was restored"
            ) from error
    return left_out


def find_foreign(cursor: Cursor) -> list[str]:
    """Return the objects in an open store that our migrations do not make, by kind and name: "view v", "table run, altered"."""
    with closing(duckdb.connect(":memory:")) as model:
        model.execute("ATTACH ':memory:' AS desk")
        model.execute("USE desk")
        migrations.upgrade(model, Path())
        known = _objects(model, "desk")
    found = _objects(cursor, "desk")
    altered = [f"table {name}, altered" for name, sql in known.tables.items() if found.tables.get(name) != sql]
    return sorted([*found.beside(known), *altered])


def _copy(connection: Cursor, said: str, packed_bytes: int) -> list[str]:
    """Copy the tables of the source into the tables of an empty database. Return the names of omitted objects."""
    migrations.upgrade(connection, Path(said), to=1)
    found = _objects(connection, "source")
    version = _version(connection, found, said)
    migrations.upgrade(connection, Path(said), to=version)
    known = _objects(connection, "desk")
    for name in known.tables:
        _refuse_altered(connection, name, found, known, said)
    _refuse_too_large(connection, known.tables, packed_bytes, said)
    connection.execute("DELETE FROM schema_version")
    for name in known.tables:
        try:
            connection.execute(f'INSERT INTO "{name}" SELECT * FROM source.main."{name}"').fetchall()
        except duckdb.ConstraintException as error:
            raise StoreDamaged(f"{said}: the table {name} of its store breaks its own rules: {first_line(error)}") from error
    return found.beside(known)


def _version(connection: Cursor, found: _Objects, said: str) -> int:
    """Return the schema version of the source, whose table of versions must be a plain one."""
    if "schema_version" not in found.tables:
        raise StoreDamaged(f"{said}: its data/desk.duckdb is no PerturbDesk store; nothing was restored")
    _refuse_altered(connection, "schema_version", found, _objects(connection, "desk"), said)
    rows = connection.execute("SELECT version FROM source.main.schema_version LIMIT 1000").fetchall()
    steps = sorted(version for (version,) in rows if version is not None)
    if steps and steps[-1] > len(migrations.STEPS):
        raise StoreTooNew(f"{said}: schema {steps[-1]}, this version knows up to {len(migrations.STEPS)}; update PerturbDesk")
    if steps != list(range(1, len(rows) + 1)):
        raise UnsafeFile(f"{said}: its store states other schema versions than 1, 2, …; nothing was restored")
    return len(steps)


def _objects(connection: Cursor, database: str) -> _Objects:
    tables, others = {}, {}
    for schema, name, sql in _list(connection, database, "duckdb_tables", "schema_name", "table_name", "sql"):
        if schema == "main":
            tables[name] = sql
        else:
            others[f"table {schema}.{name}"[:_SHOWN]] = sql
    for word, listing, column, content in _OTHERS:
        for name, sql, internal in _list(connection, database, listing, column, content, _internal(listing)):
            if not internal and (word, name) != ("schema", "main"):
                others[f"{word} {name}"[:_SHOWN]] = str(sql)
    return _Objects(tables, others)


def _internal(listing: str) -> str:
    """Return the column that marks DuckDB's own objects: a list without it has only users' objects."""
    return "internal" if listing in {"duckdb_views", "duckdb_functions", "duckdb_types", "duckdb_schemas"} else "false"


def _list(connection: Cursor, database: str, listing: str, *columns: str) -> list[tuple[str, ...]]:
    """Return columns of one of DuckDB's own lists, which no macro of a database can hide, of a database."""
    names = ", ".join(columns)
    query = f"SELECT {names} FROM system.main.{listing}() WHERE database_name = ? LIMIT 100000"
    return connection.execute(query, [database]).fetchall()


def _refuse_altered(connection: Cursor, name: str, found: _Objects, known: _Objects, said: str) -> None:
    """Raise UnsafeFile unless a table of the source is made as ours: columns, types, defaults and constraints."""
    if name not in found.tables:
        what = "is a view" if f"view {name}" in found.others else "is missing"
        raise UnsafeFile(f"{said}: {name} {what} in its store, expected a table; nothing was restored")
    if found.tables[name] == known.tables[name]:
        return
    ours, theirs = (_columns(connection, database, name) for database in ("desk", "source"))
    different = next((f"column {b[0][:_SHOWN]} {b[1][:_SHOWN]}" for a, b in zip(ours, theirs, strict=False) if a != b), "")
    what = different or ("its constraints" if len(ours) == len(theirs) else f"it has {len(theirs)} columns, not {len(ours)}")
    raise UnsafeFile(f"{said}: the table {name} of its store is not made as PerturbDesk makes it ({what}); nothing was restored")


def _columns(connection: Cursor, database: str, table: str) -> list[tuple[str, ...]]:
    columns = ("column_name", "data_type", "column_default", "is_generated", "is_nullable", "table_name", "schema_name")
    listed = _list(connection, database, "duckdb_columns", *columns)
    return [each[:-2] for each in listed if each[-2:] == (table, "main")]


def _refuse_too_large(connection: Cursor, tables: Iterable[str], packed_bytes: int, said: str) -> None:
    """Raise UnsafeFile if the rows unpack to far more than their compressed size; cheap counts come first."""
    most = max(_LEAST_UNPACKED, MOST_UNPACKED * packed_bytes)
    columns = [(table, name, kind) for table in tables for name, kind, *_ in _columns(connection, "source", table)]
    counts = {table: _number(connection, f'SELECT count(*) FROM source.main."{table}"') for table in tables}
    needed = sum(counts[table] * _BYTES[kind] for table, _, kind in columns)
    _refuse_above(needed, most, said)
    for kinds, measure in ((("VARCHAR[]",), "16 * len({})"), (("VARCHAR",), "strlen({})"), (("VARCHAR[]",), _TEXTS_OF_LIST)):
        wanted = [(table, f'"{name}"') for table, name, kind in columns if kind in kinds]
        for table, name in wanted:
            needed += _number(connection, f'SELECT coalesce(sum({measure.format(name)}), 0) FROM source.main."{table}"')
            _refuse_above(needed, most, said)


_TEXTS_OF_LIST = "list_sum(list_transform({}, lambda word: strlen(word)))"


def _number(connection: Cursor, query: str) -> int:
    [(number,)] = connection.execute(query).fetchall()
    return int(number)


def _refuse_above(needed: int, most: int, said: str) -> None:
    if needed > most:
        raise UnsafeFile(f"{said}: its store unpacks to {needed:,} bytes or more, expected {most:,}; nothing was restored")


@contextmanager
def hold_files(store: Store) -> Iterator[tuple[Cursor, list[Path]]]:
    """Provide a cursor and the store's files, its consistent state during the block: others may read, none may write.

    Commits that are not in the main file yet are in the log beside it. Raise StoreBusy, at the end of the block, if a program
    that does not know the lock has changed them meanwhile.
    """
    with store.read() as cursor:
        before = _states(store.file)
        yield cursor, list(before)
        if _states(store.file) != before:
            raise StoreBusy(f"{store.file}: was changed by another program while it was copied; close it there and try again")


def _states(file: Path) -> dict[Path, tuple[int, int, int]]:
    """Return the main file and the logs beside it, each with its place, size and time."""
    stats = {path: path.stat() for path in (file, *sorted(file.parent.glob(f"{file.name}.wal*")))}
    return {path: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}
