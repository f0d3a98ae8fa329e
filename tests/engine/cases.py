"""Workspaces and runs that several tests of this room use."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from core.actions import folders, journals, wishes
from core.actions.desk import Desk, open_desk
from core.actions.imports import Options, import_upload
from core.config import Settings
from core.engine.spec import How, RunSpec
from core.engine.states import Status, status_of
from core.methods.base import Method
from core.store.runs import Run
from tests.cases import as_csv

PERTS = 10  # of the labelled rows, which are PERTS² in number
WAIT_S = 60.0


def desk_with(folder: Path, rows: int) -> Desk:
    """A workspace with 100 labelled rows, and as many unlabelled ones as told."""
    desk = open_desk(Settings(workspace=folder, author="tester"))
    labels = ("up", "down", "none", "none")
    train = [(f"Pa{p}_Ga{g}", f"Pa{p}", f"Ga{g}", labels[g % 4]) for p in range(PERTS) for g in range(PERTS)]
    test = [(f"Qb{i % 7}_Hb{i}", f"Qb{i % 7}", f"Hb{i}") for i in range(rows)]
    for name, content in (
        ("train.csv", as_csv(["id", "pert", "gene", "label"], train)),
        ("test.csv", as_csv(["id", "pert", "gene"], test)),
    ):
        assert import_upload(desk, content, name, Options()).kind != "failed"
    return desk


def wish(desk: Desk, method: Method, rows: str = "split=test", **more: Any) -> RunSpec:
    """A run's specification on the workspace's only dataset."""
    return wishes.specify(desk, wishes.Wish("bmdm", method, {}, rows, **more))


def fast(url: str = "", **more: Any) -> How:
    """A server at `url` that is given up on soon."""
    quick: dict[str, Any] = {"retries": 2, "backoff_s": 0.01, "longest_backoff_s": 0.05, "timeout_s": 0.5}
    return How(url, **{**quick, **more})


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)


def status(desk: Desk, run: Run) -> Status:
    return status_of(folders.folder_of(desk, run.id))


def until_state(desk: Desk, run: Run, *wanted: str) -> Status:
    until(lambda: status(desk, run).state in wanted, f"{wanted}; {journals.log_tail(desk, run.id)}")
    return status(desk, run)


def stored_rows(desk: Desk, run: str) -> pd.DataFrame:
    """Every row of the run with this id as the store has it, failures among them, in file order."""
    with desk.store.read() as db:
        return db.execute(
            """SELECT q.* FROM prediction q JOIN run r ON r.id = q.run
               JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id WHERE q.run = ? ORDER BY p.position""",
            [run],
        ).df()


def end_worker(desk: Desk, run: Run) -> None:
    """End a worker that a failed test may have left."""
    pid = status(desk, run).pid
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
