"""How large a file may become when it is read: against its own size, and in memory."""

from __future__ import annotations

import resource
from pathlib import Path

from core.base.errors import InputError, UnsafeFile

MAX_UNPACKED_BYTES = 1 << 30
# of unpacked to packed bytes, for files that unpack to more than UNSUSPICIOUS_BYTES
MAX_RATIO = 200
UNSUSPICIOUS_BYTES = 1 << 26
_MEMORY = Path("/proc/meminfo")


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


def refuse_beyond_memory(where: str, needed: int) -> None:
    """Raise InputError for what needs more memory than this process may take, where the system says
    how much that is."""
    most = memory_for_reading()
    if most is not None and needed > most:
        raise InputError(
            f"{where}: needs about {needed / 1e6:,.0f} MB of memory, and {most / 1e6:,.0f} MB may"
            " be used for it"
        )


def memory_for_reading() -> int | None:
    """Return how many bytes one file may take in memory: half of what is free, or of this process's
    own limit. None where neither is known."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    known = [
        limit
        for limit in (*limits, free_memory())
        if limit is not None and limit != resource.RLIM_INFINITY
    ]
    return min(known) // 2 if known else None


def free_memory() -> int | None:
    """Return how many bytes of memory are free for programs; None where the system does not say."""
    try:
        lines = _MEMORY.read_text().splitlines()
    except OSError:
        return None
    found = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return None if found is None else 1024 * int(found)
