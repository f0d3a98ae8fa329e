"""Starts a worker in a process of its own, which outlives the one that started it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from core.config import REPOSITORY, Settings
from core.engine.run_folder import RunFolder, log_tail
from core.engine.run_state import last_heartbeat
from core.environment import environment_of
from core.errors import StateError

FIRST_HEARTBEAT_S = 60.0
# A worker writes small batches, for hours: it need not keep them in memory, nor what Arrow and its threads needed for them, which
# Arrow's own pool and glibc keep.
WORKER_STORE_MB = 128
_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
_POLL_S = 0.05


def command_of(settings: Settings, run: str) -> tuple[str, ...]:
    """Returns the command line of a run's worker, which holds no secret."""
    return (sys.executable, "-m", "core", "--workspace", str(settings.workspace), "worker", run)


def start(
    folder: RunFolder,
    settings: Settings,
    command: Sequence[str] = (),
    within_s: float = FIRST_HEARTBEAT_S,
    keep: Sequence[str] = (),
) -> int:
    """Starts a run's worker in a session of its own and waits for its first heartbeat; returns its process id.

    settings: with the keys that it needs, which go into its environment only. command: by default that of `command_of`. keep:
    further secrets of the environment that it needs. Raises StateError, with the last lines of its log, if the worker ends before
    its first heartbeat or writes none within `within_s`.
    """
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            command or command_of(settings, folder.run),
            cwd=REPOSITORY,
            env=environment_of(replace(settings, store_memory_mb=WORKER_STORE_MB), keep) | _MEMORY,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # so that no zombie is left
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        ended = process.poll() is not None  # asked before the heartbeat, since a short run may be over by now
        if (last_heartbeat(folder) or {}).get("pid") == process.pid:
            return process.pid
        if ended:
            last_lines = " / ".join(log_tail(folder, 3)) or "nothing"
            raise StateError(
                f"run {folder.run}: its worker ended with status {process.returncode} before its first heartbeat; "
                f"its log says: {last_lines}"
            )
        time.sleep(_POLL_S)
    process.terminate()
    raise StateError(f"run {folder.run}: its worker did not begin within {within_s:g} s; see {folder.log}")
