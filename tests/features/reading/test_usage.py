"""What a run took, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from core.features.reading.overview.runs_table import cost_text, time_text, tokens_text
from core.runs.request import Price
from core.runs.workspace import Workspace
from tests.ui.test_apptest import the_run

START = datetime(2026, 1, 1, 12)


def test_time_tokens_and_cost(small_workspace: Workspace) -> None:
    run = replace(
        the_run(small_workspace),
        status="done",
        started_at=START,
        finished_at=START + timedelta(seconds=200),
    )
    assert time_text(run) == "3 min 20 s"
    assert time_text(replace(run, status="crashed")) is None
    assert time_text(replace(run, started_at=None)) is None
    paid = replace(run, tokens=2_000_000, tokens_unknown=0)
    assert tokens_text(paid) == "2.0 M"
    assert tokens_text(replace(paid, tokens=9_999, tokens_unknown=1)) == "≥ 9,999"
    assert tokens_text(replace(paid, tokens=None)) is None
    assert cost_text(paid, {}, None) is None
    assert cost_text(paid, {}, Price(2, 2)) == "4.00"
    assert cost_text(paid, {}, Price(1, 3)) == "2.00–6.00"
    assert cost_text(paid, {paid.id: (1_000_000, 500_000)}, Price(1, 3)) == "2.50"
    assert cost_text(replace(paid, tokens_unknown=5), {}, Price(2, 2)) is None
