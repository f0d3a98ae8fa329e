"""A run whose worker was killed, for the tests of all that reads states."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path

from core.runs import run_control
from core.runs.journal import read_progress
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests import worlds
from tests.runs.cases import end_worker, fast, run_named, status, until, wish, workspace_with
from tests.runs.methods import Counting, apart


def killed_run(folder: Path) -> tuple[Workspace, Run]:
    """A run "r" of 40 rows whose worker was killed when four or more were finished, none of which the store has: it says
    "running". One worker is killed; each workspace is a copy of its own."""
    workspace = worlds.copied(_killed_once(), worlds.workspace_in(folder))
    run = run_named(workspace, "r")
    assert status(workspace, run).state == "crashed"
    assert (run.status, run.done) == ("running", 0)
    return workspace, run


@cache
def _killed_once() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="perturbdesk-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    workspace = workspace_with(folder, 40)
    begin = partial(apart, sleep_s=0.1, ingest_every_s=60.0)
    run = run_control.start(
        workspace, wish(workspace, Counting()), "r", fast(rows_in_flight=4), begin=begin
    )
    try:
        until(
            lambda: len(read_progress(workspace.run_folder(run.id).rows).finished) >= 4,
            "the first rows",
        )
    finally:
        end_worker(workspace, run)
    until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
    until(
        lambda: "was killed by SIGKILL" in status(workspace, run).cause,
        "its log to say so, a moment later",
    )
    return folder
