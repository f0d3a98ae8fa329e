"""A worker that is killed again and again, and the run that comes out of it all the same."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from core.actions import run_control
from core.actions.workspace import Workspace
from core.engine.journal import read_entries, read_progress
from core.engine.row_codec import RetryMark, pair_id_of
from core.llm.scripted_server import Script, serving
from core.store import traces
from core.store.runs import Run
from tests.engine.cases import fast, status, stored_rows, until, wish, workspace_with
from tests.engine.methods import Asking, apart, here

KILLS = 2  # soak/test_kills.py takes 50
ROWS = 300
LEFT = 50  # rows at least that are still missing when the last kill is due
SEED = 5
AHEAD_S = 0.1  # at most, between a row that a kill waits for and the kill


def journalled(workspace: Workspace, run: Run) -> list[str]:
    """The rows of the journal's whole lines, in order."""
    entries = (entry for entry, _ in read_entries(workspace.run_folder(run.id).rows))
    return [pair_id_of(entry) for entry in entries if not isinstance(entry, RetryMark)]


def has_rows(file: Path, least: int) -> bool:
    """Whether a file has that many whole lines."""
    return file.exists() and file.read_bytes().count(b"\n") >= least


def stored(workspace: Workspace, run: Run) -> dict[str, pd.DataFrame]:
    """What the store holds of a run, apart from times and from what the cache answered."""
    with workspace.store.read() as db:
        found = {
            "predictions": stored_rows(workspace, run.id).drop(columns="run"),
            "traces": traces.frame(db, run.id).drop(columns="latency_ms"),
        }
        for name, query in {
            "evidence": "SELECT pair_id, seq, evidence FROM row_evidence WHERE run = ? ORDER BY ALL",
            "calls": """SELECT r.pair_id, r.seq, r.stage, r.role, r.prompt_tokens, r.completion_tokens, r.reasoning_tokens,
                          r.error, c.key, c.request, c.reply
                        FROM row_call r JOIN call c ON c.id = r.call WHERE r.run = ? ORDER BY ALL""",
        }.items():
            found[name] = db.execute(query, [run.id]).df()
    return found


class SurvivingRun(NamedTuple):
    """A run that ended although its worker was killed, beside one that was left alone; each with its workspace."""

    workspace: Workspace
    run: Run
    undisturbed: Workspace
    undisturbed_run: Run


def test_a_run_that_was_killed_again_and_again_is_the_run_that_was_not(tmp_path: Path) -> None:
    assert_equal_to_undisturbed(run_with_kills(tmp_path, KILLS))


def run_with_kills(folder: Path, kills: int, delay_s: float = 0.01) -> SurvivingRun:
    """A run of 300 rows whose worker gets SIGKILL at `kills` random moments and is resumed after each.

    delay_s: how long the server takes over an answer; with many kills long enough that rows are left for the last one.
    Asserts after each kill that no row in the journal is asked again.
    """
    rng = random.Random(SEED)
    began = folder / "began.txt"
    begin = partial(apart, began=str(began), ingest_every_s=0.05)
    with serving(Script(delay_s=delay_s)) as url:
        whole = workspace_with(folder / "whole", ROWS)
        expected = run_control.start(
            whole, wish(whole, Asking(), model="scripted"), "r", fast(url, timeout_s=10.0), begin=here(Asking())
        )
        workspace = workspace_with(folder / "killed", ROWS)
        run = run_control.start(
            workspace, wish(workspace, Asking(), model="scripted"), "r", fast(url, rows_in_flight=8, timeout_s=10.0), begin=begin
        )
        rows = workspace.run_folder(run.id).rows
        for kill in range(kills):
            least = int((ROWS - LEFT) * (kill + rng.random()) / kills)
            until(partial(has_rows, rows, least), f"row {least}")
            time.sleep(AHEAD_S * rng.random() ** 2)
            pid = status(workspace, run).pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
            before = set(journalled(workspace, run))
            if kill % 2:
                run_control.settle(workspace, run.id)
            begun = len(began.read_text().split())
            run_control.resume(workspace, run.id, begin=begin)
            until(partial(has_rows, began, begun + 1), "the next row")
            assert not before & set(began.read_text().split()[begun:])
        until(lambda: status(workspace, run).state == "done", "the end")
    return SurvivingRun(workspace, run_control.settle(workspace, run.id), whole, expected)


def assert_equal_to_undisturbed(survived: SurvivingRun) -> None:
    """The store holds the same rows, traces, evidence and calls, each once, and the journal each row once."""
    workspace, run, whole, expected = survived
    rows = workspace.run_folder(run.id).rows
    assert sorted(journalled(workspace, run)) == sorted(set(journalled(workspace, run)))
    assert read_progress(rows).repeated == 0
    assert (run.status, run.done, run.failed, run.tokens) == ("done", ROWS, 0, expected.tokens)
    ours = stored(workspace, run)
    for name, table in stored(whole, expected).items():
        pd.testing.assert_frame_equal(ours[name], table, obj=name)
    assert ours["predictions"]["pair_id"].is_unique
    assert len(ours["traces"]) == len(ours["calls"]) == 2 * ROWS
