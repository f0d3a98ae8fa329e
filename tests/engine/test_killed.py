"""A worker that is killed again and again, and the run that comes out of it all the same."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pandas as pd

from core.actions import folders, journals
from core.actions.desk import Desk
from core.engine.coding import Again, pair_id_of
from core.engine.journal import read_entries, read_progress
from core.llm.scripted import Script, serving
from core.store import traces
from core.store.runs import Run
from tests.engine.cases import desk_with, fast, status, stored_rows, until, wish
from tests.engine.methods import Asking, apart, here

KILLS = 2  # raise it for a longer trial, to 50 say
ROWS = 300
LEFT = 50  # rows at least that are still missing when the last kill is due
SEED = 5
AHEAD_S = 0.1  # at most, between a row that a kill waits for and the kill


def journalled(desk: Desk, run: Run) -> list[str]:
    """The rows of the journal's whole lines, in order."""
    entries = (entry for entry, _ in read_entries(folders.folder_of(desk, run.id).rows))
    return [pair_id_of(entry) for entry in entries if not isinstance(entry, Again)]


def has_rows(file: Path, least: int) -> bool:
    """Whether a file has that many whole lines."""
    return file.exists() and file.read_bytes().count(b"\n") >= least


def stored(desk: Desk, run: Run) -> dict[str, pd.DataFrame]:
    """What the store holds of a run, apart from times and from what the cache answered."""
    with desk.store.read() as db:
        found = {
            "predictions": stored_rows(desk, run.id).drop(columns="run"),
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


def test_a_run_that_was_killed_again_and_again_is_the_run_that_was_not(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    began = tmp_path / "began.txt"
    begin = partial(apart, began=str(began), fold_s=0.05)
    with serving(Script(delay_s=0.01)) as url:
        whole = desk_with(tmp_path / "whole", ROWS)
        expected = journals.launch(whole, wish(whole, Asking(), model="scripted"), "r", fast(url), begin=here(Asking()))
        desk = desk_with(tmp_path / "killed", ROWS)
        run = journals.launch(desk, wish(desk, Asking(), model="scripted"), "r", fast(url, rows_in_flight=8), begin=begin)
        rows = folders.folder_of(desk, run.id).rows
        for kill in range(KILLS):
            least = int((ROWS - LEFT) * (kill + rng.random()) / KILLS)
            until(partial(has_rows, rows, least), f"row {least}")
            time.sleep(AHEAD_S * rng.random() ** 2)
            pid = status(desk, run).pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            until(lambda: status(desk, run).state == "crashed", "the crash to be seen")
            before = set(journalled(desk, run))
            if kill % 2:
                journals.settle(desk, run.id)
            begun = len(began.read_text().split())
            journals.resume(desk, run.id, begin=begin)
            until(partial(has_rows, began, begun + 1), "the next row")
            assert not before & set(began.read_text().split()[begun:])
        until(lambda: status(desk, run).state == "done", "the end")
    after = journals.settle(desk, run.id)
    assert sorted(journalled(desk, run)) == sorted(set(journalled(desk, run)))
    assert read_progress(rows).twice == 0
    assert (after.status, after.done, after.failed, after.tokens) == ("done", ROWS, 0, expected.tokens)
    ours = stored(desk, run)
    for name, table in stored(whole, expected).items():
        pd.testing.assert_frame_equal(ours[name], table, obj=name)
    assert ours["predictions"]["pair_id"].is_unique
    assert len(ours["traces"]) == len(ours["calls"]) == 2 * ROWS
