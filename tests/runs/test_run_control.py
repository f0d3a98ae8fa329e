"""Runs that a worker makes: names, states, what is refused, and what is recorded of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.base.errors import StateError
from core.base.types import Failed
from core.runs import run_control
from core.runs.jobs import overview
from core.runs.jobs.folder import log_tail
from core.runs.journal import Journal, read_progress
from core.runs.workspace import Workspace
from core.store import changes, runs
from tests.runs.cases import fast, run_here, status, waiting_run, wish, workspace_with
from tests.runs.methods import Counting, here

pytestmark = pytest.mark.soak


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "workspace", 8)


def nobody(*_: Any) -> None:
    """Begins nothing: what a run looks like before its worker."""


def test_the_same_run_is_returned_and_another_of_its_name_refused(workspace: Workspace) -> None:
    method = Counting()
    first = run_here(workspace, method)
    again = run_here(workspace, method, fast(rows_in_flight=3))
    assert again == first
    assert len(method.asked) == 8
    other = wish(workspace, method, seed=1)
    with pytest.raises(StateError, match="exists with another specification"):
        run_control.start(workspace, other, "r", fast(), begin=here(method))
    replaced = run_control.start(workspace, other, "r", fast(), replace=True, begin=here(method))
    assert replaced.id != first.id
    assert not workspace.run_folder(first.id).exists
    with workspace.store.read() as db:
        assert [run.id for run in runs.list_all(db)] == [replaced.id]
        assert db.execute("SELECT DISTINCT run FROM prediction").fetchall() == [(replaced.id,)]


def test_a_run_is_known_by_its_specification_whatever_it_is_called(workspace: Workspace) -> None:
    spec = wish(workspace, Counting())
    one = run_control.start(workspace, spec, "one", fast(), begin=nobody)
    two = run_control.start(workspace, spec, "two", fast("http://127.0.0.1:1/v1"), begin=nobody)
    assert one.id == spec.key
    assert two == one
    assert workspace.run_folder(one.id).spec() == spec
    assert one.spec["rows"] == 8


def test_a_run_that_nobody_works_on_yet(workspace: Workspace) -> None:
    run = waiting_run(workspace)
    assert (run.status, run.origin, status(workspace, run).state) == (
        "waiting",
        "run here",
        "waiting",
    )
    assert run_control.settle(workspace, "r").status == "waiting"
    with pytest.raises(StateError, match="it is waiting, expected a run that is running"):
        run_control.pause(workspace, "r")
    with pytest.raises(StateError, match="its worker is starting"):
        run_control.retry(workspace, "r", begin=nobody)
    cancelled = run_control.cancel(workspace, "r")
    assert (cancelled.status, cancelled.cause) == ("cancelled", "a person cancelled it")
    method = Counting()
    assert run_control.resume(workspace, "r", begin=here(method)).status == "done"
    assert len(method.asked) == 8
    with workspace.store.read() as db:
        assert changes.latest(db)["action"].tolist()[:3] == ["resume", "cancel", "run"]


def test_what_a_crashed_worker_left_is_folded_and_its_state_recorded(workspace: Workspace) -> None:
    spec = wish(workspace, Counting())
    run = run_control.start(workspace, spec, "r", fast(), begin=nobody)
    with Journal(workspace.run_folder(run.id)) as journal:
        journal.append([Failed(spec.rows[0], "Unreadable", "no letter")])
    assert run_control.states(workspace)[run.id].state == "crashed"
    [settled] = overview.settle_ended(workspace)
    assert (settled.status, settled.failed, settled.done) == ("crashed", 1, 0)
    assert overview.settle_ended(workspace) == []
    method = Counting()
    after = run_control.resume(workspace, "r", begin=here(method))
    assert (after.done, after.failed, len(method.asked)) == (7, 1, 7)
    assert read_progress(workspace.run_folder(run.id).rows).done == 7
    assert any("ended: done" in line for line in log_tail(workspace.run_folder(run.id), 50))


def test_a_run_that_the_store_lost_is_taken_over_with_its_rows(workspace: Workspace) -> None:
    method = Counting()
    run = run_here(workspace, method)
    with workspace.store.write() as db:
        runs.delete(db, run.id)
    again = run_here(workspace, method)
    assert (again.id, again.done, len(method.asked)) == (run.id, 8, 8)


def test_runs_of_other_origins_have_no_worker(small_workspace: Workspace) -> None:
    assert run_control.states(small_workspace) == {}
    for refused in (
        run_control.pause,
        run_control.cancel,
        run_control.resume,
        run_control.retry,
        run_control.settle,
    ):
        with pytest.raises(StateError, match="run debate: imported, not made by a worker"):
            refused(small_workspace, "debate")
