"""The store's tables, which schema.sql makes, and the hash by which a store says which it has."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from core.base.errors import StoreDamaged, StoreOtherSchema
from core.base.hashes import sha256_of

_SHOWN_DIGITS = 10
_SHOWN_TABLES = 5


@cache
def schema_text() -> str:
    """Return the statements that make all tables."""
    return Path(__file__).with_name("schema.sql").read_text("utf-8")


def create(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of an empty store, in one transaction."""
    cursor.begin()
    try:
        cursor.execute(schema_text())
        cursor.execute("INSERT INTO schema_hash VALUES (?)", [sha256_of(schema_text())])
        cursor.commit()
    except BaseException:
        with suppress(duckdb.Error):  # a commit that failed has ended the transaction
            cursor.rollback()
        raise


def refuse_other(cursor: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Raise StoreOtherSchema unless the attached store has our tables, StoreDamaged if it is no
    store."""
    try:
        [[stated]] = cursor.execute("SELECT coalesce(max(sha256), '') FROM schema_hash").fetchall()
    # asked first: to list the tables takes DuckDB twenty times as long
    except duckdb.CatalogException:
        stated = ""
        query = (
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk' ORDER BY"
            " table_name"
        )
        tables = [name for (name,) in cursor.execute(query).fetchall()]
        if "trace_event" not in tables:
            listed = f"tables {', '.join(tables[:_SHOWN_TABLES])}" if tables else "no tables"
            raise StoreDamaged(
                f"{file}: a DuckDB database, but not a PerturbDesk store ({listed}); left as it is"
            ) from None
    expected = sha256_of(schema_text())
    if stated != expected:
        raise StoreOtherSchema(
            f"{file}: a store of another version (schema"
            f" {stated[:_SHOWN_DIGITS] or 'without a hash'}, expected {expected[:_SHOWN_DIGITS]});"
            " left as it is. Open it with the version that wrote it, bundle its runs there, and"
            " import the bundles into a new workspace"
        )
