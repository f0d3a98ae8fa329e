"""The challenge's own rows, recognised by their ids in whatever file, part or order they come.

challenge_ids.bin holds the CRC-32 of each id of the pinned train.csv and test.csv, sorted, as 4
bytes with the least first: one other id in half a million is taken for one of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

NAME: Final = "bmdm"
ORGANISM: Final = "mouse"
CONTEXT: Final = "bone-marrow-derived macrophages"
_FILE: Final = Path(__file__).with_name("challenge_ids.bin")


def checksums(ids: Collection[str]) -> NDArray[np.uint32]:
    """Return the CRC-32 of each id, of shape (n ids,)."""
    return np.fromiter((zlib.crc32(key.encode()) for key in ids), dtype=np.uint32, count=len(ids))


@cache
def checksums_of_challenge() -> NDArray[np.uint32]:
    """Return the CRC-32 of the challenge's ids, sorted."""
    return np.fromfile(_FILE, dtype="<u4")


def are_mostly_challenge(ids: Collection[str]) -> bool:
    """Return whether more than half of these ids are the challenge's."""
    expected = checksums_of_challenge()
    if not 0 < len(ids) < 2 * len(expected):
        return False
    return bool(2 * np.isin(checksums(ids), expected).sum() > len(ids))
