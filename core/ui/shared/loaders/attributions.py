"""Attributions and experiments with other gene names that were started here, and what they found."""

from __future__ import annotations

from core.actions import attribution
from core.actions.attribution import SavedAttribution
from core.experiments.attribution import Attribution, report_attribution
from core.experiments.contamination import PAGE, Contamination, SavedContamination, finished_of, read_saved, report_contamination
from core.ui.shared.loaders.cache import cache_by, reading
from core.ui.shared.loaders.records import all_presets, all_runs
from core.ui.shared.server_workspace import read_workspace


@cache_by("presets", entries=1)
def saved_attributions() -> list[SavedAttribution]:
    """Every attribution that was started here."""
    return [attribution.read_saved(values) for values in all_presets(attribution.PAGE).values()]


def count_done_arms(saved: SavedAttribution) -> int:
    """How many arms of an attribution are done."""
    done = {run.id for run in all_runs() if run.status == "done"}
    return sum(run in done for run in saved.runs.values())


@cache_by("presets", "runs", "datasets", entries=8, shared=True)
def attribution_report(key: str) -> Attribution:
    """What an attribution found, whose arms are all done. Raises NotFound, StateError."""
    saved = attribution.find_saved(read_workspace(), key)
    with reading() as db:
        return report_attribution(db, saved.spec, saved.runs)


@cache_by("presets", "runs", "datasets", entries=8, shared=True)
def contamination_reports(run: str) -> list[Contamination]:
    """What the finished experiments with other gene names found on a run."""
    with reading() as db:
        return [report_contamination(db, each) for each in finished_of(db, run)]


def unfinished_contaminations(run: str) -> list[SavedContamination]:
    """The experiments with other gene names on a run of which an arm is not done."""
    done = {each.id for each in all_runs() if each.status == "done"}
    saved = map(read_saved, all_presets(PAGE).values())
    return [one for one in saved if one.spec.run == run and not done.issuperset(one.runs.values())]
