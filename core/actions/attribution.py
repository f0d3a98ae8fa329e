"""Run an attribution: every arm is a run whose parent is the attributed run; finished arms are not repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.actions import jobs
from core.actions import runs as run_actions
from core.actions.asked_arms import ArmPlanner, AskedArm, Progress, cost_of, refuse_changed
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.run_to_end import run_to_end
from core.actions.workspace import Workspace
from core.engine.dependencies import load_pairs
from core.engine.request import Expectation, calls_at_once, choose_rows, one_server
from core.errors import NotFound, StateError
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
from core.experiments.contamination import SavedContamination
from core.fields.record import arguments_of, setting
from core.file_io import replace_file
from core.jobs.folder import JobFolder
from core.jobs.work import work_on
from core.llm.call_settings import CallSettings
from core.records import from_json, to_json
from core.store import evidence, notes, predictions, runs
from core.texts import list_known

PAGE = "attribution"  # of the presets that attributions are saved as
REPEATS = 3


@dataclass(frozen=True, slots=True)
class AttributionRequest:
    """An attribution as a person asks for it. run: a name or id. rows: among the run's, as `parse_row_selection` reads them,
    or ids. tools: to leave out, by default all that answered about the rows. endpoint: by default that of the settings. calls:
    how it is asked, by default as for the run."""

    run: str
    rows: str | tuple[str, ...] = setting(
        "", 'Among the run\'s own, such as "sample=100", "split=train", "ids=FILE".', kind="text", required=True
    )
    tools: tuple[str, ...] = setting((), "Tools to leave out, one at a time; by default all that answered.")
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
class AttributionPlan:
    """What an attribution will make. cost: of the arms that are not done yet."""

    request: AttributionRequest
    spec: AttributionSpec
    arms: Mapping[ArmKey, AskedArm]
    cost: Expectation

    @property
    def left(self) -> int:
        """How many arms are not done yet."""
        return sum(not arm.is_done for arm in self.arms.values())


@dataclass(frozen=True, slots=True)
class SavedAttribution:
    """An attribution that was started here. runs: arm → id of its run, which may not be there yet."""

    spec: AttributionSpec
    runs: Mapping[ArmKey, str]

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `read_saved` makes an equal record."""
        return {"spec": to_json(self.spec), "runs": [[*arm, run] for arm, run in self.runs.items()]}


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
        answered = set(predictions.frame(db, run.id)["pair_id"])
    known = [pair for pair in load_pairs(workspace.store, run.dataset).values() if pair.pair_id in answered]
    rows = choose_rows(known, request.rows)
    with workspace.store.read() as db:
        called = evidence.tools(db, run.id, rows)
    tools = choose_tools(run, given, called, request.tools)
    refuse_meeting_seeds(run, request.repeats)
    spec = AttributionSpec(run.id, run.name, run.dataset, rows, tools, request.repeats)
    planner = ArmPlanner(
        workspace,
        run,
        rows,
        calls=request.calls.over_run(run.spec),
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    arms = {arm: planner.plan(spec.name_of(arm), options_of_arm(run, arm), seed_of_arm(run, arm)) for arm in spec.arms}
    first = arms[spec.arms[0]].spec
    refuse_changed(run, first)
    left = [arm.spec for arm in arms.values() if not arm.is_done]
    return AttributionPlan(request, spec, arms, cost_of(workspace, left, first, request))


def run_attribution(
    workspace: Workspace, plan: AttributionPlan, *, overwrite: bool = False, progress: Progress | None = None
) -> SavedAttribution:
    """Make every missing arm in this process, save the attribution under its key, and return it.

    After a kill, it can be started again: finished arms are found by their specification, the others are resumed.
    """
    saved = save_attribution(workspace, plan)
    with work_on(job_of(workspace, plan.spec.key), PAGE) as reporter:
        loader = WorkspaceComponents(workspace, default_dataset(workspace, plan.spec.dataset))
        made: dict[ArmKey, str] = {}
        for i, (key, arm) in enumerate(plan.arms.items()):
            reporter.report(i / len(plan.arms), plan.spec.name_of(key))
            if progress is not None:
                progress(plan.spec.name_of(key), i, len(plan.arms))
            made[key] = run_to_end(workspace, arm.request, arm.spec, components=loader, replace=overwrite).id
        found = SavedAttribution(plan.spec, made)
        if found != saved:
            run_actions.save_preset(workspace, PAGE, plan.spec.key, found.as_json())
        return found


def job_of(workspace: Workspace, key: str) -> JobFolder:
    """Return the folder of the job that makes an attribution's runs, here or apart."""
    return jobs.folder_of(workspace, PAGE, key)


def save_attribution(workspace: Workspace, plan: AttributionPlan) -> SavedAttribution:
    """Save an attribution with the ids that its runs will have; return an existing one unchanged."""
    workspace.refuse_if_read_only("attribute", plan.spec.name)
    with workspace.store.read() as db:
        there = notes.presets_of_page(db, PAGE).get(plan.spec.key)
    if there is not None:
        return read_saved(there)
    saved = SavedAttribution(plan.spec, {key: arm.spec.key for key, arm in plan.arms.items()})
    run_actions.save_preset(workspace, PAGE, plan.spec.key, saved.as_json())
    return saved


def start_apart(workspace: Workspace, plan: AttributionPlan) -> None:
    """Start an attribution in a process that outlives this one, or continue it; one that is running is left alone.

    Raise StateError if the process ends before it begins.
    """
    save_attribution(workspace, plan)
    spec, folder = plan.spec, job_of(workspace, plan.spec.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    rows = folder.path / "rows.txt"
    replace_file(rows, "\n".join((*spec.rows, "")).encode())
    asked = replace(plan.request, rows=f"ids={rows}", tools=spec.tools)
    jobs.start(workspace, folder, PAGE, ("attribute", spec.run, *arguments_of(asked)))


def resume(workspace: Workspace, key: str) -> None:
    """Go on with an attribution that was saved here, with the model server that it has."""
    workspace.refuse_if_read_only("attribute", key)
    saved = find_saved(workspace, key)
    spec, server = saved.spec, server_of(workspace, saved)
    request = AttributionRequest(spec.run, spec.rows, spec.tools, spec.repeats, server, calls=calls_of(workspace, saved))
    start_apart(workspace, plan_attribution(workspace, request))


def is_done(workspace: Workspace, saved: SavedAttribution) -> bool:
    """Return whether the run of every arm is there and done."""
    with workspace.store.read() as db:
        states = runs.statuses(db)
    return all(states.get(run) == "done" for run in saved.runs.values())


def calls_of(workspace: Workspace, saved: SavedAttribution | SavedContamination) -> CallSettings:
    """Return how the model server of an experiment is asked, as its latest run has it; the defaults without any of its runs."""
    folders = [folder for run in saved.runs.values() if (folder := workspace.run_folder(run)).exists]
    return folders[-1].execution_settings().calls if folders else CallSettings()


def server_of(workspace: Workspace, saved: SavedAttribution | SavedContamination) -> str | None:
    """Return the model server that an experiment was started with, as its latest run has it.

    None where none of its runs is there.
    """
    folders = [folder for run in saved.runs.values() if (folder := workspace.run_folder(run)).exists]
    return folders[-1].execution_settings().servers if folders else None


def find_saved(workspace: Workspace, key: str) -> SavedAttribution:
    """Return the attribution of a key that was started here. Raise NotFound."""
    with workspace.store.read() as db:
        known = notes.presets_of_page(db, PAGE)
    if key not in known:
        raise NotFound(f"attribution {key!r}: not in this workspace, {list_known(key, list(known))}")
    return read_saved(known[key])
