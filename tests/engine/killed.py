"""A run whose worker was killed, for the tests of all that reads states."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from core.actions import run_control
from core.actions.workspace import Workspace
from core.engine.journal import read_progress
from core.store.runs import Run
from tests.engine.cases import end_worker, fast, recorded, status, until, wish, workspace_with
from tests.engine.methods import Counting, apart


def killed_run(folder: Path) -> tuple[Workspace, Run]:
    """A run "r" of 40 rows whose worker was killed when four or more were finished, none of which the store has: it says
    "running"."""
    workspace = workspace_with(folder, 40)
    begin = partial(apart, sleep_s=0.1, ingest_every_s=60.0)
    run = run_control.start(workspace, wish(workspace, Counting()), "r", fast(rows_in_flight=4), begin=begin)
    try:
        until(lambda: len(read_progress(workspace.run_folder(run.id).rows).finished) >= 4, "the first rows")
    finally:
        end_worker(workspace, run)
    until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
    assert (recorded(workspace, run).status, recorded(workspace, run).done) == ("running", 0)
    return workspace, run
