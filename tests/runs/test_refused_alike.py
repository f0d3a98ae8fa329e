"""Runs whose server refuses what they send, answers by another model, or counts no tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.base.types import Failed
from core.runs.row_prediction import FIRST_ROWS, CircuitBreaker
from core.store.runs import Run
from tests.llm.canned import Asked, Canned, completion, serving
from tests.runs.cases import fast, run_here, status, workspace_with
from tests.runs.methods import Asking

METHOD = Asking()


def run_against(folder: Path, answer: Any, rows: int = 8, **how: Any) -> tuple[Run, str, int]:
    """A run on rows that a server answers; with its cause, and how often the server was asked."""
    workspace = workspace_with(folder, rows)
    settings = {"rows_in_flight": 1, "concurrency": 1, "cached": False, **how}
    with serving(answer) as (url, asked):
        run = run_here(workspace, METHOD, fast(url, **settings), model="m")
    return run, status(workspace, run).cause, len(asked)


def refuse(asked: Asked) -> Canned:
    return Canned(
        {
            "detail": [
                {
                    "loc": ["body", "seed"],
                    "msg": f"Extra inputs are not permitted, try {asked.number}",
                }
            ]
        },
        422,
    )


def test_a_run_whose_first_rows_are_refused_alike_stops_with_the_reason_and_its_rows_stay_missing(
    tmp_path: Path,
) -> None:
    run, cause, n_asked = run_against(tmp_path, refuse)
    assert (run.status, run.done, run.failed, n_asked) == ("stopped", 0, 0, FIRST_ROWS)
    assert cause.startswith(f"the first {FIRST_ROWS} rows are refused alike: ")
    assert cause.endswith("; set --leave-out seed")


@pytest.mark.soak
def test_a_run_of_two_rows_that_are_refused_stops_too(tmp_path: Path) -> None:
    run, cause, _ = run_against(tmp_path, refuse, rows=2)
    assert (run.status, run.done, run.failed) == ("stopped", 0, 0)
    assert cause.startswith("every row is refused alike: ")


@pytest.mark.soak
def test_rows_that_are_refused_after_one_was_answered_fail(tmp_path: Path) -> None:
    run, cause, _ = run_against(
        tmp_path, lambda asked: refuse(asked) if asked.number > 1 else Canned(completion("50"))
    )
    assert (run.status, run.done + run.failed) == ("done", 8)
    assert run.failed >= 7
    assert cause == "" or "every row failed" in cause


@pytest.mark.soak
def test_a_run_whose_rows_all_fail_says_why(tmp_path: Path) -> None:
    run, cause, _ = run_against(tmp_path, lambda _: Canned(completion("A", "content_filter")))
    assert (run.status, run.done, run.failed) == ("done", 0, 8)
    assert cause.startswith("every row failed, the last with Declined (")


@pytest.mark.soak
def test_another_model_that_answers_is_said_on_the_run(tmp_path: Path) -> None:
    _, cause, _ = run_against(
        tmp_path, lambda _: Canned({**completion("50"), "model": "tiny-fallback"})
    )
    assert "answers are by tiny-fallback, not m" in cause
    _, cause, _ = run_against(
        tmp_path / "b", lambda _: Canned({**completion("50"), "model": "org/m-2026-11"})
    )
    assert "answers are by" not in cause  # a version of the same


@pytest.mark.soak
def test_a_token_budget_counts_an_estimate_where_the_server_counts_nothing(tmp_path: Path) -> None:
    run, cause, n_asked = run_against(
        tmp_path, lambda _: Canned({**completion("50"), "usage": None}), token_budget=60
    )
    assert run.status == "budget"
    assert n_asked < 16
    assert "of them estimated: the server counts none) are spent, 60 were allowed" in cause


def failure(kind: str, message: str, pair: str = "a") -> Failed:
    return Failed(pair, kind, message, ())


def test_refusals_alike_differ_in_numbers_and_ids_at_most() -> None:
    breaker = CircuitBreaker(16)
    for row in (failure("Refused", "a: 9 tokens"), failure("Refused", "b: 1,234 tokens", "b")):
        assert breaker.add(row) == []
    assert not breaker.is_open
    other = failure("Refused", "no such model", "c")
    assert len(breaker.add(other)) == 3
    assert breaker.ever_answered


@pytest.mark.parametrize(
    "breaker", [CircuitBreaker(16, is_fresh=False), CircuitBreaker(16, ever_answered=True)]
)
def test_a_refusal_later_on_is_a_failure(breaker: CircuitBreaker) -> None:
    row = failure("Refused", "no")
    assert breaker.add(row) == [row]
