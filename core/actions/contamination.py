"""A contamination experiment: a run is asked again with other gene names; every arm is a run with it as its parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.actions import studies
from core.actions.studies import Asking, Progress, Study, StudyJob, StudyPlan
from core.actions.workspace import Workspace
from core.engine.shared_settings import calls_at_once, one_server
from core.errors import StateError
from core.experiments.contamination import AS_IT_IS, PAGE, ContaminationSpec, SavedContamination, choose_arms, read_saved
from core.fields.record import setting
from core.llm.call_settings import CallSettings
from core.store import runs


@dataclass(frozen=True, slots=True)
class ContaminationRequest:
    """A contamination experiment as a person asks for it. run: a name or id. rows: among the run's, as `parse_row_selection`
    reads them, or ids. endpoint: by default that of the settings. calls: how it is asked, by default as for the run."""

    run: str
    rows: str | tuple[str, ...] = setting(
        "",
        "How many of the run's rows, drawn at random.",
        kind="text",
        title="Rows",
        command_help='Among the run\'s own, such as "sample=300", "split=train", "ids=FILE"; by default all.',
    )
    arms: tuple[str, ...] = setting(
        (), "Some of coded, swapped, hidden and alone; by default all that the method has.", title="Ways to show names"
    )
    endpoint: str | None = one_server()
    concurrency: int = calls_at_once()
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class ContaminationPlan(StudyPlan):
    """What an experiment will make, the run as it is first."""

    request: ContaminationRequest
    spec: ContaminationSpec


def plan_contamination(workspace: Workspace, request: ContaminationRequest) -> ContaminationPlan:
    """Return the plan and the cost of an experiment, without starting anything or contacting a server.

    Raise StateError for a run that cannot be asked with other names, InputError for impossible rows or arms.
    """
    with workspace.store.read() as db:
        run = runs.find_predicting(db, request.run)
        if run.is_asked:
            raise StateError(f"run {run.name}: an ad-hoc run of one row has no score; expected a run with labelled rows")
        arms = choose_arms(run, request.arms)
    rows = studies.answered_rows(workspace, run, request.rows)
    spec = ContaminationSpec(run.id, run.name, run.dataset, rows, arms)
    options, seed = run.spec["options"], int(run.spec.get("seed", 0))
    planned = studies.plan_arms(
        workspace,
        run,
        rows,
        [Asking(spec.name_of(arm), {**options, "names": arm}, seed) for arm in (AS_IT_IS, *arms)],
        calls=request.calls.over_run(run.spec),
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    return ContaminationPlan(planned, studies.cost_of(workspace, run, planned), request, spec)


def run_contamination(workspace: Workspace, plan: ContaminationPlan, progress: Progress | None = None) -> SavedContamination:
    """Make every missing arm in this process, save the experiment under its key, and return it.

    After a kill, it can be started again: finished arms are found by their specification, the others are resumed.
    """
    saved = _save(workspace, plan)
    with STUDY.work_on(workspace, plan.spec.key) as reporter:
        studies.make_arms(workspace, plan.arms, progress, reporter.report)
    return saved


def start_apart(workspace: Workspace, plan: ContaminationPlan) -> None:
    """Start an experiment in a process that outlives this one, or continue it; one that is running is left alone.

    Raise StateError if the process ends before it begins.
    """
    _save(workspace, plan)
    STUDY.start_on_rows(workspace, plan.spec, replace(plan.request, arms=plan.spec.arms))


def _save(workspace: Workspace, plan: ContaminationPlan) -> SavedContamination:
    workspace.refuse_if_read_only(STUDY.command, plan.spec.name)
    planned = zip((AS_IT_IS, *plan.spec.arms), (arm.spec.key for arm in plan.arms), strict=True)
    saved = SavedContamination(plan.spec, dict(planned))
    STUDY.save(workspace, plan.spec.key, saved)
    return saved


def resume(workspace: Workspace, saved: SavedContamination) -> None:
    """Go on with an experiment as `Study.request_again` says."""
    workspace.refuse_if_read_only(STUDY.command, saved.spec.key)
    spec, made = saved.spec, saved.runs.values()
    request = STUDY.request_again(workspace, ContaminationRequest, spec, made, arms=spec.arms)
    start_apart(workspace, plan_contamination(workspace, request))


def _describe_job(saved: SavedContamination, states: Mapping[str, str]) -> StudyJob:
    spec = saved.spec
    view = {"dataset": spec.dataset, "run": spec.run}
    return StudyJob(spec.key, f"gene names of {spec.name}", view, saved.is_done(states))


STUDY = Study(PAGE, PAGE, read_saved, _describe_job, resume)
