"""Rows that were asked again."""

from __future__ import annotations

from core.experiments.asked_again import is_asked_again, report_again
from core.store.runs import Run
from core.ui.shared.loaders.cache import cache_by, from_store
from core.ui.shared.loaders.records import all_runs

again_report = cache_by("runs", "datasets", entries=8, shared=True)(from_store(report_again))


def askings_of_row(run: str, pair_id: str) -> list[Run]:
    """Return the runs that ask about a row of the run with this id again, oldest first."""
    return [each for each in all_runs() if is_asked_again(each, run, pair_id)]
