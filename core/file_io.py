"""Files read within a limit, and written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from core.errors import InputError


def read_file(path: Path, most_bytes: int) -> bytes:
    """Returns a file's bytes. Raises InputError if there are more than `most_bytes`, or if it cannot be opened."""
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise InputError(f"{path}: {size:,} bytes, expected at most {most_bytes:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file under another name and renames it, so that a reader finds the old content or the new. Raises OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
