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


def replace_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Writes a file under another name and renames it, so that a reader finds the old content or the new. Raises OSError.

    durable: waits until content and name are on disk.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as out:
            out.write(content)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    if durable:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Waits until the names in a folder are on disk, as `fsync` of a file does not."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
