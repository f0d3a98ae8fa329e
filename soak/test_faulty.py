"""The methods themselves, in worker processes, against a server that fails in every way it can, with a kill on the way.

tests/engine/test_faulty.py has the short form: a method for tests, in one process.
"""

from __future__ import annotations

import importlib.util
import os
import signal
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from core.actions import run_control
from core.actions.workspace import Workspace
from core.engine.journal import read_entries, read_progress
from core.llm.scripted_server import Faults, Script, request_counts, serving
from core.methods.base import Method, method_named
from core.store.runs import Run
from core.types import Failed
from soak.conftest import Record
from tests.engine.cases import end_worker, fast, status, stored_rows, until, until_state, wish, workspace_with

ROWS = 300
SHARE = 0.03  # of each of the eight faults
RETRIES = 15  # of the failed rows at most
CAUSES = {"Unanswered", "Malformed", "Truncated", "NoLogprobs", "NoBaseRates"}
NUMBERS = ["p_de", "p_up_given_de", "prediction_up", "prediction_down", "flags"]
AGENTS = ("react", "coordinator")


def by_row(workspace: Workspace, run: Run) -> pd.DataFrame:
    return stored_rows(workspace, run.id).set_index("pair_id")


def asked(workspace: Workspace, run: Run) -> pd.Series:
    """The requests of each row that were answered: by pair id, the sorted keys."""
    query = """SELECT r.pair_id, string_agg(c.key, ' ' ORDER BY c.key) AS keys FROM row_call r JOIN call c ON c.id = r.call
               WHERE r.run = ? AND r.error = '' GROUP BY ALL"""
    with workspace.store.read() as db:
        return db.execute(query, [run.id]).df().set_index("pair_id")["keys"]


def finish_with_a_kill(workspace: Workspace, run: Run) -> Run:
    """The run when its worker, killed once a third of the rows are finished and resumed, has ended."""
    rows = workspace.run_folder(run.id).rows
    until(lambda: rows.exists() and len(read_progress(rows).finished) > ROWS // 3, "a third of the rows")
    pid = status(workspace, run).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until_state(workspace, run, "crashed")
    run_control.resume(workspace, run.id)
    return finish(workspace, run)


def finish(workspace: Workspace, run: Run) -> Run:
    ended = until_state(workspace, run, "done", "crashed", "stopped", "interrupted")
    assert ended.state == "done", ended
    return run_control.settle(workspace, run.id)


def failed_kinds(workspace: Workspace, run: Run) -> Counter[str]:
    entries = read_entries(workspace.run_folder(run.id).rows)
    return Counter(entry.kind for entry, _ in entries if isinstance(entry, Failed))


def assert_nothing_lost(workspace: Workspace, run: Run) -> None:
    """Every row is a result or a failure with its cause, once in the journal and once in the store."""
    progress = read_progress(workspace.run_folder(run.id).rows)
    stored = by_row(workspace, run)
    assert run.done + run.failed == len(progress.finished) == len(stored) == ROWS
    assert progress.repeated == 0
    assert set(stored.index) == progress.finished
    assert set(stored.index[stored["error"].notna()]) == set(progress.failed)
    assert set(failed_kinds(workspace, run)) <= CAUSES


@pytest.mark.parametrize("name", ["prompt_only", "debate", *AGENTS])
def test_every_row_is_a_result_or_a_failure_and_retry_completes_the_run(name: str, tmp_path: Path, record: Record) -> None:
    if name in AGENTS and importlib.util.find_spec("dspy") is None:
        pytest.skip("requirements-agents.txt is not installed")
    method = method_named(name)
    good, workspace = (workspace_with(tmp_path / folder, ROWS) for folder in ("good", "faulty"))
    with serving() as url:
        expected = finish(good, launch(good, method, url))
    with serving(Script(faults=Faults.each(SHARE), retry_after_s=0.01, delay_s=0.02)) as url:
        run = launch(workspace, method, url)
        try:
            run = finish_with_a_kill(workspace, run)
            assert_nothing_lost(workspace, run)
            first, rounds = failed_kinds(workspace, run), 0
            while run.failed and rounds < RETRIES:
                run = finish(workspace, run_control.retry(workspace, run.id))
                assert_nothing_lost(workspace, run)
                rounds += 1
        finally:
            end_worker(workspace, run)
        counts = request_counts(url)
    ours, right = by_row(workspace, run)[NUMBERS], by_row(good, expected)[NUMBERS]
    keys, expected_keys = asked(workspace, run).reindex(ours.index), asked(good, expected).reindex(ours.index)
    same = ours.index[keys == expected_keys]  # an answer that cannot be read leads to another question
    record(rows=ROWS, failed_at_first=dict(first), retries=rounds, rows_compared=len(same), served=counts)
    assert (run.status, run.done, run.failed) == ("done", ROWS, 0)
    pd.testing.assert_frame_equal(ours.loc[same], right.loc[same])
    assert len(same) > ROWS // 4


def launch(workspace: Workspace, method: Method, url: str) -> Run:
    """A run by a worker process of its own, as people start one."""
    settings = fast(url, rows_in_flight=16, concurrency=16, retries=1, timeout_s=2.0)
    return run_control.start(workspace, wish(workspace, method, model="scripted"), method.name, settings)
