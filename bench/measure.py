"""Time and memory of a piece of work, or of a command, measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from core.base.config import REPOSITORY


class Measured(NamedTuple):
    """What a piece of work returned, its seconds, those of the processor in all of its threads, and its process's peak memory.

    cpu_s: those of processes that it started and waited for, too. child_peak_mb: of the largest of these, 0 without any; at
    least what this process held when it started it, which Linux counts as the child's.
    """

    result: Any
    wall_s: float
    cpu_s: float
    peak_mb: float
    child_peak_mb: float = 0.0


def measure_alone(work: Callable[..., Any], *args: Any) -> Measured:
    """Do a piece of work in a fresh process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work, args).result()


def alone(work: Callable[..., Any], *args: Any) -> tuple[Any, float, float]:
    """(what `work` returned, its seconds, the peak memory of its process in MB), in a fresh process."""
    found = measure_alone(work, *args)
    return found.result, found.wall_s, found.peak_mb


def measure_command(command: Sequence[str]) -> Measured:
    """Run a command; its result is what it printed. Raises CalledProcessError if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return Measured(
        printed,
        time.perf_counter() - start,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def _measured(work: Callable[..., Any], args: tuple[Any, ...]) -> Measured:
    start, start_cpu = time.perf_counter(), _processor_s()
    result = work(*args)
    return Measured(
        result,
        time.perf_counter() - start,
        _processor_s() - start_cpu,
        _peak_mb(),
        _child_peak_mb(),
    )


def _processor_s() -> float:
    """Processor seconds of this process, and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _peak_mb() -> float:
    """Linux keeps a parent's peak in ru_maxrss across exec, but not in VmHWM."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _child_peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def median_s(work: Callable[[], object], repeats: int) -> float:
    """The median seconds of `work` after one run that does not count."""
    work()
    return median(_seconds(work) for _ in range(repeats))


def median_times(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The median seconds of `work` after one run that does not count, and the median of the processor's seconds."""
    work()
    times = [times_once(work) for _ in range(repeats)]
    return median(wall for wall, _ in times), median(cpu for _, cpu in times)


def times_once(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds of `work` and those of the processor, the first time."""
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - start_cpu


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
