"""Files read within a limit, and written whole or not at all. Pipes, devices and sockets are not
opened."""

from __future__ import annotations

import fcntl
import filecmp
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BufferedRandom, BufferedReader
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import IO, TypeVar
from uuid import uuid4

from core.base.errors import InputError, StateError, UnknownFormat, UnsafeFile
from core.base.system_errors import explain

T = TypeVar("T")

_SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_PART = re.compile(r"\..+\.[0-9]{1,10}\.part")
_TEMPORARY = re.compile(r"perturbdesk-[a-z-]+-[0-9a-f]{12}")


IN_MEMORY_BYTES = 16 << 20


class UnnamedFile(SpooledTemporaryFile[bytes]):
    """A file without a name: in memory while it is small, then on disk; closed when nobody has it
    any more."""

    def __init__(self) -> None:
        super().__init__(IN_MEMORY_BYTES)

    def __del__(self) -> None:
        self.close()


def refuse_special(path: Path) -> None:
    """Raise UnknownFormat for pipes, sockets and devices, which may never end or act when they are
    read; OSError as `stat`."""
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: holds the character NUL, expected the path of a file")
    mode = path.stat().st_mode
    for is_kind, words in _SPECIAL:
        if is_kind(mode):
            raise UnknownFormat(f"{path}: {words}, expected a file")


def read_head(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file. Raise InputError for pipes, sockets and devices, and
    OSError."""
    refuse_special(path)
    with open(path, "rb", buffering=0, opener=_open_at_once) as file:
        return file.read(n_bytes) or b""


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: a pipe may have been put in its place, and some files of /proc
    wait for news."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return a file's bytes. Raise what `open_file` raises."""
    with open_file(path, most_bytes) as file:
        return file.read()


@contextmanager
def open_file(path: Path, most_bytes: int) -> Iterator[BufferedReader]:
    """Open a file that is too large to be held in memory. The block may read it from any place, and
    more than once.

    Raise UnsafeFile if there is more than its size or it changes meanwhile, and InputError if it
    has more than `most_bytes`, if it cannot be read, or if it is a pipe, a socket or a device.
    """
    try:
        refuse_special(path)
        with open(path, "rb", opener=_open_at_once) as file:
            before = os.fstat(file.fileno())
            if before.st_size > most_bytes:
                raise InputError(
                    f"{path}: {before.st_size:,} bytes, expected at most {most_bytes:,}"
                )
            file.seek(before.st_size)
            if file.read(1):  # as those of /proc, which may have no end
                raise _unsafe(path, before)
            file.seek(0)
            yield file
            after = os.stat(path)
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise _unsafe(path, before)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _unsafe(path: Path, found: os.stat_result) -> UnsafeFile:
    size = f"{found.st_size:,} bytes"
    return UnsafeFile(
        f"{path}: holds more than its {size}; it is being written, or is no plain file: import a"
        " copy"
    )


def replace_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file under another name and rename it, so that a reader finds the old content or the
    new. Raise OSError.

    durable: waits until content and name are on disk.
    """
    with replacing(path, durable=durable) as out:
        out.write(content)


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[BufferedRandom]:
    """Open a file that takes the place of `path` when the block ends, and goes if it raises; see
    `replace_file`."""
    try:
        with part_of(path) as part, part.open("w+b") as out:
            yield out
            out.flush()
            if durable:
                os.fsync(out.fileno())
            part.replace(path)
    except OSError as error:
        error.filename = str(path)  # the name that a person knows
        raise
    if durable:
        sync_folder(path.parent)


def write_file(content: bytes, out: Path, *, replace: bool = False) -> None:
    """Write a file whole or not at all; raise what `write_by` raises."""
    write_by(lambda file: file.write(content), out, replace=replace)


def write_by(fill: Callable[[IO[bytes]], T], out: Path, *, replace: bool = False) -> T:
    """Let a function write a file, whole or not at all, and return what it returns.

    Raise StateError if another file exists, unless `replace`, and SystemFailure if the file cannot
    be written.
    """
    try:
        if out.exists() and not out.is_file():
            raise StateError(
                f"{out}: a folder, a device or a pipe lies there, expected a file; choose another"
                " name"
            )
        with replacing(out) as file:
            result = fill(file)
            file.flush()
            if out.exists() and not replace and not filecmp.cmp(file.name, out, shallow=False):
                raise StateError(
                    f"{out}: another file lies there; choose another name, or use --replace"
                )
        return result
    except OSError as error:
        raise explain(error, out) from error


@contextmanager
def part_of(path: Path, *, is_folder: bool = False) -> Iterator[Path]:
    """Give the hidden name beside `path` under which it is written until it is whole; whoever
    writes renames it then.

    What has that name at the end is removed, and so is what processes that were killed left in the
    folder. Raise OSError. While it is written it is locked, which tells that its process lives. Two
    that write the same one wait for each other.
    """
    _remove_parts_once(path.parent)
    part = _part(path)
    descriptor = _create_locked(part, is_folder=is_folder)
    try:
        yield part
    finally:
        # another thread may have begun the next since this one was renamed
        if _is_at(part, descriptor):
            _remove(part)
        os.close(descriptor)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def remove_folder(path: Path) -> None:
    """Remove a folder, which is there as a whole or not at all, also if the process is killed
    meanwhile. Raise OSError."""
    _remove_parts_once(path.parent)
    part = path.rename(_part(path))
    shutil.rmtree(part, ignore_errors=True)  # what is left goes with the parts of killed processes


@contextmanager
def temporary_folder(purpose: str, above: Path | None = None) -> Iterator[Path]:
    """Give a folder that nobody else may open, and remove it when the block ends. What processes
    that were killed left of such folders is removed before. Raise OSError.

    As long as it is used it is locked. purpose: a word of its name. above: by default the system's
    folder for such.
    """
    above = above or Path(gettempdir())
    _remove_folders_once(above)
    folder = above / f"perturbdesk-{purpose}-{uuid4().hex[:12]}"
    descriptor = _create_locked(folder, is_folder=True, mode=0o700)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(descriptor)


@lru_cache(maxsize=100)
def _remove_folders_once(above: Path) -> None:
    """Remove this user's temporary folders that no process holds."""
    with suppress(OSError):
        for entry in os.scandir(above):
            if (
                _TEMPORARY.fullmatch(entry.name)
                and entry.stat(follow_symlinks=False).st_uid == os.getuid()
            ):
                _remove_unlocked(Path(entry.path))


def _create_locked(part: Path, *, is_folder: bool, mode: int = 0o777) -> int:
    """Make a part, and locks it; return what is to be closed. One that was removed meanwhile is
    made again."""
    while True:
        if is_folder:
            part.mkdir(mode, parents=True, exist_ok=True)
        descriptor = os.open(part, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT, 0o666)
        with suppress(OSError):  # of a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(part, descriptor):
            return descriptor
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether what was opened still lies at a path. Whoever holds its lock may then remove
    it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def remove_parts(folder: Path) -> list[Path]:
    """Remove what processes that were killed had begun to write in a folder, and return it; what a
    living process writes stays, since that process holds a lock on it."""
    with suppress(OSError):
        parts = [Path(entry.path) for entry in os.scandir(folder) if _PART.fullmatch(entry.name)]
        return [part for part in parts if _remove_unlocked(part)]
    return []


@lru_cache(maxsize=1_000)
def _remove_parts_once(folder: Path) -> None:
    remove_parts(folder)


def _remove_unlocked(part: Path) -> bool:
    """Remove a part, unless a process holds a lock on it; return whether it is gone."""
    try:
        descriptor = os.open(part, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(part, descriptor):
            _remove(part)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return not part.exists()


def _remove(part: Path) -> None:
    with suppress(OSError):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, as `fsync` of a file does not."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
