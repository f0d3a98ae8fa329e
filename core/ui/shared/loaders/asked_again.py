"""Rows that were asked again here, and how sure judges are."""

from __future__ import annotations

from core.experiments.asked_again import AskedAgain, is_asked_again, report_again
from core.experiments.seed_askings import JudgeNoise, report_seeds
from core.store.runs import Run
from core.ui.shared.loaders.cache import cache_by, reading
from core.ui.shared.loaders.records import all_runs


def askings_of_row(run: str, pair_id: str) -> list[Run]:
    """The runs that ask about a row of the run with this id again, oldest first."""
    return [each for each in all_runs() if is_asked_again(each, run, pair_id)]


@cache_by("runs", "datasets", entries=8, shared=True)
def again_report(pair_id: str, unchanged: str, changed: str | None) -> AskedAgain:
    """What two runs that asked about a row again found, both done. Raises StateError."""
    with reading() as db:
        return report_again(db, pair_id, unchanged, changed)


@cache_by("runs", "datasets", entries=4, shared=True)
def seed_report(run: str) -> JudgeNoise:
    """How sure the judge of the run with this id is. Raises StateError if it was asked once."""
    with reading() as db:
        return report_seeds(db, [run])
