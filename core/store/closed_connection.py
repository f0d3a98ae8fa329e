"""A DuckDB that reaches a few folders and nothing else, and how its messages and paths are written."""

from __future__ import annotations

from pathlib import Path

import duckdb


def closed_connection(folder: Path, scratch: Path, memory_mb: int, *more: Path) -> duckdb.DuckDBPyConnection:
    """An in-memory connection that can reach these folders and nothing else: no network, no extensions, no other file."""
    connection = duckdb.connect(":memory:")
    allowed = ", ".join(quote_path(f"{path}/") for path in (folder, scratch, *more))
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "python_enable_replacements = false",
        "enable_progress_bar = false",  # DuckDB draws one on standard output where it takes a process for an interactive one
        f"temp_directory = {quote_path(scratch / 'duckdb')}",
        f"memory_limit = '{memory_mb}MB'",
        f"allowed_directories = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def quote_path(path: Path | str) -> str:
    """A path as an SQL string."""
    return "'" + str(path).replace("'", "''") + "'"


def first_line(error: object) -> str:
    return str(error).strip().splitlines()[0]
