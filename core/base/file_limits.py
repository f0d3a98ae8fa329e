"""How large a file may become when it is read: against its own size, and in memory.

Formats that say themselves how much they unpack to (HDF5, Parquet, NumPy, PyTorch) are read by
their libraries inside of `limit_memory`: whatever a file declares, the process gets no more.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.base.errors import InputError, UnsafeFile

MAX_UNPACKED_BYTES = 1 << 30
# of unpacked to packed bytes, for files that unpack to more than UNSUSPICIOUS_BYTES
MAX_RATIO = 200
UNSUSPICIOUS_BYTES = 1 << 26
_MEMORY, _STATUS = Path("/proc/meminfo"), Path("/proc/self/status")

# For another process: Arrow's own pool keeps what it has freed, and glibc what each thread has.
SMALL_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1  # of mallopt
# glibc otherwise raises the size from which a piece is the system's own, up to 32 MB
_LARGE_BYTES = 8 << 20
# freed at the end of the heap and kept: without them the blocks of a bootstrap take three times as
# long
_SPARE_BYTES = 32 << 20


def refuse_bomb(
    where: str,
    packed: int,
    unpacked: int,
    most_bytes: int | None = None,
    unsuspicious: int = UNSUSPICIOUS_BYTES,
) -> None:
    """Raise UnsafeFile for what unpacks to more than `most_bytes`, or to much more than it is.

    unsuspicious: so many bytes are allowed whatever they are packed to.
    """
    allowed = max(MAX_RATIO * packed, unsuspicious)
    most = allowed if most_bytes is None else min(most_bytes, allowed)
    if unpacked > most:
        raise UnsafeFile(
            f"{where}: {packed:,} bytes that unpack to {unpacked:,}, expected at most {most:,}"
        )


class _Readers:
    """The blocks of `limit_memory` that are being carried out, which share the first one's
    limit."""

    lock = threading.Lock()
    n = 0
    usual = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@contextmanager
def limit_memory(where: str) -> Iterator[None]:
    """Let this process take no more than `memory_for_reading` beyond what it has, while the block
    reads a file. Raise InputError if that is not enough.

    The system enforces it where it is Linux (RLIMIT_DATA); elsewhere a file may take all memory.
    """
    more, taken = memory_for_reading(), _kilobytes(_STATUS, "VmData:")
    with _Readers.lock:
        _Readers.n += 1
        if _Readers.n == 1:
            _Readers.usual = soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
            if more is not None and taken is not None:
                limits = [each for each in (soft, taken + more) if each != resource.RLIM_INFINITY]
                resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"{where}: needs more memory than one file may take"
            f"{'' if more is None else f' ({more / 1e6:,.0f} MB)'}, or is damaged"
        ) from error
    finally:
        with _Readers.lock:
            _Readers.n -= 1
            if not _Readers.n:
                resource.setrlimit(resource.RLIMIT_DATA, _Readers.usual)


def memory_for_reading() -> int | None:
    """Return how many bytes one file may take in memory: half of what is free, or of this process's
    own limit. None where neither is known."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    known = [
        limit
        for limit in (*limits, _kilobytes(_MEMORY, "MemAvailable:"))
        if limit is not None and limit != resource.RLIM_INFINITY
    ]
    return min(known) // 2 if known else None


def _kilobytes(path: Path, name: str) -> int | None:
    """Return a number of bytes that Linux tells in kilobytes; None where it is not there."""
    with suppress(OSError):
        lines = path.read_text().splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), None)
    return None


def keep_memory_small() -> None:
    """Let this process give freed memory back to the system, before it imports Arrow; nothing where
    the C library is not glibc."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_ARENA_MAX, 2)
        libc.mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, _SPARE_BYTES)


def give_memory_back() -> None:
    """Give back what glibc keeps in small pieces."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
