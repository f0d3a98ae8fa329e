"""Workspaces and runs that several tests of this room use."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.methods.base import Method
from core.runs import launch, run_control
from core.runs.jobs.folder import log_tail
from core.runs.journal import read_progress
from core.runs.request import RunRequest
from core.runs.run_state import Status, status_of
from core.runs.spec import ExecutionSettings, LabelViewSpec, RunSpec
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from tests import worlds
from tests.cases import as_csv
from tests.runs.methods import Counting, here

PERTS = 10  # of the labelled rows, which are PERTS² in number
WAIT_S = 60.0


def workspace_with(folder: Path, rows: int) -> Workspace:
    """A workspace with 100 labelled rows, and as many unlabelled ones as told."""
    return worlds.copied(_template_with(rows), worlds.workspace_in(folder))


@cache
def _template_with(rows: int) -> Path:
    folder = tempfile.mkdtemp(prefix="perturbdesk-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return worlds.template(Path(folder), lambda workspace: _fill(workspace, rows))


def _fill(workspace: Workspace, rows: int) -> None:
    labels = ("up", "down", "none", "none")
    train = [
        (f"Pa{p}_Ga{g}", f"Pa{p}", f"Ga{g}", labels[g % 4])
        for p in range(PERTS)
        for g in range(PERTS)
    ]
    test = [(f"Qb{i % 7}_Hb{i}", f"Qb{i % 7}", f"Hb{i}") for i in range(rows)]
    for name, content in (
        ("train.csv", as_csv(["id", "pert", "gene", "label"], train)),
        ("test.csv", as_csv(["id", "pert", "gene"], test)),
    ):
        assert import_upload(workspace, content, name, ImportOptions()).kind != "failed"


def wish(workspace: Workspace, method: Method, rows: str = "split=test", **more: Any) -> RunSpec:
    """A run's specification on the workspace's only dataset."""
    more = {"labels": LabelViewSpec(), **more}
    return launch.resolve(
        workspace, RunRequest(method.name, "bmdm", rows=rows, **more), method=lambda _: method
    )


def fast(url: str = "", **more: Any) -> ExecutionSettings:
    """A server at `url` that is asked again soon; its answers may take as long as they do on a busy machine."""
    quick = {
        "retries": 2,
        "backoff_s": 0.01,
        "longest_backoff_s": 0.05,
        "timeout_s": WAIT_S,
    }
    return ExecutionSettings(url, **{**quick, **more})


def run_here(
    workspace: Workspace, method: Method, how: ExecutionSettings | None = None, **more: Any
) -> Run:
    """Make a run "r" of a method on the unlabelled rows, in this process."""
    spec = wish(workspace, method, **more)
    return run_control.start(workspace, spec, "r", how or fast(), begin=here(method))


def waiting_run(workspace: Workspace) -> Run:
    """A run "r" that nobody works on yet."""
    spec = wish(workspace, Counting())
    return run_control.start(workspace, spec, "r", fast(), begin=lambda *_: None)


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def status(workspace: Workspace, run: Run) -> Status:
    return status_of(workspace.run_folder(run.id))


def run_named(workspace: Workspace, name: str) -> Run:
    """The run of a name or id as the store has it."""
    with workspace.store.read() as db:
        return runs.find(db, name)


def recorded(workspace: Workspace, run: Run) -> Run:
    """The run as the store has it now."""
    return run_named(workspace, run.id)


def finished(workspace: Workspace, run: Run) -> int:
    """How many rows its journal has."""
    return len(read_progress(workspace.run_folder(run.id).rows).finished)


def until_state(workspace: Workspace, run: Run, *wanted: str) -> Status:
    until(
        lambda: status(workspace, run).state in wanted,
        f"{wanted}; {log_tail(workspace.run_folder(run.id))}",
    )
    return status(workspace, run)


def stored_rows(workspace: Workspace, run: str) -> pd.DataFrame:
    """Every row of the run with this id as the store has it, failures among them, in file order."""
    with workspace.store.read() as db:
        return db.execute(
            """SELECT q.* FROM prediction q JOIN run r ON r.id = q.run
               JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id WHERE q.run = ? ORDER BY p.position""",
            [run],
        ).df()


def assert_whole(workspace: Workspace, run: Run, rows: int, failed: int = 0) -> Status:
    """Every row is finished, and is once in the journal and once in the store."""
    now = status(workspace, run)
    counts = (now.state, now.counts.done, now.counts.failed)
    assert counts == ("done", rows - failed, failed), log_tail(workspace.run_folder(run.id), 100)
    assert read_progress(workspace.run_folder(run.id).rows).repeated == 0
    stored = stored_rows(workspace, run.id)
    assert len(stored) == stored["pair_id"].nunique() == rows
    return now


def end_worker(workspace: Workspace, run: Run) -> None:
    """End a worker that a failed test may have left."""
    pid = status(workspace, run).pid
    if pid is not None:
        os.kill(pid, signal.SIGKILL)


def keyed(workspace: Workspace, url: str, key: str) -> Workspace:
    """The workspace of somebody whose key belongs to this model server."""
    return Workspace(replace(workspace.settings, endpoint=url, api_key=key))
