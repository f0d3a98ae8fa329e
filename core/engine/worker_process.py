"""Starts a worker in a process of its own, which outlives the one that started it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.config import Settings
from core.engine.run_folder import RunFolder
from core.environment import environment_of
from core.jobs.start import FIRST_HEARTBEAT_S, command_line
from core.jobs.start import start as start_process
from core.memory import SMALL_MEMORY

# A worker writes small batches, for hours: it need not keep them in memory.
WORKER_STORE_MB = 128


def command_of(settings: Settings, run: str) -> tuple[str, ...]:
    """Returns the command line of a run's worker, which holds no secret."""
    return command_line(settings, "worker", run)


def start(
    folder: RunFolder,
    settings: Settings,
    command: Sequence[str] = (),
    within_s: float = FIRST_HEARTBEAT_S,
    keep: Sequence[str] = (),
) -> int:
    """Starts a run's worker in a session of its own, as `core.jobs.start` does; returns its process id.

    settings: with the keys that it needs, which go into its environment only. command: by default that of `command_of`. keep:
    further secrets of the environment that it needs.
    """
    command = command or command_of(settings, folder.run)
    environment = environment_of(replace(settings, store_memory_mb=WORKER_STORE_MB), keep) | SMALL_MEMORY
    return start_process(folder, command, environment, within_s, "run")
