"""Fifty kills during one run of 300 rows; tests/runs/test_killed.py has three."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.runs.jobs.state import NO_REASON
from soak.conftest import Record
from tests.runs.test_killed import ROWS, assert_equal_to_undisturbed, read_states, run_with_kills
from tests.ui.conftest import read_page

KILLS = 50
DELAY_S = 0.1  # of each answer: 8 rows at a time, so that a kill that comes a second late still finds rows to lose


def test_a_run_survives_fifty_kills(
    tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    def see(workspace, run):
        """Overview and Run tell the state before `runs`, which settles the run, does."""
        monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(workspace.settings.workspace))
        assert NO_REASON in read_page("overview")
        shown = read_page("run", NO_REASON)
        assert "crashed; can be resumed" in shown
        assert NO_REASON in shown
        read_states(workspace, run)

    survived = run_with_kills(tmp_path, KILLS, DELAY_S, see, patient=True)
    journal = survived.workspace.run_folder(survived.run.id).rows
    record(
        kills=KILLS,
        before_the_first_heartbeat=survived.early,
        rows=ROWS,
        done=survived.run.done,
        tokens=survived.run.tokens,
        spent=survived.run.spent_tokens,
        answers_nobody_read=survived.lost[-1].answers,
        their_tokens=survived.lost[-1].tokens,
        requests_told_as_unanswered=survived.lost[-1].unanswered,
        longest_until_seen_s=f"{max(survived.late_s):.1f}",
        journal_bytes=journal.stat().st_size,
    )
    assert_equal_to_undisturbed(survived)
