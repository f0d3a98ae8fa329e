"""A worker that is killed again and again, and the run that comes out of it all the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.runs import run_control
from core.runs.jobs.state import STALE_AFTER_S
from core.runs.journal import (
    RetryMark,
    Spending,
    read_entries,
    read_progress,
    read_spending,
)
from core.runs.run_folder import RunFolder
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests import commands
from tests.fakes.scripted import Script, request_counts, serving
from tests.runs.cases import fast, recorded, run_here, status, until, wish, workspace_with
from tests.runs.methods import Asking, worker_command

KILLS = 1  # soak/test_kills.py takes 50
ROWS = 300
LEFT = 50  # rows at least that are still missing when the last kill is due
AT_ONCE = 8
SEED = 5
AHEAD_S = 0.1  # at most, between a row that a kill waits for and the kill
BEGINNING_S = 1.5  # at most, between the start of a worker and its kill, if no row is waited for
LARGEST_ANSWER = 200  # tokens
TABLES_OF_EVENTS = (
    "trail",
    "version",
)  # who did what when, and counters of changes: a run that was resumed has more
# What differs between two equal runs: times, names that are drawn, what the cache answered, and the length of all that.
PASSING = ("latency_ms", "cached", "folded_bytes", "spent_tokens")
DRAWN = {"call": ("id",), "row_call": ("call",)}

See = Callable[[Workspace, Run], None]


def journalled(workspace: Workspace, run: Run) -> list[str]:
    """The rows of the journal's whole lines, in order."""
    entries = (entry for entry, _ in read_entries(workspace.run_folder(run.id).rows))
    return [entry.pair_id for entry in entries if not isinstance(entry, RetryMark)]


def has_rows(file: Path, least: int) -> bool:
    """Whether a file has that many whole lines."""
    return file.exists() and file.read_bytes().count(b"\n") >= least


def stored(workspace: Workspace) -> dict[str, pd.DataFrame]:
    """Every table of the store but those of events, without what differs between two equal runs, its rows in one order."""
    found = {}
    with workspace.store.read() as db:
        tables = [
            name
            for (name,) in db.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk'"
            ).fetchall()
        ]
        for table in sorted(set(tables) - set(TABLES_OF_EVENTS)):
            join = (
                " JOIN (SELECT id AS call, key FROM call) USING (call)"
                if table == "row_call"
                else ""
            )
            frame = db.execute(f"SELECT * FROM {table}{join}").df()
            passing = [
                name
                for name in frame
                if name.endswith("_at") or name in (*PASSING, *DRAWN.get(table, ()))
            ]
            left = frame.drop(columns=passing).map(str)
            found[table] = left.sort_values(list(left)).reset_index(drop=True)
    return found


@dataclass
class SurvivingRun:
    """A run that ended although its worker was killed, beside one that was left alone; each with its workspace.

    lost: answers that the server had sent until after each kill, and their tokens, less those that the run had counted by then;
    beside them the requests that the run counted as unanswered; and the same at the end. late_s: how long after each kill the
    state was told. early: how many workers were killed before they had begun.
    """

    workspace: Workspace
    run: Run
    undisturbed: Workspace
    undisturbed_run: Run
    lost: list[Spending] = field(default_factory=list)
    late_s: list[float] = field(default_factory=list)
    early: int = 0


@pytest.mark.soak
def test_a_run_that_was_killed_again_and_again_is_the_run_that_was_not(tmp_path: Path) -> None:
    assert_equal_to_undisturbed(run_with_kills(tmp_path, KILLS))


class Spawner:
    """Starts workers without waiting for their first heartbeat, as a kill may come before it. options: more of their own."""

    def __init__(self, began: Path, **options: Any) -> None:
        self._options = {"began": str(began), "ingest_every_s": 0.05, **options}
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, workspace: Workspace, run: str) -> int:
        with workspace.run_folder(run).log.open("ab") as log:
            command = worker_command(workspace, run, self._options)
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        return self.process.pid

    def wait(self) -> None:
        self.process.wait(60)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def read_states(workspace: Workspace, run: Run) -> None:
    """See in `runs` that the run has crashed; that also settles it."""
    [listed] = commands.core_json(workspace, "runs")["runs"]
    assert listed["status"] == "crashed"
    assert listed["done"] == recorded(workspace, run).done == len(journalled(workspace, run))


def run_with_kills(
    folder: Path,
    kills: int,
    delay_s: float = 0.01,
    see: See = read_states,
    *,
    patient: bool = False,
) -> SurvivingRun:
    """A run of 300 rows whose worker gets SIGKILL at `kills` random moments and is resumed after each: while it starts, asks,
    journals or ingests.

    delay_s: how long the server takes over an answer; with many kills long enough that rows are left for the last one. see:
    looks at the run after every other kill. patient: waits until a worker that never began is missed; else the time that it is
    waited for is over at once. Asserts after each kill that no row in the journal is asked again.
    """
    rng = random.Random(SEED)
    began = folder / "began.txt"
    spawn = Spawner(began)
    with serving(Script(delay_s=delay_s)) as url:
        whole = workspace_with(folder / "whole", ROWS)
        how = fast(url, rows_in_flight=AT_ONCE, timeout_s=10.0)
        expected = run_here(whole, Asking(), how, model="scripted")
    with serving(Script(delay_s=delay_s)) as url:
        workspace = workspace_with(folder / "killed", ROWS)
        how = fast(url, rows_in_flight=AT_ONCE, timeout_s=10.0)
        run = run_control.start(
            workspace, wish(workspace, Asking(), model="scripted"), "r", how, begin=spawn
        )
        survived = SurvivingRun(workspace, run, whole, expected)
        for kill in range(kills):
            _wait_for_a_moment(
                workspace.run_folder(run.id),
                rng,
                int((ROWS - LEFT) * (kill + rng.random()) / kills),
            )
            spawn.kill()
            survived.lost.append(_find_lost(url, workspace, run))
            survived.early += status(workspace, run).state == "waiting"
            if not patient:
                _let_time_pass(workspace.run_folder(run.id).control)
            survived.late_s.append(_seconds_until_crashed(workspace, run))
            before = set(journalled(workspace, run))
            if kill % 2 == 0:
                see(workspace, run)
            begun = len(began.read_text().split()) if began.exists() else 0
            run_control.resume(workspace, run.id, begin=spawn)
            if kill % 2 == 0:
                until(partial(has_rows, began, begun + 1), "the next row")
            assert not before & set((began.read_text() if began.exists() else "").split()[begun:])
        until(lambda: status(workspace, run).state == "done", "the end")
        spawn.wait()  # its score is kept after that
        survived.lost.append(_find_lost(url, workspace, run))
    survived.run = run_control.settle(workspace, run.id)
    return survived


def _wait_for_a_moment(folder: RunFolder, rng: random.Random, least: int) -> None:
    """Wait until that many rows are finished and a little longer; one time in three only a while, which may be too short for the
    worker to begin."""
    if rng.random() < 1 / 3:
        time.sleep(BEGINNING_S * rng.random())
    else:
        until(partial(has_rows, folder.rows, least), f"row {least}")
        time.sleep(AHEAD_S * rng.random() ** 2)


def _find_lost(url: str, workspace: Workspace, run: Run) -> Spending:
    """The answers that the server sent and the run did not count, their tokens, and the requests that the run says have none."""
    sent, told = (
        request_counts(url),
        read_spending(workspace.run_folder(run.id).spending) or Spending(),
    )
    return Spending(
        sent.get("answers", 0) - told.answers, sent.get("tokens", 0) - told.tokens, told.unanswered
    )


def _let_time_pass(file: Path) -> None:
    past = time.time() - STALE_AFTER_S - 1
    os.utime(file, (past, past))


def _seconds_until_crashed(workspace: Workspace, run: Run) -> float:
    since = time.monotonic()
    until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
    return time.monotonic() - since


def assert_equal_to_undisturbed(survived: SurvivingRun) -> None:
    """Every table of the store holds the same, each row once, and the journal each row once. What was spent is what the server
    counted, but for answers that were on their way when a worker died: the run says to how many requests they may belong."""
    workspace, run, expected = survived.workspace, survived.run, survived.undisturbed_run
    rows = workspace.run_folder(run.id).rows
    assert sorted(journalled(workspace, run)) == sorted(set(journalled(workspace, run)))
    assert read_progress(rows).repeated == 0
    assert (run.status, run.done, run.failed, run.tokens) == ("done", ROWS, 0, expected.tokens)
    ours, theirs = stored(workspace), stored(survived.undisturbed)
    assert list(ours) == list(theirs)
    for name, table in theirs.items():
        # the basis of a score counts how often its rows were written
        left, right = (each.drop(columns="basis", errors="ignore") for each in (ours[name], table))
        if name == "kept_result":  # Overview, which was opened meanwhile, keeps what it looked for
            left = left[left["name"].isin(right["name"])].reset_index(drop=True)
        pd.testing.assert_frame_equal(left, right, obj=name)
    assert ours["prediction"]["pair_id"].is_unique
    assert len(ours["trace_event"]) == len(ours["row_call"]) == 2 * ROWS
    assert expected.spent_tokens == expected.tokens
    told = read_spending(workspace.run_folder(run.id).spending)
    assert (told.tokens, told.unanswered) == (run.spent_tokens, survived.lost[-1].unanswered)
    assert run.spent_tokens >= expected.spent_tokens
    for lost in survived.lost:
        assert 0 <= lost.answers <= lost.unanswered
        assert lost.answers <= lost.tokens <= lost.answers * LARGEST_ANSWER
    assert survived.lost[-1][:2] == survived.lost[-2][:2]  # nothing is lost but by a kill
    assert survived.lost[-1].unanswered <= (len(survived.lost) - 1) * AT_ONCE
    assert max(survived.late_s) < STALE_AFTER_S + 1
