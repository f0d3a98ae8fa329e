"""What a run has paid for is what the server counted, whatever became of the rows."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from core.llm.call_budget import CallBudget, TokensSpent
from core.llm.messages import Usage
from core.runs import run_control
from core.runs.journal import Spending, SpendingLog, read_spending
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import Faults, Script, request_counts, serving
from tests.runs.cases import fast, run_here, status, until, until_state, wish, workspace_with
from tests.runs.methods import Asking, apart

ROWS = 12
AT_ONCE = 4


def cost(tokens: int) -> Usage:
    return Usage(prompt_tokens=tokens - 1, completion_tokens=1)


def test_the_log_has_the_sums_after_each_answer(tmp_path: Path) -> None:
    file = tmp_path / "spending.jsonl"
    assert read_spending(file) is None
    with SpendingLog(file) as log:
        assert not file.exists()  # a run that asks no model has none
        for outcome in ("asked", "asked", cost(10), "failed", "asked", cost(5), "asked"):
            log.count(outcome)
    assert file.read_text().split("\n")[1:5] == [
        "[0, 0, 2]",
        "[1, 10, 1]",
        "[1, 10, 0]",
        "[1, 10, 1]",
    ]
    assert read_spending(file) == (2, 15, 1)
    with SpendingLog(file) as log:  # the worker that waited for the last one is dead
        log.count("asked")
        log.count(cost(1))
    assert read_spending(file) == (3, 16, 1)


@pytest.mark.parametrize("torn", [b"[3, 9", b"\0\0\0", b"\0\0\n\0"])
def test_what_a_crash_left_behind_the_last_line_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    file = tmp_path / "spending.jsonl"
    file.write_bytes(b"[1, 10, 0]\n[2, 15, 0]\n" + torn)
    assert read_spending(file) == Spending(2, 15)
    with SpendingLog(file) as log:
        log.count("asked")
        log.count(cost(2))
    assert file.read_text() == "[1, 10, 0]\n[2, 15, 0]\n[2, 15, 1]\n[3, 17, 0]\n"


def test_a_run_begun_without_a_log_counts_on_from_its_rows(tmp_path: Path) -> None:
    with SpendingLog(tmp_path / "spending.jsonl", before=500) as log:
        log.count("asked")
        log.count(cost(10))
    assert read_spending(tmp_path / "spending.jsonl") == (1, 510, 0)


def halted_run(
    folder: Path, url: str, **settings: object
) -> tuple[Workspace, Run, run_control.Begin, Path]:
    """A run in a worker of its own whose first rows wait after their first answers; the file that keeps them waiting."""
    workspace = workspace_with(folder, ROWS)
    halt = folder / "halt"
    halt.touch()
    begin = partial(apart, halt=str(halt))
    how = fast(url, rows_in_flight=AT_ONCE, **settings)
    run = run_control.start(
        workspace, wish(workspace, Asking(), model="scripted"), "r", how, begin=begin
    )
    until(lambda: len(halt.read_text().split()) == AT_ONCE, "the first answers")
    return workspace, run, begin, halt


@pytest.mark.soak
@pytest.mark.parametrize("cached", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_answers_that_died_with_their_worker_are_paid_for_once(
    tmp_path: Path, cached: bool
) -> None:
    with serving() as url:
        workspace, run, begin, halt = halted_run(tmp_path, url, cached=cached)
        pid = status(workspace, run).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        crashed = until_state(workspace, run, "crashed")
        lost = request_counts(url)["tokens"]
        assert (crashed.counts.done, crashed.counts.cost, crashed.counts.spent) == (0, 0, lost)
        assert run_control.settle(workspace, run.id).spent_tokens == lost > 0
        halt.unlink()
        run_control.resume(workspace, run.id, begin=begin)
        until_state(workspace, run, "done")
        ended, counts = run_control.settle(workspace, run.id), request_counts(url)
    assert ended.spent_tokens == counts["tokens"]
    assert counts["/v1/chat/completions"] == 2 * ROWS + (0 if cached else AT_ONCE)
    assert ended.tokens == counts["tokens"] - (0 if cached else lost)


@pytest.mark.soak
def test_the_budget_counts_what_died_with_a_worker(tmp_path: Path) -> None:
    with serving() as url:
        workspace, run, begin, halt = halted_run(tmp_path, url)
        run_control.cancel(workspace, run.id)
        assert until_state(workspace, run, "cancelled").counts.done == 0
        lost, asked = request_counts(url)["tokens"], request_counts(url)["/v1/chat/completions"]
        halt.unlink()
        workspace.run_folder(run.id).set_execution_settings(fast(url, token_budget=lost))
        run_control.resume(workspace, run.id, begin=begin)
        ended = until_state(workspace, run, "budget")
        assert request_counts(url)["/v1/chat/completions"] == asked
    assert (ended.counts.done, ended.counts.spent) == (0, lost)
    assert run_control.settle(workspace, run.id).spent_tokens == lost


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_budget_is_kept_to_one_call_however_many_are_made_at_once(
    tmp_path: Path, concurrency: int
) -> None:
    workspace = workspace_with(tmp_path, 40)
    method = Asking()
    how = {"concurrency": concurrency, "rows_in_flight": concurrency, "token_budget": 400}
    with serving() as url:
        run = run_here(workspace, method, fast(url, **how), model="scripted")
        paid, n_calls = request_counts(url)["tokens"], request_counts(url)["/v1/chat/completions"]
    assert run.status == "budget"
    assert run.spent_tokens == paid
    assert f"{paid:,} tokens are spent, 400 were allowed" in status(workspace, run).cause
    assert 400 <= paid < 400 + 1.5 * paid / n_calls


def test_calls_wait_until_their_cost_fits_and_one_may_always_run() -> None:
    spent, sizes, most_at_once = 0, [40, 40, 40, 300, 20], 0
    under_way = []

    async def call(budget, tokens):
        nonlocal spent, most_at_once
        try:
            async with budget.reserve(tokens):
                under_way.append(tokens)
                assert len(under_way) == 1 or spent + sum(under_way) <= 100
                most_at_once = max(most_at_once, len(under_way))
                await asyncio.sleep(0.001)
                under_way.remove(tokens)
                spent += tokens
        except TokensSpent:
            return "spent"
        return "made"

    async def work():
        budget = CallBudget(lambda: 100 - spent)
        return await asyncio.gather(*(call(budget, tokens) for tokens in sizes))

    made = asyncio.run(work())
    assert most_at_once == 3
    assert made[:2] == ["made", "made"]
    assert "spent" in made
    assert spent < 100 + max(sizes)


@pytest.mark.soak
def test_what_failed_was_paid_for_as_the_server_counted_it(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 40)
    faults = Faults.each(
        0.05, "error", "busy", "dropped", "half", "empty", "hang", "not_finite", "wrong_format"
    )
    with serving(Script(faults=faults, retry_after_s=0.01)) as url:
        method = Asking()
        run = run_here(workspace, method, fast(url, timeout_s=2.0), model="scripted")
        counts = request_counts(url)
    assert run.status == "done"
    assert counts["empty"] + counts["half"] + counts["dropped"] > 0
    assert run.spent_tokens == counts["tokens"]


@pytest.mark.soak
def test_spending_that_cannot_be_written_down_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self, _outcome):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SpendingLog, "count", full)
    workspace = workspace_with(tmp_path, 40)
    with serving() as url:
        method = Asking()
        run = run_here(workspace, method, fast(url), model="scripted")
    folder = workspace.run_folder(run.id)
    assert run.status == "stopped"
    assert run.cause.startswith(f"{folder.spending}: ")
    assert "the disk is full" in run.cause or "no space" in run.cause
