"""Every reader of a run's state tells what its folder shows, whatever the store has."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import StoreBusy
from core.runs import launch, run_control
from core.runs.jobs import overview
from core.runs.jobs.state import NO_REASON, STALE_AFTER_S, describe_crash
from core.runs.journal import Journal, read_progress
from core.runs.request import RunRequest
from core.runs.run_state import Counts, write_ending
from core.runs.workspace import Workspace, open_workspace
from core.store import runs
from core.store.runs import Run
from tests import commands
from tests.runs.cases import (
    fast,
    recorded,
    run_here,
    status,
    stored_rows,
    waiting_run,
    wish,
    workspace_with,
)
from tests.runs.killed import killed_run
from tests.runs.methods import Counting, here
from tests.runs.test_journal import row


def list_runs(workspace: Workspace) -> list[Run]:
    with workspace.store.read() as db:
        recorded_runs = runs.list_all(db)
    return overview.with_present_states(workspace, recorded_runs)


KilledRun = tuple[Workspace, Run]


@pytest.fixture
def killed(tmp_path: Path) -> KilledRun:
    return killed_run(tmp_path / "workspace")


@pytest.mark.soak
def test_a_killed_worker_is_seen_by_the_next_command_which_brings_in_its_rows(
    killed: KilledRun,
) -> None:
    workspace, run = killed
    finished = len(read_progress(workspace.run_folder(run.id).rows).finished)
    [listed] = commands.core_json(workspace, "runs")["runs"]
    assert (listed["status"], listed["done"]) == ("crashed", finished)
    assert len(stored_rows(workspace, run.id)) == finished
    settled = recorded(workspace, run)
    assert (settled.status, settled.cause) == (
        "crashed",
        describe_crash(workspace.run_folder(run.id)),
    )
    assert settled.cause.startswith(NO_REASON)
    assert overview.settle_ended(workspace) == []


READING = [
    "score r",
    "export r --format csv",
    "controls r",
    "experiment list",
    "reproduce --only knn.*.loo.*",
    "note list",
    "log r",
    "embed list",
]


def test_whatever_a_command_reads_a_dead_worker_is_settled_before(
    killed: KilledRun,
) -> None:
    workspace, run = killed
    for command in READING:
        commands.core(workspace, command)
        assert (recorded(workspace, run).status, recorded(workspace, run).done >= 4) == (
            "crashed",
            True,
        ), command
        with workspace.store.write() as db:
            runs.change_by_worker(db, run.id, status="running", cause="")


@pytest.mark.soak
def test_a_reader_sees_the_state_and_writes_nothing(
    killed: KilledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, run = killed
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    [listed] = commands.core_json(workspace, "runs")["runs"]
    finished = len(read_progress(workspace.run_folder(run.id).rows).finished)
    assert (listed["status"], listed["done"]) == ("crashed", 0)  # the rows are not in the store
    [job] = commands.core_json(workspace, "jobs", "list")["jobs"]
    assert job["progress"] == f"{finished} of 40 rows"
    assert commands.core_json(workspace, "doctor")["runs"] == {"crashed": 1}
    assert recorded(workspace, run).status == "running"
    reader = open_workspace(replace(workspace.settings, read_only=True))
    assert [found.status for found in list_runs(reader)] == ["crashed"]
    assert overview.settle_ended(reader) == []


@pytest.mark.soak
def test_the_log_of_a_run_says_that_it_crashed_and_why(killed: KilledRun) -> None:
    workspace, run = killed
    with workspace.run_folder(run.id).log.open("a") as log:
        log.write("Killed: out of memory\n")
    cause = f"{NO_REASON}; the last line of its log: Killed: out of memory"
    said = commands.core(workspace, "log", "r").out.splitlines()
    assert said[-2] == "Killed: out of memory"
    assert said[-1].startswith("run/r: crashed")
    assert said[-1].endswith(cause)
    found = commands.core_json(workspace, "log", "r")
    assert (found["status"], found["cause"], found["lines"][-1]) == (
        "crashed",
        cause,
        "Killed: out of memory",
    )


@pytest.mark.soak
def test_a_busy_store_keeps_no_reader_from_the_state(
    killed: KilledRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, run = killed

    def busy(*_):
        raise StoreBusy("held by somebody")

    with monkeypatch.context() as patch:
        patch.setattr(run_control, "settle", busy)
        [listed] = commands.core_json(workspace, "runs")["runs"]
    assert listed["status"] == "crashed"
    assert recorded(workspace, run).status == "running"
    assert [settled.id for settled in overview.settle_ended(workspace)] == [run.id]


def test_rows_that_came_after_a_state_was_settled_are_brought_in_and_a_torn_one_is_not(
    tmp_path: Path,
) -> None:
    workspace = workspace_with(tmp_path, 4)
    spec = wish(workspace, Counting())
    run = run_control.start(workspace, spec, "r", fast(), begin=lambda *_: None)
    folder = workspace.run_folder(run.id)
    for done, pair_id in enumerate(spec.rows[:2], 1):
        with Journal(folder) as journal:
            journal.append([row(pair_id)])
        assert [settled.done for settled in overview.settle_ended(workspace)] == [done]
    with folder.rows.open("ab") as journal_file:
        journal_file.write(b'{"v": 1, "row"')
    assert overview.settle_ended(workspace) == []


@pytest.mark.soak
def test_an_ending_that_the_store_was_too_busy_for_is_told(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 4)
    method = Counting()
    run = run_here(workspace, method)
    with workspace.store.write() as db:
        runs.change_by_worker(db, run.id, status="running")
    assert [found.status for found in list_runs(workspace)] == ["done"]
    request = RunRequest(method.name, "bmdm", rows="split=test", name="r")
    again = launch.start(workspace, request, method=lambda _: method, spec=wish(workspace, method))
    assert again.status == "done"


@pytest.mark.soak
def test_a_worker_that_never_began_is_awaited_for_a_while_and_then_missed(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 4)
    run = waiting_run(workspace)
    assert [found.status for found in list_runs(workspace)] == ["waiting"]
    past = time.time() - STALE_AFTER_S - 1
    os.utime(workspace.run_folder(run.id).control, (past, past))
    assert [found.status for found in list_runs(workspace)] == ["crashed"]
    assert [settled.status for settled in overview.settle_ended(workspace)] == ["crashed"]
    method = Counting()
    assert run_control.resume(workspace, "r", begin=here(method)).status == "done"


@pytest.mark.soak
def test_a_run_that_is_taken_up_again_is_awaited_until_its_worker_begins(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 4)
    method = Counting(fails=frozenset({"Qb0_Hb0"}))
    run = run_here(workspace, method)
    assert run.failed == 1
    run_control.retry(workspace, "r", begin=lambda *_: None)
    workspace.run_folder(run.id).heartbeat.unlink()  # its worker was this process, which lives
    assert [found.status for found in list_runs(workspace)] == ["waiting"]
    assert (status(workspace, run).counts.done, status(workspace, run).counts.failed) == (3, 0)


@pytest.mark.soak
def test_a_folder_that_cannot_be_read_is_said_to_be_so_and_hides_no_other_run(
    tmp_path: Path,
) -> None:
    workspace = workspace_with(tmp_path, 4)
    method = Counting()
    run = run_control.start(
        workspace, wish(workspace, method), "broken", fast(), begin=here(method)
    )
    run_control.start(
        workspace, wish(workspace, method, seed=1), "sound", fast(), begin=here(method)
    )
    workspace.run_folder(run.id).done.write_text("{")
    workspace.run_folder(run.id).heartbeat.unlink()  # its worker was this process, which lives
    by_name = {found.name: found for found in list_runs(workspace)}
    assert (by_name["broken"].status, by_name["sound"].status) == ("crashed", "done")
    assert "done.json: cannot be read" in by_name["broken"].cause
    assert commands.core(workspace, "runs").status == 0


def test_runs_of_others_keep_the_state_that_they_came_with(small_workspace: Workspace) -> None:
    assert [found.status for found in list_runs(small_workspace)] == ["done"]
    assert overview.settle_ended(small_workspace) == []


@pytest.mark.soak
def test_a_state_is_read_without_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_with(tmp_path, 4)
    method = Counting()
    run = run_here(workspace, method)
    folder = workspace.run_folder(run.id)
    write_ending(folder, "stopped", Counts(), 4, "nobody answered")
    monkeypatch.setattr(
        "core.runs.run_state.read_progress", lambda _: pytest.fail("the journal was read")
    )
    assert [(found.status, found.cause) for found in list_runs(workspace)] == [
        ("stopped", "nobody answered")
    ]
    folder.done.unlink()
    folder.heartbeat.unlink()  # its worker was this process, which lives
    assert [found.status for found in list_runs(workspace)] == ["crashed"]
