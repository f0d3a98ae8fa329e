"""The processes of jobs, counted as they are started: for the tests of buttons that start one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from core.features.finetune import actions as finetunes
from core.runs.jobs import work
from tests.runs.jobs.worker import STEP_S, WAIT_S

RUN_COMMANDS = (
    "run",
    "reading",
)  # kinds whose process says more of itself than `tests.runs.jobs.worker` does: their own are started
_STEPS = str(int(WAIT_S / STEP_S))


@contextmanager
def counted(patch: pytest.MonkeyPatch, kind: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that are started for jobs of a kind meanwhile; killed at the end.

    Each works for a minute in the job's folder, unless it is killed: what it does is the kind's own for runs, and else that of
    `tests.runs.jobs.worker`.
    """
    found = []
    make_process = subprocess.Popen

    def begin(command: Sequence[str], *, stdout: IO[bytes], **how: Any) -> subprocess.Popen[bytes]:
        if kind not in RUN_COMMANDS:
            command = (
                sys.executable,
                "-m",
                "tests.runs.jobs.worker",
                str(Path(stdout.name).parent),
                _STEPS,
            )
        found.append(make_process(command, stdout=stdout, **how))
        return found[-1]

    patch.setattr(work.subprocess, "Popen", begin)
    patch.setattr(finetunes, "refuse_missing_packages", lambda _: None)
    try:
        yield found
    finally:
        for process in found:
            process.kill()
            process.wait()
