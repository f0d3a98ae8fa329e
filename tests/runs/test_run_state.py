from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from core.base.errors import NotFound, StateError
from core.base.types import Failed
from core.runs.jobs.state import STALE_AFTER_S
from core.runs.journal import Journal
from core.runs.run_folder import RunFolder
from core.runs.run_state import (
    Counts,
    Heartbeat,
    Status,
    refuse_live,
    status_of,
    write_ending,
    write_heartbeat,
)
from core.runs.spec import ExecutionSettings
from tests.runs.test_journal import row
from tests.runs.test_spec import SPEC

NOTHING = Counts()


def folder_in(path: Path) -> RunFolder:
    folder = RunFolder(path / "run")
    folder.create(SPEC, ExecutionSettings())
    return folder


def beats(folder: RunFolder, counts: Counts = NOTHING) -> None:
    write_heartbeat(folder, Heartbeat("running", 2, counts, begun_at=1.0, rows_per_s=0.5))


def test_a_run_is_waiting_then_runs_then_is_done(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    assert status_of(folder) == Status("waiting", 2, NOTHING)
    beats(folder, Counts(1, 0, 5, 5))
    running = status_of(folder)
    assert running == Status("running", 2, Counts(1, 0, 5, 5), 1.0, 0.5, pid=os.getpid())
    assert running.left_s == 2.0  # one row at half a row a second
    write_ending(folder, "done", Counts(1, 1), 2)
    done = status_of(folder)
    assert (done.state, done.done_with_failures, done.pid, done.left_s) == (
        "done",
        True,
        None,
        None,
    )
    with pytest.raises(NotFound):
        status_of(RunFolder(tmp_path / "none"))


def test_without_a_beat_it_has_crashed_and_its_journal_is_counted(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    beats(folder)
    with Journal(folder) as journal:
        journal.append([row("a_b", 7), Failed("c_d", "Unreadable", "?")])
    past = time.time() - STALE_AFTER_S - 1
    os.utime(folder.heartbeat, (past, past))
    found = status_of(folder)
    assert (found.state, found.counts, found.pid) == ("crashed", Counts(1, 1, 7, 0), None)


def test_a_heartbeat_that_a_power_cut_emptied_is_no_beat(tmp_path: Path) -> None:
    folder = folder_in(tmp_path)
    beats(folder)
    folder.heartbeat.write_bytes(b"")
    assert status_of(folder).state == "waiting"
    with Journal(folder) as journal:
        journal.append([row("a_b")])
    assert (status_of(folder).state, status_of(folder).counts.done) == ("crashed", 1)


@pytest.mark.parametrize("state", ["running", "pausing", "paused"])
def test_a_run_with_a_worker_is_not_to_be_deleted(tmp_path: Path, state: str) -> None:
    refuse_live(RunFolder(tmp_path / "r1"))  # no worker ever made it
    folder = folder_in(tmp_path)
    with pytest.raises(
        StateError, match="a worker is on it or starts"
    ):  # it was asked for a moment ago
        refuse_live(folder)
    os.utime(folder.control, (0, 0))
    refuse_live(folder)  # nobody has begun
    write_heartbeat(folder, Heartbeat(state, 1, Counts(), begun_at=0.0))  # type: ignore[arg-type]
    with pytest.raises(
        StateError,
        match="run run: a worker is on it or starts, expected one that is not running; cancel",
    ):
        refuse_live(folder)
    folder.heartbeat.unlink()
    refuse_live(folder)
