"""The store's files, held still while they are copied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import StoreBusy
from core.store.connection import Cursor, Store


@contextmanager
def hold_files(store: Store) -> Iterator[tuple[Cursor, list[Path]]]:
    """Gives a cursor and the store's files, which together are its state while the block lasts: others read, nobody writes.

    What was committed and is not in the main file yet stands in the log beside it. Raises StoreBusy, at the end of the block, if
    a program that does not know the lock has changed them meanwhile.
    """
    with store.read() as cursor:
        before = _states(store.file)
        yield cursor, list(before)
        if _states(store.file) != before:
            raise StoreBusy(f"{store.file}: was changed by another program while it was copied; close it there and try again")


def _states(file: Path) -> dict[Path, tuple[int, int, int]]:
    """The main file and the logs beside it, each with its place, size and time."""
    stats = {path: path.stat() for path in (file, *sorted(file.parent.glob(f"{file.name}.wal*")))}
    return {path: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}
