"""A study: arms with a cost, each a run; saved as a preset, made one after the other, here or in a process apart, then judged.

`attribution` and `contamination` say what the arms of theirs are, and core/experiments what they show. `ask_again`
plans and makes arms too, and saves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from core.actions import jobs, launch, run_control
from core.actions import runs as run_actions
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.launch import FindMethod
from core.actions.workspace import Workspace
from core.engine.dependencies import load_pairs
from core.engine.request import Expectation, RunRequest, choose_rows, expect, expected_calls
from core.engine.spec import LabelViewSpec, RunSpec
from core.errors import DeskError, NotFound, StateError
from core.experiments.attribution_arms import AttributionSpec
from core.experiments.contamination import ContaminationSpec
from core.fields.record import arguments_of, make, values_of
from core.jobs.folder import JobFolder
from core.jobs.work import Reporter, work_on
from core.log import LOGGER
from core.methods.base import method_named
from core.methods.fusion_components import ComponentLoader
from core.store import notes, predictions, runs
from core.store.runs import Run
from core.texts import list_known
from core.types import LIVE_STATES

_LOOK_EVERY_S = 0.5  # at a run that another process makes
Progress = Callable[[str, int, int], object]  # is told a run's name, how many are done, and of how many


class Asking(NamedTuple):
    """A run asked again: the name of the new one, its options and its seed."""

    name: str
    options: Mapping[str, object]
    seed: int


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm as a run. is_done: whether that run is there and done."""

    request: RunRequest
    spec: RunSpec
    is_done: bool


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What will be made. arms: in this order. cost: of those that are not done yet."""

    arms: tuple[Arm, ...]
    cost: Expectation

    @property
    def left(self) -> int:
        """How many arms are not done yet."""
        return sum(not arm.is_done for arm in self.arms)


class StudyJob(NamedTuple):
    """The job that makes a study. key, name, view: as those of a `Job`. is_done: whether there is nothing left to make."""

    key: str
    name: str
    view: Mapping[str, str]
    is_done: bool


class SavedStudy(Protocol):
    """A study that was started here, as its preset holds it."""

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `Study.read_saved` makes an equal record."""
        ...


Saved = TypeVar("Saved", bound=SavedStudy)
Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class Study(Generic[Saved]):
    """A kind of study. page: of its presets and its jobs. command: the one that makes it. read_saved: from a preset.

    describe_job: of a saved one, given run id → status of every run. resume: goes on with a saved one, in a process apart.
    """

    page: str
    command: str
    read_saved: Callable[[Mapping[str, Any]], Saved]
    describe_job: Callable[[Saved, Mapping[str, str]], StudyJob]
    resume: Callable[[Workspace, Saved], None]

    def list_saved(self, workspace: Workspace) -> list[Saved]:
        """Return every study that was started here, by key; without those whose preset cannot be read."""
        found = []
        for key, values in self._presets(workspace).items():
            try:
                found.append(self.read_saved(values))
            except (KeyError, TypeError, ValueError, AttributeError, DeskError) as error:
                LOGGER.warning("%s %r: cannot be read (%r), left out", self.page, key, error)
        return found

    def get_saved(self, workspace: Workspace, key: str) -> Saved | None:
        """Return the study of a key; None if there is none."""
        values = self._presets(workspace).get(key)
        return None if values is None else self.read_saved(values)

    def find_saved(self, workspace: Workspace, key: str) -> Saved:
        """Return the study of a key. Raise NotFound."""
        known = self._presets(workspace)
        if key not in known:
            raise NotFound(f"{self.page} {key!r}: not in this workspace, {list_known(key, list(known))}")
        return self.read_saved(known[key])

    def save(self, workspace: Workspace, key: str, saved: Saved) -> None:
        """Save a study under its key, unless the same is there."""
        if self.get_saved(workspace, key) != saved:
            run_actions.save_preset(workspace, self.page, key, saved.as_json())

    def _presets(self, workspace: Workspace) -> Mapping[str, Mapping[str, Any]]:
        with workspace.store.read() as db:
            return notes.presets_of_page(db, self.page)

    def job_of(self, workspace: Workspace, key: str) -> JobFolder:
        """Return the folder of the job that makes the arms, here or apart."""
        return jobs.folder_of(workspace, self.page, key)

    def work_on(self, workspace: Workspace, key: str) -> AbstractContextManager[Reporter]:
        """Make the arms here in the block, as `core.jobs.work.work_on` has it."""
        return work_on(self.job_of(workspace, key), self.page)

    def start_apart(self, workspace: Workspace, file: Path, content: str, *arguments: str, **about: Any) -> None:
        """Start the command in a process that outlives this one; one that is running is left alone.

        file, content: what it reads, in the folder of the job. about: further values of the record of its start. Raise StateError
        if the process ends before it begins, or if one is running that was started with other arguments.
        """
        folder, command = JobFolder(file.parent), [self.command, *arguments]
        jobs.start(workspace, folder, self.page, command, {file: content.encode()}, **about)
        there = jobs.find_about(folder)
        if there and (there["arguments"] != command or file.read_text("utf-8") != content):
            raise StateError(f"{self.page} {folder.key}: is running with other settings; stop it, or wait until it has ended")

    def start_on_rows(self, workspace: Workspace, spec: AttributionSpec | ContaminationSpec, request: Any) -> None:
        """Start the command about the rows of a run as `start_apart` does. request: as the command reads it."""
        rows = self.job_of(workspace, spec.key).path / "rows.txt"
        asked = replace(request, rows=f"ids={rows}")
        content = "\n".join((*spec.rows, ""))
        self.start_apart(workspace, rows, content, spec.run, *arguments_of(asked), wanted=values_of(asked))

    def request_again(
        self,
        workspace: Workspace,
        kind: type[Request],
        spec: AttributionSpec | ContaminationSpec,
        made: Iterable[str],
        **fixed: Any,
    ) -> Request:
        """Return the request by which a study of a run's rows goes on: with the settings that it was last started apart with, and
        the model server that one of its runs got since.

        kind: of request. made: ids of its runs. fixed: fields that the study itself says.
        """
        about = jobs.find_about(self.job_of(workspace, spec.key))
        request = make(kind, {**about.get("wanted", {}), "rows": ""}, run=spec.run)
        server = server_of(workspace, made, since=about.get("started_at", 0.0))
        return replace(request, rows=spec.rows, **{**fixed, **server})  # type: ignore[type-var]


def answered_rows(workspace: Workspace, run: Run, wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the rows of a run that `choose_rows` chooses. Raise InputError."""
    with workspace.store.read() as db:
        answered = set(predictions.frame(db, run.id)["pair_id"])
    return choose_rows([pair for pair in load_pairs(workspace.store, run.dataset).values() if pair.pair_id in answered], wanted)


def plan_arms(workspace: Workspace, run: Run, rows: tuple[str, ...], askings: Iterable[Asking], **asked: Any) -> tuple[Arm, ...]:
    """Return arms that ask rows of a run again, the first as it was. asked: how, as fields of `RunRequest`.

    Raise InputError, and StateError if the method, the rows or the packs changed since the run was made.
    """
    loader = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset))
    arms = []
    for name, options, seed in askings:
        request = RunRequest(
            method=run.method,
            dataset=run.dataset,
            options=options,
            rows=rows,
            name=name,
            model=run.model or "",
            labels=LabelViewSpec(**run.spec["view"]),
            seed=seed,
            repeat=int(run.spec.get("repeat", 0)),
            **asked,
        )
        spec = launch.resolve(workspace, request, components=loader)
        spec = replace(spec, parents=(run.id,), calls=request.calls.identity)  # as for the run, whatever a file says now
        arms.append(Arm(request, spec, find_done(workspace, spec) is not None))
    again = arms[0].spec
    read = {name: sha256 for name, sha256 in run.spec.get("packs", {}).items() if name in again.packs}
    compared = {
        "its method's version": (run.spec.get("version"), again.version),
        "its method's prompts": (run.spec.get("prompts_sha256", ""), again.prompts_sha256),
        "the rows or labels of its dataset": (run.spec.get("dataset_sha256"), again.dataset_sha256),
        "the knowledge packs": (read, dict(again.packs)),
    }
    refuse_changed(run, [what for what, (before, now) in compared.items() if before != now])
    return tuple(arms)


def refuse_changed(run: Run, changed: Sequence[str]) -> None:
    """Raise StateError if anything changed, since asking again would then not ask the same."""
    if changed:
        raise StateError(
            f"run {run.name}: {' and '.join(changed)} changed since it was made, so asking again would not repeat it. Expected "
            "a run made with the present versions"
        )


def cost_of(workspace: Workspace, run: Run, arms: Sequence[Arm]) -> Expectation:
    """Return the cost of the arms that are not done yet, by what calls of the run's method took."""
    left = [arm.spec for arm in arms if not arm.is_done]
    calls = sum(expected_calls(method_named(spec.method), spec.options, len(spec.rows)) for spec in left)
    asked, model = arms[0].request, arms[0].spec.model
    rate = launch.rate_of(workspace, run.method, model)
    return expect(calls, asked.concurrency, rate, launch.price_of(workspace, asked.endpoint, model))


def make_arms(
    workspace: Workspace,
    arms: Sequence[Arm],
    progress: Progress | None = None,
    report: Callable[[float, str], object] = lambda *_: None,
) -> list[str]:
    """Make every missing arm in this process; return the ids of all. After a kill, the same goes on.

    progress, report: are told of each arm before it is made; report gets the share that is done.
    """
    loader = WorkspaceComponents(workspace, default_dataset(workspace, arms[0].spec.dataset))
    made = []
    for i, arm in enumerate(arms):
        name = launch.name_of(arm.request)
        report(i / len(arms), name)
        if progress is not None:
            progress(name, i, len(arms))
        say = partial(report, i / len(arms))
        made.append(run_to_end(workspace, arm.request, arm.spec, components=loader, say=say).id)
    return made


def find_done(workspace: Workspace, spec: RunSpec) -> Run | None:
    """Return the run of a specification if it is done; None if it is not there or not done. Starts nothing."""
    with workspace.store.read() as db:
        found = next((run for run in runs.list_all(db, spec.dataset) if run.id == spec.key), None)
    return found if found is not None and found.status == "done" else None


def run_to_end(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    *,
    components: ComponentLoader,
    replace: bool = False,
    method: FindMethod = method_named,
    say: Callable[[str], object] = LOGGER.info,
) -> Run:
    """Return the run of a request, worked on here until it is done; resumed if an earlier worker left it.

    One that is resumed is asked from now on as the request says, on another server, say: a setting at its default stays as it
    is in the run. While another process works on it, such as that of another study with the same arm, this one waits, and tells
    `say`. Raise StateError if it ends otherwise, KeyboardInterrupt if a signal ended its worker, which took it for itself: it is
    meant for the experiment too; and what `check_change` raises.
    """
    there = run_control.find_same(workspace, spec, launch.name_of(request), replace=replace)
    if there is None:
        made = launch.start(workspace, request, spec=spec, replace=replace, components=components, method=method)
    else:
        made = _go_on(workspace, request, spec, _await_other(workspace, there, say), components, method)
    [run] = jobs.with_present_states(workspace, [made])  # a full disk may have kept its ending from the store
    if run.status == "interrupted":
        raise KeyboardInterrupt
    if run.status != "done":
        why = f" ({run.cause})" if run.cause else ""
        rows = f"{run.done:,} of {run.total:,} rows"
        raise StateError(f"{run.name}: is {run.status}{why}, {rows}; started again, it goes on from there")
    return run


def _go_on(
    workspace: Workspace, request: RunRequest, spec: RunSpec, there: Run, components: ComponentLoader, method: FindMethod
) -> Run:
    if there.status == "done":
        return there
    workspace.refuse_if_read_only("resume", there.name)

    def work_here(workspace: Workspace, run: str) -> None:
        run_control.work_on(workspace, run, method=method, components=components)

    present = workspace.run_folder(there.id).execution_settings()
    settings = launch.settings_to_resume(workspace, request, spec, present, method(spec.method))
    return run_control.resume(workspace, there.id, settings=settings, begin=work_here)


def _await_other(workspace: Workspace, run: Run, say: Callable[[str], object]) -> Run:
    """Return a run once no other process works on it, in its present state."""
    is_told = False
    while (now := _look_at(workspace, run)).status in LIVE_STATES:
        if not is_told:
            say(f"{run.name}: waits for the process that is making it already")
            is_told = True
        time.sleep(_LOOK_EVERY_S)
    return now


def _look_at(workspace: Workspace, run: Run) -> Run:
    with workspace.store.read() as db:
        [now] = jobs.with_present_states(workspace, [runs.find(db, run.id)])
    return now


def server_of(workspace: Workspace, made: Iterable[str], since: float = 0.0) -> dict[str, Any]:
    """Return how the latest of some runs that is there is asked: a request's endpoint, concurrency and calls; {} without.

    since: only of runs whose settings were written later, in seconds since 1970.
    """
    folders = [folder for run in made if (folder := workspace.run_folder(run)).exists and folder.settings_written_at >= since]
    settings = folders[-1].execution_settings() if folders else None
    if settings is None:
        return {}
    return {"endpoint": settings.servers, "concurrency": settings.concurrency, "calls": settings.calls}
