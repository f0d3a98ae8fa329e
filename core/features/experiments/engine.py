"""From an experiment to its runs: planned, made one after the other, here or in a process apart,
and then judged.

Every arm is a run, so that it has traces, a journal and can be resumed. A run is found by its
specification, so that nothing is asked twice: an experiment that was killed goes on where it was.
"""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from core.base.errors import DeskError, InputError, NotFound, StateError
from core.base.experiment import Experiment, Kind, Runs
from core.base.feature import find_named
from core.base.fields.record import make, values_of, values_with_effect
from core.base.hashes import KEY_DIGITS, sha256_of
from core.base.log import LOGGER
from core.base.records import from_json, to_json
from core.base.result import Figure, Table, hidden, inline
from core.base.texts import list_known
from core.features import hooks
from core.features.experiments.arms import LONGEST_NAME, ArmRuns, PlannedRun, refuse_meeting_seeds
from core.features.experiments.compare import calls_model, result_of_runs
from core.features.experiments.ledger import record_experiment, register_experiment
from core.features.experiments.result import ExperimentResult
from core.methods.base import method_named
from core.runs import actions as run_actions
from core.runs import launch
from core.runs.component_loader import default_dataset
from core.runs.jobs import overview
from core.runs.jobs.folder import JobFolder
from core.runs.jobs.work import Reporter, work_on
from core.runs.launch import Progress, server_of
from core.runs.request import Expectation, cost_sentence, expected_calls
from core.runs.workspace import Workspace
from core.store import notes, runs

PAGE = "experiments"  # of the presets that experiments are saved as
JOB = "experiment"  # the kind of their jobs


@dataclass(frozen=True, slots=True)
class SavedExperiment:
    """An experiment that was started here. key: of its kind, settings and rows. values: the
    settings of its kind as plain data, without its rows.

    runs: arm → (seed of the cut, seed of the calls, id of the run), "" where the id is not known
    yet.
    """

    kind: str
    name: str
    key: str
    values: Mapping[str, Any]
    dataset: str
    rows: tuple[str, ...]
    runs: Mapping[str, tuple[tuple[int, int, str], ...]]

    @property
    def made(self) -> Runs:
        """Arm → replicate → id of its run."""
        return {
            arm: {(cut, seed): run for cut, seed, run in of_arm if run}
            for arm, of_arm in self.runs.items()
        }

    @property
    def ids(self) -> list[str]:
        """The ids of its runs, "" where one is not known yet."""
        return [run for of_arm in self.runs.values() for *_, run in of_arm]

    @property
    def entry(self) -> str:
        """Its name in the ledger, with its key: others may ask other rows of the same run."""
        return f"{self.name[:LONGEST_NAME]} ({self.key})"

    def count_left(self, states: Mapping[str, str]) -> int:
        """Return how many of its runs are not done. states: run id → status."""
        return sum(states.get(run) != "done" for run in self.ids)


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """What an experiment will make. runs: in the order of making. cost: of those that are not done
    yet.
    """

    dataset: str
    runs: tuple[PlannedRun, ...]
    saved: SavedExperiment = hidden()
    experiment: Experiment = hidden()
    cost: Expectation = inline()
    caveats = ()
    json_properties = ("rows", "arms", "total", "left", "minutes")

    @property
    def rows(self) -> int:
        """How many rows are asked."""
        return len(self.experiment.rows)

    @property
    def total(self) -> int:
        """How many runs it has."""
        return len(self.runs)

    @property
    def left(self) -> int:
        """How many runs are not done yet."""
        return sum(not run.is_done for run in self.runs)

    @property
    def minutes(self) -> int | None:
        """How long what is left takes, None if that is unknown."""
        return None if self.cost.seconds is None else math.ceil(self.cost.seconds / 60)

    @property
    def arms(self) -> tuple[dict[str, Any], ...]:
        """Every arm, the base first: name, change (what it changes of the base), runs and done (how
        many it has)."""
        of_arm = [
            (arm, [run.is_done for run in self.runs if run.arm == arm.name])
            for arm in self.experiment.every
        ]
        return tuple(
            {"name": arm.name, "change": arm.change, "runs": len(made), "done": sum(made)}
            for arm, made in of_arm
        )

    @property
    def title(self) -> str:
        """The question, as a plan."""
        return f"Plan: {self.experiment.question}"

    @property
    def scope(self) -> str:
        """Which rows are asked."""
        return f"{self.rows:,} rows of {self.dataset}"

    @property
    def sentence(self) -> str:
        """What is left to make, and its cost."""
        if self.left and not self.cost.calls:
            return f"{self.left} of {self.total} runs are left; they call no model."
        return cost_sentence(self.cost, self.left, self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Return the arms."""
        return (Table("Arms of the plan", self.arms),)

    def figure(self) -> Figure | None:
        """Return None: a plan is a table."""
        return None


def plan(workspace: Workspace, kind: str, settings: Any) -> ExperimentPlan:
    """Return what an experiment will make and cost, without starting anything or contacting a
    server.

    settings: of the kind's own record. Raise NotFound, InputError, and StateError where a run
    cannot be asked again.
    """
    experiment = _build(kind_named(kind), workspace, settings)
    _refuse_impossible(experiment)
    kept = _without_rows(values_with_effect(settings))
    key = sha256_of(json.dumps([kind, kept, *experiment.rows], sort_keys=True, default=str))[
        :KEY_DIGITS
    ]
    arms = ArmRuns(workspace, experiment, key, start=False)
    planned = tuple(arms.plan(arm, cut, seed) for arm, cut, seed in arms.replicates())
    values = json.loads(json.dumps(_without_rows(values_of(settings)), default=str))
    saved = SavedExperiment(
        kind, experiment.name, key, values, experiment.dataset, experiment.rows, _runs_of(planned)
    )
    dataset = default_dataset(workspace, experiment.dataset).name
    costs = [Expectation(0, 0.0, 0.0, 0.0, 0.0)]
    for request, spec in ((one.request, one.spec) for one in planned if not one.is_done):
        if request is None or not method_named(request.method).needs_model:
            continue
        if spec is None:  # the server says later which model it has
            calls = expected_calls(method_named(request.method), request.options, len(request.rows))
            costs.append(Expectation(calls))
        else:
            costs.append(
                launch.estimate(workspace, spec, request.concurrency, endpoint=request.endpoint)
            )
    columns = zip(*map(astuple, costs), strict=True)
    total: list[Any] = [None if None in column else sum(column) for column in columns]
    return ExperimentPlan(dataset, planned, saved, experiment, Expectation(*total))


def run(
    workspace: Workspace, planned: ExperimentPlan, progress: Progress | None = None
) -> SavedExperiment:
    """Make every missing run in this process, and return the experiment; killed, the same goes on.

    Its entry in the ledger stands before its first run, and gets its result after the last.
    """
    _begin(workspace, planned)
    with work_on(job_of(workspace, planned.saved), JOB) as reporter:
        return _make(workspace, planned, reporter, progress)


def start_apart(workspace: Workspace, planned: ExperimentPlan) -> None:
    """Make the missing runs in a process that outlives this one; one that is running is left
    alone."""
    _begin(workspace, planned)
    saved, folder = planned.saved, job_of(workspace, planned.saved)
    overview.start(
        workspace,
        folder,
        JOB,
        ("jobs", "work", JOB, folder.key),
        name=saved.name,
        wanted={"key": saved.key},
    )


def resume(workspace: Workspace, saved: SavedExperiment) -> None:
    """Go on with an experiment in a process apart, on the server that one of its runs got since it
    was started."""
    start_apart(workspace, plan_again(workspace, saved))


def plan_again(workspace: Workspace, saved: SavedExperiment) -> ExperimentPlan:
    """Return the plan of a saved experiment as it goes on: on its rows, by the server that one of
    its runs got since."""
    settings = _settings_of(saved)
    since = overview.find_about(job_of(workspace, saved)).get("started_at", 0.0)
    server = server_of(workspace, filter(None, saved.ids), since=since)
    here = {each.name for each in fields(settings)}
    return plan(
        workspace,
        saved.kind,
        replace(settings, **{name: value for name, value in server.items() if name in here}),
    )


def list_saved(workspace: Workspace) -> list[SavedExperiment]:
    """Return every experiment that was started here; without those whose record cannot be read."""
    with workspace.store.read() as db:
        presets = notes.presets_of_page(db, PAGE)
    listed = []
    for key, values in presets.items():
        try:
            listed.append(from_json(SavedExperiment, values, f"experiment {key!r}"))
        except DeskError as error:
            LOGGER.warning("%s", error)
    return listed


def find_saved(workspace: Workspace, name: str) -> SavedExperiment:
    """Return the experiment of a key or name. Raise NotFound, and InputError for a name that
    several have."""
    known = list_saved(workspace)
    named = [saved for saved in known if name in (saved.key, saved.name)]
    if not named:
        names = [saved.name for saved in known]
        raise NotFound(f"experiment {name!r}: not in this workspace, {list_known(name, names)}")
    if len(named) > 1:
        keys = ", ".join(saved.key for saved in named)
        raise InputError(f"experiment {name!r}: several have this name, expected one of {keys}")
    return named[0]


def result_of(workspace: Workspace, saved: SavedExperiment) -> ExperimentResult:
    """Return the result of an experiment. Raise StateError while a run of it is not done."""
    kind = kind_named(saved.kind)
    with workspace.store.read() as db:
        left = saved.count_left(runs.statuses(db))
    if left:
        raise StateError(
            f"experiment {saved.name!r}: {left} of {len(saved.ids)} runs are missing; resume it"
        )
    experiment = replace(_build(kind, workspace, _settings_of(saved)), rows=saved.rows)
    with workspace.store.read() as db:
        result = result_of_runs(db, saved.kind, experiment, saved.made)
    completed: ExperimentResult = kind.complete(workspace, experiment, saved.made, result)
    return completed


def job_of(workspace: Workspace, saved: SavedExperiment) -> JobFolder:
    """Return the folder of the job that makes the runs, here or apart."""
    return overview.folder_of(workspace, JOB, saved.key)


def _build(kind: Kind, workspace: Workspace, settings: Any) -> Experiment:
    if kind.build is None:
        raise InputError(
            f"experiment {kind.name!r}: is computed and makes no run, expected a kind with arms"
        )
    return kind.build(workspace, settings)


def _refuse_impossible(experiment: Experiment) -> None:
    names = [arm.name for arm in experiment.every]
    if len(set(names)) < len(names):
        raise InputError(f"experiment {experiment.name!r}: two arms have one name")
    if experiment.measure == "answers" and not (
        experiment.noise_seeds and calls_model(experiment.base, experiment.every)
    ):
        raise InputError(f"experiment {experiment.name!r}: |Δ| needs a base that asks a model")
    for arm in experiment.every:
        refuse_meeting_seeds(
            arm, (*experiment.seeds, *(experiment.noise_seeds if arm is experiment.base else ()))
        )


def _without_rows(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without that of the rows, whose ids are saved beside them."""
    return {name: value for name, value in values.items() if name != "rows"}


def _settings_of(saved: SavedExperiment) -> Any:
    """Return the settings of a saved experiment, with the ids of its rows."""
    settings: Any = make(kind_named(saved.kind).settings, saved.values)
    return replace(settings, rows=saved.rows)


def _begin(workspace: Workspace, planned: ExperimentPlan) -> None:
    """Enter what an experiment claims in the ledger, and save it, before its first run."""
    workspace.refuse_if_read_only(JOB, planned.saved.name)
    register_experiment(workspace, _as_entered(planned))
    _save(workspace, planned.saved)


def _as_entered(planned: ExperimentPlan) -> Experiment:
    """Return an experiment as the ledger names it: a hypothesis that somebody wrote has a name of
    its own."""
    experiment = planned.experiment
    return (
        experiment
        if experiment.hypothesis is not None
        else replace(experiment, name=planned.saved.entry)
    )


def _save(workspace: Workspace, saved: SavedExperiment) -> None:
    if saved not in list_saved(workspace):
        run_actions.save_preset(workspace, PAGE, saved.key, to_json(saved))


def _runs_of(planned: Sequence[PlannedRun]) -> dict[str, tuple[tuple[int, int, str], ...]]:
    arms = dict.fromkeys(one.arm for one in planned)
    return {
        arm: tuple((one.cut, one.seed, one.run) for one in planned if one.arm == arm)
        for arm in arms
    }


def _make(
    workspace: Workspace, planned: ExperimentPlan, reporter: Reporter, progress: Progress | None
) -> SavedExperiment:
    arms = ArmRuns(
        workspace,
        planned.experiment,
        planned.saved.key,
        start=True,
        say=lambda why: reporter.update(what=why),
    )
    done = []
    for i, one in enumerate(planned.runs):
        what = one.arm if one.request is None else launch.name_of(one.request)
        reporter.report(i / len(planned.runs), what)
        if progress is not None:
            progress(what, i, len(planned.runs))
        made = arms.run_of(arms.arm(one.arm), one.cut, one.seed)
        assert made is not None, what
        done.append(replace(one, run=made.id, is_done=True))
    saved = replace(planned.saved, runs=_runs_of(done))
    _save(workspace, saved)
    record_experiment(workspace, _as_entered(planned), result_of(workspace, saved))
    return saved


_PACKAGES = ("core.features.experiments.kinds", "core.features.experiments.ideas")


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every kind by its name: those of kinds/, those of ideas/, then those of other
    features."""
    rooms = map(importlib.import_module, _PACKAGES)
    names = (
        f"{room.__name__}.{found.name}"
        for room in rooms
        for found in pkgutil.iter_modules(room.__path__)
    )
    own = (
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Kind)
    )
    return MappingProxyType({kind.name: kind for kind in (*own, *hooks("experiments"))})


def kind_named(name: str) -> Kind:
    """Return a kind by its name. Raise NotFound with the names that there are."""
    return find_named(kinds(), "experiment", name)


def work(workspace: Workspace, key: str, reporter: Reporter) -> None:
    """Make the runs of a saved experiment (its key) that are missing, as a job does."""
    _make(workspace, plan_again(workspace, find_saved(workspace, key)), reporter, None)
