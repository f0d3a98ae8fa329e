"""Measure how much a run depends on memory of gene names: the same rows with names coded, hidden, swapped, or without a dossier.

Every arm is compared with the original run on their common rows, paired, with the usual intervals. A score from remembered
names falls if names are coded or swapped. A score from the dossier falls if names are shown without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import InputError, StateError
from core.hashes import KEY_DIGITS, sha256_of
from core.methods.base import method_named, methods
from core.methods.coded_names import ALONE, CODED, HIDDEN, SWAPPED, count_leaks
from core.records import from_json, to_json
from core.scoring.arm_loader import ArmLoader
from core.scoring.compare_runs import RunComparison, compare_runs
from core.stats.comparison import Difference
from core.stats.multiplicity import holm
from core.stats.power import LEVEL
from core.store import calls, notes, runs
from core.store.connection import Cursor
from core.store.runs import Run

PAGE = "contamination"  # page of the presets that store experiments
AS_IT_IS = ""
ARMS = (CODED, SWAPPED, HIDDEN, ALONE)  # in the order of the report
TITLES = {
    AS_IT_IS: "as it is",
    CODED: "every name coded",
    SWAPPED: "names swapped",
    HIDDEN: "dossier only",
    ALONE: "names only",
}
WITHOUT_NAMES = (CODED, SWAPPED, HIDDEN)
_CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class ContaminationSpec:
    """The rows of a run to ask again, and the ways to show names. run: an id; arms: keys of ARMS."""

    run: str
    name: str
    dataset: str
    rows: tuple[str, ...]
    arms: tuple[str, ...]

    @property
    def key(self) -> str:
        """The identity of the experiment, in KEY_DIGITS hexadecimal digits: equal for equal rows and arms of the same run."""
        return sha256_of("\n\n".join((self.run, "\n".join(self.rows), "\n".join(self.arms))))[:KEY_DIGITS]

    def name_of(self, arm: str) -> str:
        """Return the name of an arm's run, which describes the arm."""
        return f"{self.name[:120]}: {TITLES[arm]} ({len(self.rows):,} rows, {self.key})"


@dataclass(frozen=True, slots=True)
class SavedContamination:
    """An experiment started here. runs: arm → id of its run, which may not exist yet."""

    spec: ContaminationSpec
    runs: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return plain data. `read_saved` makes an equal record from it."""
        return {"spec": to_json(self.spec), "runs": dict(self.runs)}

    def is_done(self, states: Mapping[str, str]) -> bool:
        """Return whether the run of every arm is done. states: run id → status."""
        return all(states.get(run) == "done" for run in self.runs.values())


def read_saved(values: Mapping[str, Any]) -> SavedContamination:
    """Return the record from the result of `SavedContamination.as_json`."""
    spec = from_json(ContaminationSpec, values["spec"], "contamination")
    return SavedContamination(spec, dict(values["runs"]))


def list_finished(db: Cursor, run: str) -> list[SavedContamination]:
    """Return the experiments on a run with all arms done, in the order of their start."""
    states = runs.statuses(db)
    saved = map(read_saved, notes.presets_of_page(db, PAGE).values())
    return [one for one in saved if one.spec.run == run and one.is_done(states)]


def choose_arms(run: Run, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted arms of a run, by default all arms of its method, in the order of ARMS.

    Raise StateError for a run that cannot be asked with other names, and InputError for unknown arms.
    """
    why = why_unknown(run)
    if why is not None:
        raise StateError(f"run {run.name} ({run.method}, {run.origin}): {why}")
    options, known = run.spec["options"], _choices(run.method)
    if options.get("names"):
        raise StateError(f"run {run.name}: its names are {options['names']} already; expected a run with original names")
    shows_dossier = ALONE in known
    offered = [arm for arm in ARMS if arm in known and (arm != HIDDEN or shows_dossier or options.get("prompts"))]
    unknown = next((arm for arm in wanted if arm not in offered), None)
    if unknown is not None:
        raise InputError(f"arms: {unknown!r} is none of {run.method}, expected {', '.join(offered)}")
    return tuple(arm for arm in offered if not wanted or arm in wanted)


def why_unknown(run: Run) -> str | None:
    """Return why a run cannot be asked again with other names here; None if it can."""
    cannot = "it is unknown how far its answers depend on memory of names: "
    if not isinstance(run.spec.get("options"), Mapping):
        return f"{cannot}it was not made here; its prompts and settings are unknown, so it cannot be asked with other names"
    if run.method not in methods() or not _choices(run.method):
        return f"{cannot}{run.method} does not support other names; prompt_only, debate, react, coordinator and summer do"
    return None


def _choices(method: str) -> tuple[str, ...]:
    """Return the ways in which a method can show names; empty if it has no such option."""
    found = [option.choices for option in method_named(method).options if option.name == "names"]
    return found[0] if found else ()


@dataclass(frozen=True, slots=True, eq=False)
class ArmEffect:
    """One arm against the original run. p: two-sided, of the change of the mean; p_holm: over the arms. leaks: number of
    `requests` that contain a symbol of their row although it is coded; None if names are not coded.
    """

    arm: str
    run: str
    found: RunComparison
    p: float
    p_holm: float
    leaks: int | None
    requests: int

    @property
    def mean(self) -> Difference:
        """The mean of DE and DIR, or only one of them if the other is undefined."""
        result = self.found.covered
        parts = (result.mean, result.de, result.dir)
        return next((part for part in parts if not math.isnan(part.change.value)), result.mean)

    @property
    def falls(self) -> bool:
        """Whether the score falls, at 5% over all arms."""
        return self.p_holm <= LEVEL and self.mean.change.value < 0

    @property
    def share(self) -> tuple[float, float, float] | None:
        """The lost share of the run's score above chance, with an interval from that of the change (the run's own score is
        treated as exact). None for a run whose interval includes chance.
        """
        base, change = self.mean.a.shown, self.mean.change.shown
        if not base.low > _CHANCE:
            return None
        above = base.estimate - _CHANCE
        return -change.estimate / above, -change.high / above, -change.low / above


@dataclass(frozen=True, slots=True, eq=False)
class Contamination:
    """The result of an experiment. runs: arm → id of its run, including the original; arms: in the order of the specification."""

    spec: ContaminationSpec
    runs: Mapping[str, str]
    arms: tuple[ArmEffect, ...]

    def falls(self, *names: str) -> bool:
        """Return whether the score falls in one of these arms."""
        return any(each.falls for each in self.arms if each.arm in names)


def report_contamination(db: Cursor, saved: SavedContamination) -> Contamination:
    """Report an experiment whose arms are all done. Raise StateError if an arm is missing."""
    spec, made = saved.spec, saved.runs
    missing = [TITLES[arm] for arm in (AS_IT_IS, *spec.arms) if arm not in made]
    if missing:
        raise StateError(f"contamination of {spec.name}: no run for {', '.join(missing)}, expected all arms done")
    loader = ArmLoader(db, spec.dataset)
    base = loader.rows_of(made[AS_IT_IS])
    compared = [compare_runs(base, loader.rows_of(made[arm])) for arm in spec.arms]
    effects = [
        ArmEffect(arm, made[arm], found, math.nan, math.nan, *_leaks(db, made[arm], arm))
        for arm, found in zip(spec.arms, compared, strict=True)
    ]
    p = [_two_sided(each.mean.p_gt_0) for each in effects]
    adjusted = holm(p)
    arms = tuple(
        ArmEffect(each.arm, each.run, each.found, own, float(corrected), each.leaks, each.requests)
        for each, own, corrected in zip(effects, p, adjusted, strict=True)
    )
    return Contamination(spec, made, arms)


def _two_sided(p_better: float) -> float:
    return min(1.0, 2 * min(p_better, 1 - p_better)) if not math.isnan(p_better) else math.nan


def _leaks(db: Cursor, run: str, arm: str) -> tuple[int | None, int]:
    """Return the number of a run's requests that contain a symbol of their row, and the number of requests; None for original
    names.
    """
    is_coded = arm in (CODED, HIDDEN)
    requests = leaks = 0
    for pert, gene, text in calls.texts_of_requests(db, run):
        requests += 1
        leaks += count_leaks([text], (pert, gene)) if is_coded else 0
    return (leaks if is_coded else None), requests
