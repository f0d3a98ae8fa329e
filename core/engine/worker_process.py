"""Start a worker that outlives who started it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from core.config import REPOSITORY, Settings, environment_of
from core.engine.journal import RunFolder, log_tail
from core.engine.run_state import last_heartbeat
from core.errors import StateError

FIRST_BEAT_S = 60.0
WORKER_STORE_MB = 128  # a worker writes small batches, for hours: it shall not keep what it wrote
_LOOK_S = 0.05


def command_of(settings: Settings, run: str) -> tuple[str, ...]:
    """The command line of a run's worker; it holds no secret."""
    return (sys.executable, "-m", "core", "--workspace", str(settings.workspace), "worker", run)


def start(
    folder: RunFolder, settings: Settings, api_key: str = "", command: Sequence[str] = (), within_s: float = FIRST_BEAT_S
) -> int:
    """Start a run's worker in a session of its own and wait for its first beat; its process id.

    The key goes into the worker's environment, nowhere else. command: by default that of `command_of`. Raises StateError
    where the worker ends, or does not beat in time, with the last lines it said.
    """
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            command or command_of(settings, folder.run),
            cwd=REPOSITORY,
            env=environment_of(replace(settings, api_key=api_key or settings.api_key, store_memory_mb=WORKER_STORE_MB)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # nothing is left of it when it has ended
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        ended = process.poll() is not None  # looked at before the beat, since a short run may be over by now
        if _beats(folder) == process.pid:
            return process.pid
        if ended:
            said = " / ".join(log_tail(folder, 3)) or "nothing"
            raise StateError(
                f"run {folder.run}: its worker ended with status {process.returncode} before its first beat, it said: {said}"
            )
        time.sleep(_LOOK_S)
    process.terminate()
    raise StateError(f"run {folder.run}: its worker did not begin within {within_s:g} s; see {folder.log}")


def _beats(folder: RunFolder) -> int | None:
    """Who beat last."""
    return (last_heartbeat(folder) or {}).get("pid")
