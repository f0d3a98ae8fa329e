"""Attributions and experiments with other gene names that were started here, with their results.

Also rows that were asked again, and how sure judges are.
"""

from __future__ import annotations

from core.actions import attribution
from core.actions.attribution import SavedAttribution
from core.experiments.asked_again import is_asked_again, report_again
from core.experiments.attribution import Attribution, report_attribution
from core.experiments.contamination import (
    PAGE,
    Contamination,
    SavedContamination,
    list_finished,
    read_saved,
    report_contamination,
)
from core.experiments.seed_askings import JudgeNoise, report_seeds
from core.store.runs import Run
from core.ui.shared.loaders.cache import cache_by, from_store, reading
from core.ui.shared.loaders.records import all_presets, all_runs
from core.ui.shared.server_workspace import read_workspace

again_report = cache_by("runs", "datasets", entries=8, shared=True)(from_store(report_again))


@cache_by("presets", entries=1)
def saved_attributions() -> list[SavedAttribution]:
    """Return every attribution that was started here."""
    return [attribution.read_saved(values) for values in all_presets(attribution.PAGE).values()]


def count_done_arms(saved: SavedAttribution) -> int:
    """Return how many arms of an attribution are done."""
    done = {run.id for run in all_runs() if run.status == "done"}
    return sum(run in done for run in saved.runs.values())


@cache_by("presets", "runs", "datasets", entries=8, shared=True)
def attribution_report(key: str) -> Attribution:
    """Return the result of an attribution whose arms are all done. Raise NotFound, StateError."""
    saved = attribution.STUDY.find_saved(read_workspace(), key)
    with reading() as db:
        return report_attribution(db, saved.spec, saved.runs)


@cache_by("presets", "runs", "datasets", entries=8, shared=True)
def contamination_reports(run: str) -> list[Contamination]:
    """Return the results of finished experiments with other gene names on a run."""
    with reading() as db:
        return [report_contamination(db, each) for each in list_finished(db, run)]


def unfinished_contaminations(run: str) -> list[SavedContamination]:
    """Return the experiments with other gene names on a run with an unfinished arm."""
    done = {each.id for each in all_runs() if each.status == "done"}
    saved = map(read_saved, all_presets(PAGE).values())
    return [one for one in saved if one.spec.run == run and not done.issuperset(one.runs.values())]


def askings_of_row(run: str, pair_id: str) -> list[Run]:
    """Return the runs that ask about a row of the run with this id again, oldest first."""
    return [each for each in all_runs() if is_asked_again(each, run, pair_id)]


@cache_by("runs", "datasets", entries=4, shared=True)
def seed_report(run: str) -> JudgeNoise:
    """Return how sure the judge of the run with this id is. Raise StateError if it was asked only once."""
    with reading() as db:
        return report_seeds(db, [run])
