"""Workers in processes of their own: how they are begun, told and ended, and what they give away."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from core.base.config import Settings
from core.base.errors import StateError
from core.base.net.server_access import KEY_VARIABLE, KEYS_VARIABLE
from core.runs import run_control
from core.runs.jobs.state import exclusive_lock
from core.runs.run_folder import command_of, start_worker
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import Script, serving
from tests.runs.cases import (
    end_worker,
    fast,
    finished,
    keyed,
    recorded,
    status,
    until,
    until_state,
    waiting_run,
    wish,
    workspace_with,
)
from tests.runs.methods import Asking, Counting, apart, here

KEY = "sk-never-to-be-seen/anywhere"
ROWS = 400


@contextmanager
def slow_run(path: Path) -> Iterator[tuple[Workspace, Run]]:
    """A run that takes a minute, in a worker of its own."""
    workspace = workspace_with(path, ROWS)
    begin = partial(apart, sleep_s=0.5, ingest_every_s=0.1)
    run = run_control.start(
        workspace, wish(workspace, Counting()), "slow", fast(rows_in_flight=4), begin=begin
    )
    try:
        until(lambda: finished(workspace, run) > 4, "the first rows")
        yield workspace, run
    finally:
        end_worker(workspace, run)


@pytest.mark.soak
def test_a_worker_is_told_to_pause_to_go_on_and_to_end(tmp_path: Path) -> None:
    with slow_run(tmp_path) as (workspace, run):
        live = status(workspace, run)
        assert live.state == "running"
        assert live.pid is not None
        assert os.getsid(live.pid) == live.pid  # in a session of its own
        until(lambda: recorded(workspace, run).done > 0, "a fold")
        assert recorded(workspace, run).status == "running"
        with (
            pytest.raises(StateError, match=f"process {live.pid}"),
            exclusive_lock(workspace.run_folder(run.id)),
        ):
            pass
        for refused in (
            partial(run_control.resume, workspace, "slow"),
            partial(run_control.retry, workspace, "slow"),
        ):
            with pytest.raises(StateError, match="is working on it"):
                refused()
        with pytest.raises(StateError, match="a worker is on it"):
            run_control.start(
                workspace, wish(workspace, Counting(), seed=1), "slow", fast(), replace=True
            )
        run_control.pause(workspace, "slow")
        until_state(workspace, run, "paused")
        at = finished(workspace, run)
        until(lambda: recorded(workspace, run).status == "paused", "the store to say so")
        assert finished(workspace, run) == at
        run_control.resume(workspace, "slow")
        until(lambda: finished(workspace, run) > at, "more rows")
        run_control.cancel(workspace, "slow")
        ended = until_state(workspace, run, "cancelled")
        until(lambda: not psutil.pid_exists(live.pid or 0), "the process to end")
        assert ended.counts.done == finished(workspace, run) == recorded(workspace, run).done
        assert recorded(workspace, run).status == "cancelled"
        with pytest.raises(StateError, match="cancelled already"):
            run_control.cancel(workspace, "slow")
        with pytest.raises(StateError, match="expected a run that is running"):
            run_control.pause(workspace, "slow")
        run_control.resume(workspace, "slow", settings=fast(rows_in_flight=200), begin=apart)
        assert until_state(workspace, run, "done").counts.done == ROWS


@pytest.mark.soak
def test_a_signal_ends_the_work_cleanly(tmp_path: Path) -> None:
    with slow_run(tmp_path) as (workspace, run):
        pid = status(workspace, run).pid
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        ended = until_state(workspace, run, "interrupted", "crashed")
        assert (ended.state, ended.cause) == ("interrupted", "received a signal to end (SIGTERM)")
        assert recorded(workspace, run).status == "interrupted"
        assert ended.counts.done == recorded(workspace, run).done == finished(workspace, run)


@pytest.mark.soak
def test_the_key_is_in_the_workers_environment_and_nowhere_else(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 12)
    with serving(Script(api_key=KEY, delay_s=0.05)) as url:
        how = fast(url, rows_in_flight=2)
        own = keyed(workspace, url, KEY)
        run = run_control.start(
            own, wish(workspace, Asking(), model="scripted"), "r", how, begin=apart
        )
        pid = status(workspace, run).pid
        assert pid is not None
        process = psutil.Process(pid)
        assert (process.environ()[KEY_VARIABLE], process.environ()[KEYS_VARIABLE]) == (
            "",
            f"{url}={KEY}",
        )
        assert not any(KEY in part for part in process.cmdline())
        until_state(workspace, run, "done")
        # A wrong key is echoed by this server
        wrong = KEY + "-wrong"
        other = run_control.start(
            keyed(workspace, url, wrong),
            wish(workspace, Asking(), model="scripted", labels="blinded"),
            "w",
            fast(url, cached=False),
            begin=here(Asking()),
        )
        ended = status(workspace, other)
    assert (ended.state, ended.counts.done) == ("stopped", 0)
    assert (
        "[key]" in run_control.settle(workspace, other.id).cause
    )  # where the server had echoed it
    searched = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"desk.duckdb", "rows.jsonl", "spec.json", "how.json", "log.txt", "llm.sqlite"} <= {
        path.name for path in searched
    }
    assert [
        path
        for path in searched
        if KEY.encode() in path.read_bytes() or b"never-to-be-seen" in path.read_bytes()
    ] == []
    with workspace.store.read() as db:
        for (table,) in db.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk'"
        ).fetchall():
            assert "never-to-be-seen" not in str(db.execute(f"SELECT * FROM {table}").fetchall())


@pytest.mark.soak
def test_a_worker_that_does_not_begin_is_reported(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 3)
    run = waiting_run(workspace)
    folder = workspace.run_folder(run.id)
    with pytest.raises(
        StateError, match=r"status 3 before its first heartbeat; its log says: no such luck"
    ):
        start_worker(folder, workspace.settings, command=("sh", "-c", "echo no such luck; exit 3"))
    with pytest.raises(StateError, match=r"did not start within 0\.2 s"):
        start_worker(folder, workspace.settings, command=("sleep", "60"), within_s=0.2)
    assert status(workspace, run).state == "waiting"


def test_the_workers_command_line() -> None:
    settings = Settings(workspace=Path("/somewhere"), api_key=KEY)
    command = command_of(settings, "0123456789")
    assert command[1:] == (
        "-m",
        "core",
        "--progress",
        "--workspace",
        "/somewhere",
        "worker",
        "0123456789",
    )
    subprocess.run([command[0], "-c", ""], check=True)


@pytest.mark.soak
def test_memory_stays_bounded_while_rows_are_large(tmp_path: Path) -> None:
    """2,000 rows of 15 KB each that do not repeat one another."""
    workspace = workspace_with(tmp_path, 2000)
    growth = tmp_path / "growth.txt"
    begin = partial(apart, fat=5_000, ingest_every_s=0.5, growth=str(growth))
    run = run_control.start(workspace, wish(workspace, Counting()), "fat", fast(), begin=begin)
    ended = until_state(workspace, run, "done", "crashed", "stopped")
    until(lambda: growth.exists() and growth.read_text() != "", "the worker's last word")
    assert (ended.state, ended.counts.done) == ("done", 2000)
    assert float(growth.read_text()) < 220
    assert workspace.run_folder(run.id).rows.stat().st_size > 2000 * 15_000
    whole = recorded(workspace, run)
    assert (whole.status, whole.done, whole.failed) == ("done", 2000, 0)
    with workspace.store.read() as db:
        counted = "SELECT (SELECT count(*) FROM trace_event), (SELECT count(*) FROM row_call), (SELECT count(*) FROM call)"
        assert db.execute(counted).fetchall() == [(2000, 2000, 2000)]
