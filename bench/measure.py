"""Time and memory of a piece of work, measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any


def alone(work: Callable[..., Any], *args: Any) -> tuple[Any, float, float]:
    """(what `work` returned, its seconds, the peak memory of its process in MB), in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work, args).result()


def _measured(work: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, float, float]:
    start = time.perf_counter()
    result = work(*args)
    return result, time.perf_counter() - start, _peak_mb()


def _peak_mb() -> float:
    """Linux keeps a parent's peak in ru_maxrss across exec, but not in VmHWM."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def median_s(work: Callable[[], object], repeats: int) -> float:
    """The median seconds of `work` after one run that does not count."""
    work()
    return median(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
