"""Long texts are read in a thread, one at a time, so that what else goes on has its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

_SHORT = 1 << 16  # characters that are read in no time


async def read_aside(read: Callable[[str], T], text: str) -> T:
    """Return what a function makes of a text; a long one is read in the thread."""
    if len(text) <= _SHORT:
        return read(text)
    return await asyncio.get_running_loop().run_in_executor(_reader(), read, text)


@lru_cache(maxsize=1)
def _reader() -> ThreadPoolExecutor:
    """One thread: several that parse at a time would keep Python to themselves for as long as all of them take."""
    return ThreadPoolExecutor(1, "long texts")
