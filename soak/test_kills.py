"""Fifty kills during one run of 300 rows; tests/engine/test_killed.py has two."""

from __future__ import annotations

from pathlib import Path

from soak.conftest import Record
from tests.engine.test_killed import ROWS, assert_equal_to_undisturbed, run_with_kills

KILLS = 50
DELAY_S = 0.1  # of each answer: 8 rows at a time, so that a kill that comes a second late still finds rows to lose


def test_a_run_survives_fifty_kills(tmp_path: Path, record: Record) -> None:
    survived = run_with_kills(tmp_path, KILLS, DELAY_S)
    journal = survived.workspace.run_folder(survived.run.id).rows
    record(kills=KILLS, rows=ROWS, done=survived.run.done, tokens=survived.run.tokens, journal_bytes=journal.stat().st_size)
    assert_equal_to_undisturbed(survived)
