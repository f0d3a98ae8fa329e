"""The file of a store: a DuckDB that reaches its folder and nothing else, and what is wrong with the file or the log beside it.

Both are left as they are.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from core.errors import StoreDamaged
from core.file_io import read_head
from core.system_errors import explain

_MAGIC = slice(8, 12)  # DuckDB writes "DUCK" behind the checksum of its first block


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
        "allocator_background_threads = true",  # else what it has freed stays with the process: 200 MB after a large reading
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


def log_of(file: Path) -> Path:
    """Return the log beside a store, with what was committed and is not in the main file yet."""
    return file.with_name(file.name + ".wal")


def damage_error(file: Path, reason: object) -> StoreDamaged:
    """Return the error for a store that DuckDB cannot read, or whose log it cannot."""
    if "WAL file" in str(reason):
        return StoreDamaged(
            f"{log_of(file)}: cannot be read, and is left as it is: {first_line(reason)} It alone has the last changes; restore "
            "the store from a backup, or move this log away to open the store without them"
        )
    return StoreDamaged(
        f"{file}: cannot be read, and is left as it is: {first_line(reason)} Expected a whole PerturbDesk store; "
        "restore it from a backup, or move it away to start anew"
    )


def refuse_foreign(file: Path) -> None:
    """Raise StoreDamaged unless the first bytes are DuckDB's: DuckDB itself would open some other formats, too."""
    try:
        head = read_head(file, 16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise explain(error, file) from error
    if head[_MAGIC] != b"DUCK":
        raise StoreDamaged(
            f"{file}: not a DuckDB file ({file.stat().st_size} bytes, begins with {head[:12]!r}), "
            "and is left as it is; move it away to start anew"
        )
