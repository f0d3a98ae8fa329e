"""A hundred rows of SUMMER whose worker is killed ten times; tests/features/perturbqa/test_summer_runs.py has the short form."""

from __future__ import annotations

from pathlib import Path

from soak.conftest import Record
from tests.features.perturbqa.summer_runs import assert_equal_to_undisturbed, run_with_kills

ROWS, KILLS = 100, 10


def test_a_run_of_a_hundred_rows_survives_ten_kills(tmp_path: Path, record: Record) -> None:
    pair = run_with_kills(tmp_path, ROWS, KILLS, delay_s=0.05)
    record(
        rows=ROWS,
        kills=KILLS,
        tokens=pair.run.tokens,
        spent=pair.run.spent_tokens,
        spent_undisturbed=pair.expected.spent_tokens,
    )
    assert_equal_to_undisturbed(pair, ROWS)
