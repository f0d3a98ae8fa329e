"""A job for tests: `python -m tests.runs.jobs.worker FOLDER STEPS` writes one line a step into steps.txt, and goes on where it was."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from core.runs.jobs.folder import JobFolder
from core.runs.jobs.state import status_of
from core.runs.jobs.work import start, work_on

STEP_S = 0.05
WAIT_S = 60.0


def main(path: str, steps: str) -> None:
    folder = JobFolder(Path(path))
    with work_on(folder) as reporter:
        for step in range(len(read_steps(folder)), int(steps)):
            time.sleep(STEP_S)
            with (folder.path / "steps.txt").open("a") as out:
                out.write(f"{step} {os.getpid()}\n")
            reporter.report(step / int(steps), f"step {step}")
            print(f"step {step} is made", flush=True)


def begin(folder: JobFolder, steps: int) -> int:
    """Starts the job, or goes on with it."""
    folder.path.mkdir(parents=True, exist_ok=True)
    return start(
        folder,
        (sys.executable, "-m", "tests.runs.jobs.worker", str(folder.path), str(steps)),
        dict(os.environ),
    )


def read_steps(folder: JobFolder) -> list[list[str]]:
    """Number and process of each step that was made."""
    file = folder.path / "steps.txt"
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def ending(folder: JobFolder) -> tuple[str, str]:
    """State and cause."""
    status = status_of(folder)
    return status.state, status.cause


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
