"""How much of a run is memory of gene names: the same rows with names coded, hidden, swapped, or shown without a dossier.

Every arm is compared with the run as it is on the rows that both have, paired, with the intervals that any two runs get. A score
that rests on remembered names falls where names are coded or swapped; one that rests on the dossier where names stand alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.errors import InputError, StateError
from core.experiments.benchmark_report import ArmLoader
from core.experiments.screen_names import NamedScreen, SavedScreen
from core.hashes import KEY_DIGITS, sha256_of
from core.methods.base import method_named, methods
from core.methods.coded_names import ALONE, CODED, HIDDEN, SWAPPED, count_leaks
from core.records import from_json, to_json
from core.scoring.compare_runs import RunComparison, compare_runs
from core.stats.comparison import Difference
from core.stats.multiplicity import holm
from core.stats.power import LEVEL
from core.store import calls, notes, runs
from core.store.connection import Cursor
from core.store.runs import Run

PAGE = "contamination"  # of the presets that experiments are saved as
AS_IT_IS = ""
ARMS = (CODED, SWAPPED, HIDDEN, ALONE)  # in the order in which they are told
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
    """Which rows of a run are asked again, and how names are shown. run: an id; arms: of ARMS."""

    run: str
    name: str
    dataset: str
    rows: tuple[str, ...]
    arms: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its identity, of KEY_DIGITS hexadecimal digits: equal for equal rows and arms of the same run."""
        return sha256_of("\n\n".join((self.run, "\n".join(self.rows), "\n".join(self.arms))))[:KEY_DIGITS]

    def name_of(self, arm: str) -> str:
        """Return the name of an arm's run, which says what it is of."""
        return f"{self.name[:120]}: {TITLES[arm]} ({len(self.rows):,} rows, {self.key})"


@dataclass(frozen=True, slots=True)
class SavedContamination:
    """An experiment that was started here. runs: arm → id of its run, which may not be there yet. screen: what its model says of
    the screen, without answers before it was asked."""

    spec: ContaminationSpec
    runs: Mapping[str, str]
    screen: SavedScreen = field(default_factory=SavedScreen)

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `read_saved` makes an equal record."""
        return {"spec": to_json(self.spec), "runs": dict(self.runs), "screen": to_json(self.screen)}

    def is_done(self, states: Mapping[str, str]) -> bool:
        """Return whether the run of every arm is done. states: run id → status."""
        return all(states.get(run) == "done" for run in self.runs.values())


def read_saved(values: Mapping[str, Any]) -> SavedContamination:
    """Return the record that `SavedContamination.as_json` was made from."""
    spec = from_json(ContaminationSpec, values["spec"], "contamination")
    return SavedContamination(spec, dict(values["runs"]), from_json(SavedScreen, values.get("screen", {}), "screen"))


def finished_of(db: Cursor, run: str) -> list[SavedContamination]:
    """Return the experiments on a run whose arms are all done, in the order in which they were started."""
    states = runs.statuses(db)
    saved = map(read_saved, notes.presets_of_page(db, PAGE).values())
    return [one for one in saved if one.spec.run == run and one.is_done(states)]


def choose_arms(run: Run, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the arms of a run: those that are wanted, by default all that its method has, in the order of ARMS.

    Raise StateError for a run that cannot be asked with other names, InputError for arms that it has not.
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
    """Return why nobody here can ask a run again with other names; None for a run that can be asked."""
    cannot = "how much of its answers is memory of names is unknown: "
    if not isinstance(run.spec.get("options"), Mapping):
        return (
            f"{cannot}it was not made here, so its prompts and settings are unknown, and it cannot be asked again with other "
            "names"
        )
    if run.method not in methods() or not _choices(run.method):
        return f"{cannot}{run.method} does not support other names; prompt_only, debate, react, coordinator and summer do"
    return None


def _choices(method: str) -> tuple[str, ...]:
    """Return the ways in which a method can show names; none for one that cannot."""
    found = [option.choices for option in method_named(method).options if option.name == "names"]
    return found[0] if found else ()


@dataclass(frozen=True, slots=True, eq=False)
class ArmEffect:
    """One arm against the run as it is. p: two-sided, of the change of the mean; p_holm: over the arms. leaks: requests in which
    a symbol of their row stands in spite of its code, of `requests`; None where names are not to be coded."""

    arm: str
    run: str
    found: RunComparison
    p: float
    p_holm: float
    leaks: int | None
    requests: int

    @property
    def mean(self) -> Difference:
        """DE and DIR together; the one of them that can be scored where the other cannot."""
        result = self.found.covered
        parts = (result.mean, result.de, result.dir)
        return next((part for part in parts if not math.isnan(part.change.value)), result.mean)

    @property
    def falls(self) -> bool:
        """Whether the score falls, at 5% over all arms."""
        return self.p_holm <= LEVEL and self.mean.change.value < 0

    @property
    def share(self) -> tuple[float, float, float] | None:
        """How much of what the run scores above chance falls away, with the ends of the interval of the change, the run's own
        score taken as known; None for a run whose interval reaches chance."""
        base, change = self.mean.a.shown, self.mean.change.shown
        if not base.low > _CHANCE:
            return None
        above = base.estimate - _CHANCE
        return -change.estimate / above, -change.high / above, -change.low / above


@dataclass(frozen=True, slots=True, eq=False)
class Contamination:
    """What was found. runs: arm → id of its run, that as it is too; arms: in the order of the specification."""

    spec: ContaminationSpec
    runs: Mapping[str, str]
    arms: tuple[ArmEffect, ...]
    screen: NamedScreen

    def falls(self, *names: str) -> bool:
        """Return whether the score falls in one of these arms."""
        return any(each.falls for each in self.arms if each.arm in names)


def report_contamination(db: Cursor, saved: SavedContamination) -> Contamination:
    """Return what an experiment found whose arms are all done. Raise StateError if one is missing."""
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
    return Contamination(spec, made, arms, NamedScreen(saved.screen))


def _two_sided(p_better: float) -> float:
    return min(1.0, 2 * min(p_better, 1 - p_better)) if not math.isnan(p_better) else math.nan


def _leaks(db: Cursor, run: str, arm: str) -> tuple[int | None, int]:
    """In how many of a run's requests a symbol of their row stands, and of how many; None where names stand as they are."""
    is_coded = arm in (CODED, HIDDEN)
    requests = leaks = 0
    for pert, gene, text in calls.texts_of_requests(db, run):
        requests += 1
        leaks += count_leaks([text], (pert, gene)) if is_coded else 0
    return (leaks if is_coded else None), requests
