"""Starts a command in a process of its own, which outlives the one that started it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from core.actions.workspace import Workspace
from core.config import REPOSITORY, environment_of


def start_command(workspace: Workspace, arguments: Sequence[str], log: Path) -> int:
    """Starts `python -m core` with these arguments on the workspace; what it prints is added to `log`. Returns its process id."""
    command = (sys.executable, "-m", "core", "--progress", "--workspace", str(workspace.settings.workspace), *arguments)
    with log.open("ab") as opened:
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment_of(workspace.settings),
            stdin=subprocess.DEVNULL,
            stdout=opened,
            stderr=opened,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # so that no zombie is left
    return process.pid
