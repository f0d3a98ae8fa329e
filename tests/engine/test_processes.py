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

from core.actions import folders, journals
from core.actions.desk import Desk
from core.config import KEY_VARIABLE, Settings
from core.engine.journal import read_progress
from core.engine.start import command_of, start
from core.engine.states import alone
from core.errors import StateError
from core.llm.scripted import Script, serving
from core.store import runs
from core.store.runs import Run
from tests.engine.cases import desk_with, end_worker, fast, status, until, until_state, wish
from tests.engine.methods import Asking, Counting, apart, here

KEY = "sk-never-to-be-seen/anywhere"
ROWS = 400


@contextmanager
def slow_run(path: Path) -> Iterator[tuple[Desk, Run]]:
    """A run that takes a minute, in a worker of its own."""
    desk = desk_with(path, ROWS)
    begin = partial(apart, sleep_s=0.5, fold_s=0.1)
    run = journals.launch(desk, wish(desk, Counting()), "slow", fast(rows_in_flight=4), begin=begin)
    try:
        until(lambda: finished(desk, run) > 4, "the first rows")
        yield desk, run
    finally:
        end_worker(desk, run)


def finished(desk: Desk, run: Run) -> int:
    return len(read_progress(folders.folder_of(desk, run.id).rows).finished)


def recorded(desk: Desk, run: Run) -> Run:
    with desk.store.read() as db:
        return runs.find(db, run.id)


def test_a_worker_is_told_to_pause_to_go_on_and_to_end(tmp_path: Path) -> None:
    with slow_run(tmp_path) as (desk, run):
        live = status(desk, run)
        assert live.state == "running"
        assert live.pid is not None
        assert os.getsid(live.pid) == live.pid  # in a session of its own
        until(lambda: recorded(desk, run).done > 0, "a fold")
        assert recorded(desk, run).status == "running"
        with pytest.raises(StateError, match=f"process {live.pid}"), alone(folders.folder_of(desk, run.id)):
            pass
        for refused in (partial(journals.resume, desk, "slow"), partial(journals.retry, desk, "slow")):
            with pytest.raises(StateError, match="is working on it"):
                refused()
        with pytest.raises(StateError, match="a worker is on it"):
            journals.launch(desk, wish(desk, Counting(), seed=1), "slow", fast(), replace=True)
        journals.pause(desk, "slow")
        until_state(desk, run, "paused")
        at = finished(desk, run)
        until(lambda: recorded(desk, run).status == "paused", "the store to say so")
        assert finished(desk, run) == at
        journals.resume(desk, "slow")
        until(lambda: finished(desk, run) > at, "more rows")
        journals.cancel(desk, "slow")
        ended = until_state(desk, run, "cancelled")
        until(lambda: not psutil.pid_exists(live.pid or 0), "the process to end")
        assert ended.counts.done == finished(desk, run) == recorded(desk, run).done
        assert recorded(desk, run).status == "cancelled"
        with pytest.raises(StateError, match="cancelled already"):
            journals.cancel(desk, "slow")
        with pytest.raises(StateError, match="expected a run that is running"):
            journals.pause(desk, "slow")
        journals.resume(desk, "slow", how=fast(rows_in_flight=200), begin=apart)
        assert until_state(desk, run, "done").counts.done == ROWS


def test_a_signal_ends_the_work_cleanly(tmp_path: Path) -> None:
    with slow_run(tmp_path) as (desk, run):
        pid = status(desk, run).pid
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        ended = until_state(desk, run, "interrupted", "crashed")
        assert (ended.state, ended.cause) == ("interrupted", "told to end by SIGTERM")
        assert recorded(desk, run).status == "interrupted"
        assert ended.counts.done == recorded(desk, run).done == finished(desk, run)


def test_the_key_is_in_the_workers_environment_and_nowhere_else(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, 12)
    with serving(Script(api_key=KEY, delay_s=0.05)) as url:
        how = fast(url, rows_in_flight=2)
        run = journals.launch(desk, wish(desk, Asking(), model="scripted"), "r", how, api_key=KEY, begin=apart)
        pid = status(desk, run).pid
        assert pid is not None
        process = psutil.Process(pid)
        assert process.environ()[KEY_VARIABLE] == KEY
        assert not any(KEY in part for part in process.cmdline())
        until_state(desk, run, "done")
        # A wrong key is echoed by this server
        wrong = KEY + "-wrong"
        other = journals.launch(
            desk, wish(desk, Asking(), model="scripted"), "w", fast(url, cached=False), api_key=wrong, begin=here(Asking())
        )
        ended = status(desk, other)
    assert (ended.counts.done, ended.counts.failed) == (0, 12)
    settled = journals.settle(desk, other.id)
    assert settled.failed == 12
    assert b"[key]" in folders.folder_of(desk, other.id).rows.read_bytes()  # where the server had echoed it
    searched = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"desk.duckdb", "rows.jsonl", "spec.json", "how.json", "log.txt", "llm.sqlite"} <= {path.name for path in searched}
    assert [path for path in searched if KEY.encode() in path.read_bytes() or b"never-to-be-seen" in path.read_bytes()] == []
    with desk.store.read() as db:
        for (table,) in db.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk'").fetchall():
            assert "never-to-be-seen" not in str(db.execute(f"SELECT * FROM {table}").fetchall())


def test_a_worker_that_does_not_begin_is_reported(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, 3)
    run = journals.launch(desk, wish(desk, Counting()), "r", fast(), begin=lambda *_: None)
    folder = folders.folder_of(desk, run.id)
    with pytest.raises(StateError, match=r"status 3 before its first beat, it said: no such luck"):
        start(folder, desk.settings, command=("sh", "-c", "echo no such luck; exit 3"))
    with pytest.raises(StateError, match=r"did not begin within 0\.2 s"):
        start(folder, desk.settings, command=("sleep", "60"), within_s=0.2)
    assert status(desk, run).state == "waiting"


def test_the_workers_command_line() -> None:
    settings = Settings(workspace=Path("/somewhere"), api_key=KEY)
    command = command_of(settings, "0123456789")
    assert command[1:] == ("-m", "core", "--workspace", "/somewhere", "worker", "0123456789")
    subprocess.run([command[0], "-c", ""], check=True)


def test_memory_stays_bounded_while_rows_are_large(tmp_path: Path) -> None:
    """2,000 rows of 15 KB each that do not repeat one another."""
    desk = desk_with(tmp_path, 2000)
    peak = tmp_path / "peak.txt"
    begin = partial(apart, fat=5_000, fold_s=0.5, peak=str(peak))
    run = journals.launch(desk, wish(desk, Counting()), "fat", fast(), begin=begin)
    ended = until_state(desk, run, "done", "crashed", "stopped")
    until(peak.exists, "the worker's last word")
    assert (ended.state, ended.counts.done) == ("done", 2000)
    assert float(peak.read_text()) < 400
    assert folders.folder_of(desk, run.id).rows.stat().st_size > 2000 * 15_000
    whole = recorded(desk, run)
    assert (whole.status, whole.done, whole.failed) == ("done", 2000, 0)
    with desk.store.read() as db:
        counted = "SELECT (SELECT count(*) FROM trace_event), (SELECT count(*) FROM row_call), (SELECT count(*) FROM call)"
        assert db.execute(counted).fetchall() == [(2000, 2000, 2000)]
