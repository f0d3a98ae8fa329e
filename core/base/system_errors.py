"""What the operating system refused, in one line with what to do: the only place where its errors
are put into words."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.base.errors import DiskFull, SystemFailure

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_PERMISSION = ("permission denied", "ask its owner, or choose another place")
_NO_FOLDER = ("a file lies where a folder is expected", "move it away, or choose another place")
_FILES_OPEN = ("too many files are open", "end other programs, or raise the limit (ulimit -n)")
# Number of the error → what it means, and what a person can do.
_WORDS = {
    errno.EROFS: ("the file system is read-only", "choose another place, or mount it for writing"),
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.ENOENT: ("no such file or folder", "check the path"),
    errno.ENOTDIR: _NO_FOLDER,
    errno.EEXIST: _NO_FOLDER,  # what making a folder raises; files are written instead of others
    errno.EISDIR: (
        "a folder lies where a file is expected",
        "move it away, or choose another place",
    ),
    errno.ELOOP: (
        "a link that leads back to itself",
        "remove the link, or name what it should lead to",
    ),
    errno.ENAMETOOLONG: ("the name is longer than the file system allows", "choose a shorter one"),
    errno.EMFILE: _FILES_OPEN,
    errno.ENFILE: _FILES_OPEN,
    errno.EFBIG: (
        "a limit on the size of a file is reached",
        "raise it (ulimit -f), or choose a place that takes larger files",
    ),
    errno.EIO: (
        "the disk reports an input/output error",
        "copy what can still be read elsewhere, and check the disk",
    ),
    errno.EPIPE: ("nobody reads it any more", "start the command again"),
}
# What libraries say of a full disk, whose own errors carry no number.
_SAYS_NO_SPACE = ("No space left on device", "Disk quota exceeded", "database or disk is full")
_SAYS_READ_ONLY = ("Read-only file system", "attempt to write a readonly database")
_SAYS_TOO_LARGE = ("File too large",)
_SAYS_NO_ACCESS = ("unable to open database file", "Permission denied")


def explain(error: OSError | MemoryError, place: Path | str = "") -> SystemFailure:
    """Return an error of the operating system in words. place: what was read or written, if the
    error does not say.

    A full disk is DiskFull, which says how much is free and where.
    """
    if isinstance(error, MemoryError):
        return SystemFailure("out of memory; end other programs, or work on less at once")
    where = str(place) or os.fsdecode(error.filename or "")
    if error.errno in _NO_SPACE:
        return _disk_full(where)
    what, to_do = _WORDS.get(
        error.errno or 0,
        (error.strerror or str(error) or type(error).__name__, "check the place and try again"),
    )
    return SystemFailure(f"{where}{': ' if where else ''}{what}; {to_do}")


@contextmanager
def in_words(place: Path | str = "") -> Iterator[None]:
    """Raise SystemFailure in words for what the system refuses in the block. place: as in
    `explain`."""
    try:
        yield
    except OSError as error:
        raise explain(error, error.filename or place) from error


def explain_text(text: object, place: Path) -> SystemFailure | None:
    """Return the error of the operating system that a library's message tells of; None if it tells
    of none that is known."""
    for signs, number in (
        (_SAYS_NO_SPACE, errno.ENOSPC),
        (_SAYS_READ_ONLY, errno.EROFS),
        (_SAYS_TOO_LARGE, errno.EFBIG),
        (_SAYS_NO_ACCESS, errno.EACCES),
    ):
        if any(sign in str(text) for sign in signs):
            return explain(OSError(number, ""), place)
    return None


def existing_folder(path: Path) -> Path:
    """Return the folder, or the nearest one above that exists."""
    return next((place for place in (path, *path.parents) if os.path.isdir(place)), Path("/"))


def _disk_full(where: str) -> DiskFull:
    if not where:  # such as standard output
        return DiskFull("no space left where the output is written; free some space and try again")
    folder = existing_folder(Path(where).absolute())
    try:
        free = f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB are free in {folder}"
    except OSError:
        free = f"in {folder}"
    return DiskFull(f"{where}: no space left on the disk ({free}); free some space and try again")
