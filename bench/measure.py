"""Time and memory of a piece of work, measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple


class Measured(NamedTuple):
    """What a piece of work returned, its seconds, those of the processor in all of its threads, and its process's peak memory."""

    result: Any
    wall_s: float
    cpu_s: float
    peak_mb: float


def measure_alone(work: Callable[..., Any], *args: Any) -> Measured:
    """Do a piece of work in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work, args).result()


def alone(work: Callable[..., Any], *args: Any) -> tuple[Any, float, float]:
    """(what `work` returned, its seconds, the peak memory of its process in MB), in a fresh process."""
    found = measure_alone(work, *args)
    return found.result, found.wall_s, found.peak_mb


def _measured(work: Callable[..., Any], args: tuple[Any, ...]) -> Measured:
    start, start_cpu = time.perf_counter(), time.process_time()
    result = work(*args)
    return Measured(result, time.perf_counter() - start, time.process_time() - start_cpu, _peak_mb())


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


def median_times(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The median seconds of `work` after one run that does not count, and the median of the processor's seconds."""
    work()
    times = [_times(work) for _ in range(repeats)]
    return median(wall for wall, _ in times), median(cpu for _, cpu in times)


def _times(work: Callable[[], object]) -> tuple[float, float]:
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - start_cpu


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
