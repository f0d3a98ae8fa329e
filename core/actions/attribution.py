"""An attribution: a run is asked again without each of its tools, and with all; every arm is a run with it as its parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.actions import studies
from core.actions.studies import Asking, Progress, Study, StudyJob, StudyPlan
from core.actions.workspace import Workspace
from core.engine.shared_settings import calls_at_once, one_server
from core.errors import StateError
from core.experiments.attribution_arms import (
    MOST_REPEATS,
    ArmKey,
    AttributionSpec,
    choose_tools,
    options_of_arm,
    refuse_meeting_seeds,
    seed_of_arm,
    tools_given,
)
from core.fields.record import setting
from core.llm.call_settings import CallSettings
from core.records import from_json, to_json
from core.store import evidence, runs

PAGE = "attribution"  # of the presets that attributions are saved as
REPEATS = 3


@dataclass(frozen=True, slots=True)
class AttributionRequest:
    """An attribution as a person asks for it. run: a name or id. rows: among the run's, as `parse_row_selection` reads them,
    or ids. tools: to leave out, by default all that answered about the rows. endpoint: by default that of the settings. calls:
    how it is asked, by default as for the run."""

    run: str
    rows: str | tuple[str, ...] = setting(
        "",
        "How many of the run's rows, drawn at random.",
        kind="text",
        title="Rows",
        command_help='Among the run\'s own, such as "sample=100", "split=train", "ids=FILE".',
        required=True,
    )
    tools: tuple[str, ...] = setting(
        (), "Tools to leave out, one at a time; by default all that answered.", title="Tools to leave out"
    )
    repeats: int = setting(
        REPEATS,
        "Number of repeats of every arm, each under its own seeds.",
        title="Repeats of every arm",
        least=1,
        most=MOST_REPEATS,
    )
    endpoint: str | None = one_server()
    concurrency: int = calls_at_once()
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class AttributionPlan(StudyPlan):
    """What an attribution will make; its arms are those of `AttributionSpec.arms`."""

    request: AttributionRequest
    spec: AttributionSpec


@dataclass(frozen=True, slots=True)
class SavedAttribution:
    """An attribution that was started here. runs: arm → id of its run, which may not be there yet."""

    spec: AttributionSpec
    runs: Mapping[ArmKey, str]

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `read_saved` makes an equal record."""
        return {"spec": to_json(self.spec), "runs": [[*arm, run] for arm, run in self.runs.items()]}

    def is_done(self, states: Mapping[str, str]) -> bool:
        """Return whether the run of every arm is done. states: run id → status."""
        return all(states.get(run) == "done" for run in self.runs.values())


def read_saved(values: Mapping[str, Any]) -> SavedAttribution:
    """Return the record that `SavedAttribution.as_json` was made from."""
    return SavedAttribution(
        from_json(AttributionSpec, values["spec"], "attribution"),
        {ArmKey(tool, repeat): run for tool, repeat, run in values["runs"]},
    )


def plan_attribution(workspace: Workspace, request: AttributionRequest) -> AttributionPlan:
    """Return the plan and the cost of an attribution, without starting anything or contacting a server.

    Raise StateError for a run that cannot be repeated, InputError for impossible rows, tools, repeats or seeds.
    """
    with workspace.store.read() as db:
        run = runs.find(db, request.run)
    if run.is_asked:
        raise StateError(f"run {run.name}: rows of ad-hoc runs cannot be attributed; `again` asks about one")
    given = tools_given(run)
    rows = studies.answered_rows(workspace, run, request.rows)
    with workspace.store.read() as db:
        called = evidence.tools(db, run.id, rows)
    tools = choose_tools(run, given, called, request.tools)
    refuse_meeting_seeds(run, request.repeats)
    spec = AttributionSpec(run.id, run.name, run.dataset, rows, tools, request.repeats)
    arms = studies.plan_arms(
        workspace,
        run,
        rows,
        [Asking(spec.name_of(arm), options_of_arm(run, arm), seed_of_arm(run, arm)) for arm in spec.arms],
        calls=request.calls.over_run(run.spec),
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    return AttributionPlan(arms, studies.cost_of(workspace, run, arms), request, spec)


def run_attribution(workspace: Workspace, plan: AttributionPlan, progress: Progress | None = None) -> SavedAttribution:
    """Make every missing arm in this process, save the attribution under its key, and return it.

    After a kill, it can be started again: finished arms are found by their specification, the others are resumed.
    """
    save_attribution(workspace, plan)
    with STUDY.work_on(workspace, plan.spec.key) as reporter:
        made = studies.make_arms(workspace, plan.arms, progress, reporter.report)
        saved = SavedAttribution(plan.spec, dict(zip(plan.spec.arms, made, strict=True)))
        STUDY.save(workspace, plan.spec.key, saved)
        return saved


def save_attribution(workspace: Workspace, plan: AttributionPlan) -> SavedAttribution:
    """Save an attribution with the ids that its runs will have; return an existing one unchanged."""
    workspace.refuse_if_read_only(STUDY.command, plan.spec.name)
    there = STUDY.get_saved(workspace, plan.spec.key)
    planned = (arm.spec.key for arm in plan.arms)
    saved = there or SavedAttribution(plan.spec, dict(zip(plan.spec.arms, planned, strict=True)))
    STUDY.save(workspace, plan.spec.key, saved)
    return saved


def start_apart(workspace: Workspace, plan: AttributionPlan) -> None:
    """Start an attribution in a process that outlives this one, or continue it; one that is running is left alone.

    Raise StateError if the process ends before it begins.
    """
    save_attribution(workspace, plan)
    STUDY.start_on_rows(workspace, plan.spec, replace(plan.request, tools=plan.spec.tools))


def resume(workspace: Workspace, saved: SavedAttribution) -> None:
    """Go on with an attribution as `Study.request_again` says."""
    workspace.refuse_if_read_only(STUDY.command, saved.spec.key)
    spec, made = saved.spec, saved.runs.values()
    request = STUDY.request_again(workspace, AttributionRequest, spec, made, tools=spec.tools, repeats=spec.repeats)
    start_apart(workspace, plan_attribution(workspace, request))


def _describe_job(saved: SavedAttribution, states: Mapping[str, str]) -> StudyJob:
    spec = saved.spec
    view = {"dataset": spec.dataset, "attribution": spec.key}
    return StudyJob(spec.key, f"evidence of {spec.name}", view, saved.is_done(states))


STUDY = Study(PAGE, "attribute", read_saved, _describe_job, resume)
