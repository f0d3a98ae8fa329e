"""Carries out a contamination experiment: every arm is a run with the run in question as its parent; what is done is not done
again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from core.actions import launch
from core.actions import runs as run_actions
from core.actions.asked_arms import cost_of, refuse_changed
from core.actions.attribution import Progress
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.run_to_end import find_done, run_to_end
from core.actions.workspace import Workspace
from core.engine.dependencies import load_pairs
from core.engine.request import Expectation, RunRequest, calls_at_once, choose_rows, one_server
from core.engine.spec import LabelViewSpec, RunSpec
from core.errors import NotFound, StateError
from core.experiments.contamination import AS_IT_IS, PAGE, ContaminationSpec, SavedContamination, choose_arms, read_saved
from core.fields.record import setting
from core.llm.call_settings import CallSettings
from core.store import notes, predictions, runs
from core.store.runs import Run
from core.texts import list_known


@dataclass(frozen=True, slots=True)
class ContaminationRequest:
    """A contamination experiment as a person asks for it. run: a name or id. rows: among the run's, as `parse_row_selection`
    reads them, or ids. endpoint: by default that of the settings. calls: how it is asked, by default as for the run."""

    run: str
    rows: str | tuple[str, ...] = setting(
        "", 'Among the run\'s own, such as "sample=300", "split=train", "ids=FILE"; by default all.', kind="text"
    )
    arms: tuple[str, ...] = setting((), "Of coded, swapped, hidden and alone; by default all that the method has.")
    endpoint: str | None = one_server()
    concurrency: int = calls_at_once()
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class PlannedNames:
    """One arm as a run. is_done: whether that run is there and done."""

    arm: str
    request: RunRequest
    spec: RunSpec
    is_done: bool


@dataclass(frozen=True, slots=True)
class ContaminationPlan:
    """What an experiment will make, the run as it is first. cost: of the arms that are not done yet."""

    spec: ContaminationSpec
    arms: tuple[PlannedNames, ...]
    cost: Expectation

    @property
    def left(self) -> int:
        """How many arms are not done yet."""
        return sum(not arm.is_done for arm in self.arms)


def plan_contamination(workspace: Workspace, request: ContaminationRequest) -> ContaminationPlan:
    """What an experiment will ask and cost; starts nothing and asks no server.

    Raises StateError for a run that cannot be asked with other names, InputError for impossible rows or arms.
    """
    with workspace.store.read() as db:
        run = runs.find_predicting(db, request.run)
        if run.is_asked:
            raise StateError(f"run {run.name}: an ad-hoc run of one row has no score; expected a run with labelled rows")
        arms = choose_arms(run, request.arms)
        answered = set(predictions.frame(db, run.id)["pair_id"])
    known = [pair for pair in load_pairs(workspace.store, run.dataset).values() if pair.pair_id in answered]
    spec = ContaminationSpec(run.id, run.name, run.dataset, choose_rows(known, request.rows), arms)
    loader = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset))
    planned = tuple(_plan_arm(workspace, spec, run, arm, request, loader) for arm in (AS_IT_IS, *arms))
    refuse_changed(run, planned[0].spec)
    left = [arm.spec for arm in planned if not arm.is_done]
    return ContaminationPlan(spec, planned, cost_of(workspace, left, planned[0].spec, request))


def _plan_arm(
    workspace: Workspace, spec: ContaminationSpec, run: Run, arm: str, request: ContaminationRequest, loader: WorkspaceComponents
) -> PlannedNames:
    asked = RunRequest(
        method=run.method,
        dataset=run.dataset,
        options={**run.spec["options"], "names": arm},
        rows=spec.rows,
        name=spec.name_of(arm),
        model=run.model or "",
        labels=LabelViewSpec(**run.spec["view"]),
        seed=int(run.spec.get("seed", 0)),
        repeat=int(run.spec.get("repeat", 0)),
        calls=request.calls.over_run(run.spec),
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    resolved = launch.resolve(workspace, asked, components=loader)
    resolved = replace(resolved, parents=(run.id,), calls=asked.calls.identity)  # as for the run, whatever a file says now
    return PlannedNames(arm, asked, resolved, find_done(workspace, resolved) is not None)


def run_contamination(
    workspace: Workspace, plan: ContaminationPlan, *, overwrite: bool = False, progress: Progress | None = None
) -> SavedContamination:
    """Makes every arm that is not there yet, here, and saves the experiment under its key; returns it.

    Killed and started again, it goes on: arms that are done are found by their specification, the others are resumed.
    """
    workspace.refuse_if_read_only("contamination", plan.spec.name)
    saved = SavedContamination(plan.spec, {arm.arm: arm.spec.key for arm in plan.arms})
    run_actions.save_preset(workspace, PAGE, plan.spec.key, saved.as_json())
    loader = WorkspaceComponents(workspace, default_dataset(workspace, plan.spec.dataset))
    for i, arm in enumerate(plan.arms):
        if progress is not None:
            progress(plan.spec.name_of(arm.arm), i, len(plan.arms))
        run_to_end(workspace, arm.request, arm.spec, components=loader, replace=overwrite)
    return saved


def find_saved(workspace: Workspace, key: str) -> SavedContamination:
    """The experiment of a key that was started here. Raises NotFound."""
    with workspace.store.read() as db:
        known = notes.presets_of_page(db, PAGE)
    if key not in known:
        raise NotFound(f"contamination {key!r}: not in this workspace, {list_known(key, list(known))}")
    return read_saved(known[key])
