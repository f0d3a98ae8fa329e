"""How a process keeps its memory small: what it has freed goes back to the system instead of to a
pool of its own."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

# For another process: Arrow's own pool keeps what it has freed, and glibc what each thread has.
SMALL_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1  # of mallopt
# glibc otherwise raises the size from which a piece is the system's own, up to 32 MB
_LARGE_BYTES = 8 << 20
# freed at the end of the heap and kept: without them the blocks of a bootstrap take three times as
# long
_SPARE_BYTES = 32 << 20


def keep_memory_small() -> None:
    """Do the same for this process, before it imports Arrow; nothing where the C library is not
    glibc."""
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
