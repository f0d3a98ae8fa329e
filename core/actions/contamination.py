"""Run a contamination experiment: every arm is a run whose parent is the examined run; finished arms are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from core.actions import jobs, launch
from core.actions import runs as run_actions
from core.actions.asked_arms import ArmPlanner, AskedArm, Progress, cost_of, refuse_changed
from core.actions.attribution import calls_of, server_of
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.run_to_end import run_to_end
from core.actions.screen_names import name_screen
from core.actions.workspace import Workspace
from core.engine.dependencies import load_pairs
from core.engine.request import Expectation, calls_at_once, choose_rows, one_server
from core.errors import NotFound, StateError
from core.experiments.contamination import AS_IT_IS, PAGE, ContaminationSpec, SavedContamination, choose_arms, read_saved
from core.experiments.screen_names import Descriptors, SavedScreen, choose_questions, known_descriptors
from core.fields.record import arguments_of, setting
from core.file_io import replace_file
from core.jobs.folder import JobFolder
from core.jobs.work import work_on
from core.llm.call_settings import CallSettings
from core.methods.base import method_named
from core.store import datasets, notes, predictions, runs
from core.texts import list_known


@dataclass(frozen=True, slots=True)
class ContaminationRequest:
    """A contamination experiment as a person asks for it. run: a name or id. rows: among the run's, as `parse_row_selection`
    reads them, or ids. endpoint: by default that of the settings. calls: how it is asked, by default as for the run."""

    run: str
    rows: str | tuple[str, ...] = setting(
        "", 'Among the run\'s own, such as "sample=300", "split=train", "ids=FILE"; by default all.', kind="text"
    )
    arms: tuple[str, ...] = setting((), "Some of coded, swapped, hidden and alone; by default all that the method has.")
    endpoint: str | None = one_server()
    concurrency: int = calls_at_once()
    screen: Mapping[str, str] = setting(
        {},
        "Facts about the screen: cells, organism, stimulus, authors or accession; other spellings after |.",
        title="Known of the screen",
        metavar="FIELD=TEXT",
    )
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class ContaminationPlan:
    """The plan of an experiment, the original run first. cost: of the unfinished arms.

    screen: the known facts, and the model's answers so far.
    """

    request: ContaminationRequest
    spec: ContaminationSpec
    arms: Mapping[str, AskedArm]
    cost: Expectation
    screen: SavedScreen

    @property
    def left(self) -> int:
        """How many arms are not done yet."""
        return sum(not arm.is_done for arm in self.arms.values())

    @property
    def questions(self) -> int:
        """How many questions on the name of the screen are not answered yet."""
        return 0 if self.screen.is_whole else 2 * len(choose_questions(self.spec.rows))


def plan_contamination(workspace: Workspace, request: ContaminationRequest) -> ContaminationPlan:
    """Return the plan and the cost of an experiment, without starting anything or contacting a server.

    Raise StateError for a run that cannot be asked with other names, InputError for impossible rows or arms.
    """
    with workspace.store.read() as db:
        run = runs.find_predicting(db, request.run)
        if run.is_asked:
            raise StateError(f"run {run.name}: an ad-hoc run of one row has no score; expected a run with labelled rows")
        arms = choose_arms(run, request.arms)
        answered = set(predictions.frame(db, run.id)["pair_id"])
        descriptors = known_descriptors(datasets.find(db, run.dataset), request.screen)
    known = [pair for pair in load_pairs(workspace.store, run.dataset).values() if pair.pair_id in answered]
    spec = ContaminationSpec(run.id, run.name, run.dataset, choose_rows(known, request.rows), arms)
    planner = ArmPlanner(
        workspace,
        run,
        spec.rows,
        calls=request.calls.over_run(run.spec),
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    options, seed = run.spec["options"], int(run.spec.get("seed", 0))
    planned = {arm: planner.plan(spec.name_of(arm), {**options, "names": arm}, seed) for arm in (AS_IT_IS, *arms)}
    first = planned[AS_IT_IS].spec
    refuse_changed(run, first)
    left = [arm.spec for arm in planned.values() if not arm.is_done]
    return ContaminationPlan(
        request, spec, planned, cost_of(workspace, left, first, request), _screen_of(workspace, spec, descriptors)
    )


def _screen_of(workspace: Workspace, spec: ContaminationSpec, known: Descriptors) -> SavedScreen:
    with workspace.store.read() as db:
        there = notes.presets_of_page(db, PAGE).get(spec.key)
    saved = SavedScreen() if there is None else read_saved(there).screen
    return saved if saved.known == known else SavedScreen(known)


def run_contamination(
    workspace: Workspace, plan: ContaminationPlan, *, overwrite: bool = False, progress: Progress | None = None
) -> SavedContamination:
    """Make every missing arm in this process, save the experiment under its key, and return it.

    After a kill, it can be started again: finished arms are found by their specification, the others are resumed.
    """
    saved = _save(workspace, plan)
    with work_on(job_of(workspace, plan.spec.key), PAGE) as reporter:
        loader = WorkspaceComponents(workspace, default_dataset(workspace, plan.spec.dataset))
        for i, (names, arm) in enumerate(plan.arms.items()):
            reporter.report(i / len(plan.arms), plan.spec.name_of(names))
            if progress is not None:
                progress(plan.spec.name_of(names), i, len(plan.arms))
            run_to_end(workspace, arm.request, arm.spec, components=loader, replace=overwrite)
        if saved.screen.is_whole:
            return saved
        saved = replace(saved, screen=_ask_screen(workspace, plan, reporter.report))
        run_actions.save_preset(workspace, PAGE, plan.spec.key, saved.as_json())
    return saved


def _ask_screen(workspace: Workspace, plan: ContaminationPlan, report: Callable[[float, str], object]) -> SavedScreen:
    report(1.0, "which screen the rows are from")
    with workspace.store.read() as db:
        run = runs.find(db, plan.spec.run)
    settings = launch.execution_settings(workspace, plan.arms[AS_IT_IS].request, method_named(run.method))
    return name_screen(workspace, run, plan.spec.rows, plan.screen.known, settings, lambda said: report(1.0, said))


def job_of(workspace: Workspace, key: str) -> JobFolder:
    """Return the folder of the job that makes an experiment's runs, here or apart."""
    return jobs.folder_of(workspace, PAGE, key)


def start_apart(workspace: Workspace, plan: ContaminationPlan) -> None:
    """Start an experiment in a process that outlives this one, or continue it; one that is running is left alone.

    Raise StateError if the process ends before it begins.
    """
    _save(workspace, plan)
    spec, folder = plan.spec, job_of(workspace, plan.spec.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    rows = folder.path / "rows.txt"
    replace_file(rows, "\n".join((*spec.rows, "")).encode())
    asked = replace(plan.request, rows=f"ids={rows}", arms=spec.arms)
    jobs.start(workspace, folder, PAGE, (PAGE, spec.run, *arguments_of(asked)))


def resume(workspace: Workspace, key: str) -> None:
    """Goes on with an experiment that was saved here, with the model server that it has. Raise NotFound."""
    workspace.refuse_if_read_only(PAGE, key)
    with workspace.store.read() as db:
        known = notes.presets_of_page(db, PAGE)
    if key not in known:
        raise NotFound(f"contamination {key!r}: not in this workspace, {list_known(key, list(known))}")
    saved = read_saved(known[key])
    spec, server, calls = saved.spec, server_of(workspace, saved), calls_of(workspace, saved)
    screen = {name: "|".join(spellings) for name, spellings in saved.screen.known.items()}
    request = ContaminationRequest(spec.run, spec.rows, spec.arms, server, screen=screen, calls=calls)
    start_apart(workspace, plan_contamination(workspace, request))


def _save(workspace: Workspace, plan: ContaminationPlan) -> SavedContamination:
    workspace.refuse_if_read_only(PAGE, plan.spec.name)
    saved = SavedContamination(plan.spec, {names: arm.spec.key for names, arm in plan.arms.items()}, plan.screen)
    with workspace.store.read() as db:
        there = notes.presets_of_page(db, PAGE).get(plan.spec.key)
    if there is None or read_saved(there) != saved:
        run_actions.save_preset(workspace, PAGE, plan.spec.key, saved.as_json())
    return saved
