"""Two apps and a command write to one workspace for a minute, also beside a notebook: nothing is lost, nobody is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from core.base.config import REPOSITORY
from core.base.log import last_problems
from core.runs.workspace import Workspace, open_workspace
from core.store import datasets, notes, runs
from soak.conftest import Record
from tests import cases, commands
from tests.conftest import empty_store, small_template, small_workspace, workspace
from tests.ui.writing import APPS, COMMANDS, ROW, RUN, Written, write_at_once

__all__ = ["empty_store", "small_template", "small_workspace", "workspace"]  # fixtures

SECONDS = 60.0
LONGEST_S = 1.0  # of 95% of the writes of each process


def test_two_apps_and_a_command_lose_nothing_and_wait_little(
    small_workspace: Workspace, record: Record
) -> None:
    written = write_at_once(small_workspace.settings.workspace, SECONDS)
    slowest = {}
    for name, each in zip((*APPS, *COMMANDS), written, strict=True):
        slowest[name] = float(np.quantile(each.seconds, 0.95))
        record(
            **{
                f"{name} notes": len(each.notes),
                f"{name} p95 s": f"{slowest[name]:.3f}",
                f"{name} max s": f"{max(each.seconds):.3f}",
            }
        )
    assert_nothing_lost(small_workspace, written)
    assert max(slowest.values()) <= LONGEST_S


def assert_nothing_lost(workspace: Workspace, written: list[Written]) -> None:
    """Every note is there once, each writer wrote, and the log has no error."""
    with open_workspace(workspace.settings).store.read() as db:
        found = notes.of_row(db, runs.find(db, RUN).id, ROW)["text"].tolist()
    assert sorted(found) == sorted(text for each in written for text in each.notes)
    assert all(each.notes for each in written)
    assert last_problems(workspace.settings) == []


# Opens the store's file by itself for a third of a second, again and again, as cells of a notebook do.
NOTEBOOK = """
import duckdb, sys, time
file, read_only, times = sys.argv[1], sys.argv[2] == "reads", 0
while True:
    try:
        with duckdb.connect(file, read_only=read_only) as notebook:
            notebook.execute("SELECT count(*) FROM note" if read_only else "CREATE TABLE IF NOT EXISTS mine (x INT)")
            time.sleep(0.3)
        times += 1
        print(times, flush=True)
    except duckdb.IOException:
        pass  # an app has it now
    time.sleep(0.7)
"""


@contextmanager
def notebook(file: Path, does: str) -> Iterator[list[str]]:
    """A notebook beside us until the block ends; the lines that it printed."""
    process = subprocess.Popen(
        [sys.executable, "-c", NOTEBOOK, str(file), does], stdout=subprocess.PIPE, text=True
    )
    lines = []
    yield lines
    process.kill()
    lines += process.communicate()[0].split()


@pytest.mark.parametrize("does", ["reads", "writes"])
def test_a_notebook_that_opens_the_file_itself_costs_nobody_a_write(
    small_workspace: Workspace, tmp_path: Path, record: Record, does: str
) -> None:
    place = small_workspace.settings.workspace
    (tmp_path / "more.csv").write_bytes(
        cases.as_csv(["id", "pert", "gene"], [[f"P{i}_G", f"P{i}", "G"] for i in range(500)])
    )
    statuses = []

    def give_commands():
        for arguments in (
            ["import", str(tmp_path / "more.csv")],
            ["run", "evidence_rules", "--name", "beside", "--dataset", "bmdm"],
        ):
            command = [sys.executable, "-m", "core", "--workspace", str(place), *arguments]
            done = subprocess.run(
                command, cwd=REPOSITORY, env=os.environ, capture_output=True, check=False
            )
            statuses.append(done.returncode)

    thread = threading.Thread(target=give_commands)
    with notebook(small_workspace.settings.store_file, does) as opened:
        thread.start()
        written = write_at_once(place, SECONDS / 3)
        thread.join()
    assert statuses == [0, 0]
    assert opened
    record(notebook=does, opened=opened[-1], notes=sum(len(each.notes) for each in written))
    assert_nothing_lost(small_workspace, written)
    with open_workspace(small_workspace.settings).store.read() as db:
        assert datasets.find(db, "more").name == "more"
    states = {run["name"]: run["status"] for run in commands.core_json(place, "runs")["runs"]}
    assert states["beside"] == "done"
