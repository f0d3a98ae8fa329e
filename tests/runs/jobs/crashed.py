"""A job of every kind whose process died, as it leaves its files: for the tests of all that shows jobs. No process is started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from core.features.arguments.methods.judge_rubric import reading_options
from core.features.arguments.rubric import Rubric
from core.features.cells.actions import job_of as labels_job
from core.features.experiments import engine
from core.features.experiments.engine import SavedExperiment
from core.features.targets import actions as target_ranking
from core.runs import actions as run_actions
from core.runs import launch, run_control
from core.runs.jobs.folder import JobFolder, write_json
from core.runs.jobs.state import identify_process
from core.runs.request import RunRequest
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from tests.features.finetune.cases import folder_in
from tests.features.targets import cases as targets
from tests.runs.cases import run_named

SAID = "33% of it is done"
RUBRIC = Rubric("mechanism", "Does the brief name a mechanism?")


def leave_dead(folder: JobFolder, **said: object) -> JobFolder:
    """Leave a job as a process does that is killed: its heartbeat and its log, and no ending."""
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.set_command("run")
    os.utime(folder.control, (0, 0))
    folder.log.write_text(f"{SAID}\n")
    write_json(folder.heartbeat, {**identify_process(os.getpid()), "born": "1", **said})
    return folder


@contextmanager
def as_if_killed(workspace: Workspace, run: Run) -> Iterator[None]:
    """Have a finished run look meanwhile as one whose worker was killed, and that nobody has settled."""
    folder = workspace.run_folder(run.id)
    ended = folder.done.read_bytes()
    with workspace.store.write() as db:
        runs.change_by_worker(db, run.id, status="running")
    folder.done.unlink()
    for trace in (folder.heartbeat, folder.control):
        os.utime(trace, (0, 0))
    try:
        yield
    finally:
        folder.done.write_bytes(ended)
        with workspace.store.write() as db:
            runs.change_by_worker(db, run.id, status="done")


def _start(workspace: Workspace, request: RunRequest, name: str) -> JobFolder:
    def begin(of: Workspace, run: str) -> None:
        leave_dead(of.run_folder(run))

    spec = launch.resolve(workspace, request)
    run = run_control.start(
        workspace, spec, name, ExecutionSettings("http://127.0.0.1:9/v1"), begin=begin
    )
    return workspace.run_folder(run.id)


def _run(workspace: Workspace) -> JobFolder:
    return _start(workspace, RunRequest("prompt_only", None, {}, "split=train", model="m"), "asked")


def _reading(workspace: Workspace) -> JobFolder:
    debate = run_named(workspace, "debate")
    options = reading_options(RUBRIC, debate.id, answers="letters", effort="")
    return _start(workspace, RunRequest("judge_rubric", debate.dataset, options, model="m"), "read")


def _experiment(workspace: Workspace) -> JobFolder:
    debate = run_named(workspace, "debate")
    runs_of = {"as it is": ((0, 0, "none0"),), "every name coded": ((0, 0, "none1"),)}
    saved = SavedExperiment(
        "names", "names of debate", "e0", {"run": debate.id}, debate.dataset, ("Pa_Ga",), runs_of
    )
    run_actions.save_preset(workspace, engine.PAGE, saved.key, asdict(saved))
    return leave_dead(engine.job_of(workspace, saved))


def _cells(workspace: Workspace) -> JobFolder:
    folder = leave_dead(labels_job(workspace, Path("screen.h5ad"), "screen"))
    arguments = ["cells", "labels", "screen.h5ad", "--name", "screen"]
    write_json(
        folder.about,
        {"kind": "cells", "arguments": arguments, "started_at": 1.0, "dataset": "screen"},
    )
    return folder


def _targets(workspace: Workspace) -> JobFolder:
    return leave_dead(
        target_ranking.create(workspace, replace(targets.request(), models={"pca_knn": {}}))
    )


def _finetune(workspace: Workspace) -> JobFolder:
    return leave_dead(folder_in(workspace.settings.data / "finetune"))


# Kind → leaves one of it in a copy of the small workspace of tests/conftest.py.
MAKERS = {
    "run": _run,
    "reading": _reading,
    "experiment": _experiment,
    "cells": _cells,
    "targets": _targets,
    "finetune": _finetune,
}
