"""Target rankings of this workspace: train, evaluate, find, delete. Each lies in data/targets/NAME.

Trains ranking models in a separate process, which outlives the page and reports its progress.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from core.actions.workspace import Workspace
from core.environment import environment_of
from core.errors import InputError, NotFound, StateError
from core.jobs import state as jobs
from core.jobs import work
from core.jobs.folder import JobFolder
from core.jobs.start import command_line, start
from core.target_ranking import train as training
from core.target_ranking.candidates import read_candidates
from core.target_ranking.evaluate import EvaluationRequest, evaluate
from core.target_ranking.expression import read_mask
from core.target_ranking.metrics import UNITS
from core.target_ranking.reading import ReadCells, read_source
from core.target_ranking.request import TrainingRequest, check_request
from core.target_ranking.results import ALL_GENES, RankingFolder, SavedEvaluation, list_folders
from core.target_ranking.splits import Split
from core.texts import list_known
from core.types import LIVE_STATES

FOLDER: Final = "targets"
Report = Callable[[float, str], object]
State = Literal["waiting", "training", "done", "failed", "stopped", "interrupted", "crashed"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class RankingStatus:
    """How far a target ranking is. share: of the training that is done, in [0, 1]. what: is being done, or why it
    ended."""

    state: State
    share: float = 0.0
    what: str = ""
    pid: int | None = None

    @property
    def is_live(self) -> bool:
        """Whether a process is on it."""
        return self.state in LIVE_STATES


def job_of(folder: RankingFolder) -> JobFolder:
    """Return the files that the process of a training shares with those who watch it."""
    return JobFolder(folder.path)


def status_of(folder: RankingFolder) -> RankingStatus:
    """Return the state of a target ranking."""
    found = jobs.status_of(job_of(folder))
    if found.state == "running":
        return RankingStatus("training", found.said.get("share", 0.0), found.said.get("what", ""), found.pid)
    return RankingStatus(found.state, 1.0 if found.state == "done" else 0.0, found.cause)


def create(workspace: Workspace, request: TrainingRequest, *, replace: bool = False) -> RankingFolder:
    """Create the folder of a target ranking without any fitted model.

    Raise InputError for a wrong request, and StateError if the name is taken, unless `replace`.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    if not _NAME.fullmatch(request.name):
        raise InputError(f"name of a target ranking: got {request.name!r}, expected up to 64 letters, digits and . _ -")
    check_request(request)
    folder = RankingFolder(_place(workspace) / request.name)
    if folder.exists:
        if status_of(folder).is_live:
            raise StateError(f"target ranking {request.name}: running, expected one that is not running")
        if not replace:
            raise StateError(
                f"target ranking {request.name}: the name is taken by a ranking with other options; choose another, or use "
                "--replace"
            )
    with workspace.change("train target ranking", request.name) as (_, detail):
        detail |= {"models": ", ".join(request.models), "cells": request.source.name}
        folder.remove()
        folder.create(request)
    return folder


def find_same(workspace: Workspace, request: TrainingRequest) -> RankingFolder | None:
    """Return the target ranking of a request's name if it was asked for with the same options; None for any other."""
    folder = RankingFolder(_place(workspace) / request.name)
    if not _NAME.fullmatch(request.name) or not folder.exists:
        return None
    return folder if folder.request().identity == request.identity else None


def evaluate_saved(
    workspace: Workspace,
    name: str,
    request: EvaluationRequest,
    report: Report = lambda _share, _what: None,
) -> SavedEvaluation:
    """Evaluate the fitted models of a target ranking and keep the table.

    The cells are read again from where they came. Raise NotFound, InputError for other settings or for cells that are no longer
    there, and StateError while it is being trained.
    """
    workspace.refuse_if_read_only("evaluate target ranking", name)
    settings, candidates = request.settings, request.candidates
    read_mask(settings.mask)
    if settings.unit not in UNITS:
        raise InputError(f"unit: got {settings.unit!r}, expected {' or '.join(UNITS)}")
    folder = find(workspace, name)
    if status_of(folder).is_live:
        raise StateError(f"target ranking {name}: is being trained, expected one that is done")
    models, split = folder.load_models(), folder.split()
    pools = None if candidates is None else read_candidates(candidates, split.test)
    report(0.0, "reading the cells")
    cells = read_source(folder.request().source).cells
    found = evaluate(models, cells, split, settings, pools, report)
    with workspace.change("evaluate target ranking", name) as (_, detail):
        pool = ALL_GENES if candidates is None else candidates.name
        detail |= {"mask": settings.mask, "unit": settings.unit, "candidates": pool}
        return folder.write_evaluation(settings, pool, found)


def delete(workspace: Workspace, name: str) -> None:
    """Delete a target ranking with its models and evaluations. Raise NotFound, and StateError while it is being trained."""
    workspace.refuse_if_read_only("delete target ranking", name)
    folder = find(workspace, name)
    if status_of(folder).is_live:
        raise StateError(f"target ranking {name}: running, expected one that is not running")
    with workspace.change("delete target ranking", name) as (_, detail):
        detail |= {"models": ", ".join(folder.saved_models())}
        folder.remove()


def list_all(workspace: Workspace) -> Sequence[RankingFolder]:
    """Return every target ranking of the workspace, the latest started first."""
    return list_folders(_place(workspace))


def find(workspace: Workspace, name: str | None = None) -> RankingFolder:
    """Return the target ranking of a name; without a name, the latest started. Raise NotFound."""
    known = list_all(workspace)
    found = next((folder for folder in known if name in (None, folder.name)), None)
    if found is None:
        names = list_known(name or "", [folder.name for folder in known])
        there = names if known else f"{names}; try: perturbdesk targets train --simulate"
        raise NotFound(f"target ranking{f' {name}' if name else ''}: not in this workspace, {there}")
    return found


def _place(workspace: Workspace) -> Path:
    return workspace.settings.data / FOLDER


KIND = "target ranking"


def start_apart(workspace: Workspace, request: TrainingRequest, *, replace: bool = False) -> RankingFolder:
    """Start the training of a request in a separate process.

    One of that name with the same options is resumed, or returned if it is done. Raise InputError for a wrong request, StateError
    if the name is taken or the process ends before its first heartbeat.
    """
    if not replace and find_same(workspace, request) is not None:
        return resume(workspace, request.name)
    folder = create(workspace, request, replace=replace)
    _start(workspace, folder)
    return folder


def resume(workspace: Workspace, name: str) -> RankingFolder:
    """Resume a failed or crashed training after its finished models. A live or finished one is returned unchanged."""
    workspace.refuse_if_read_only("resume target ranking", name)
    folder = find(workspace, name)
    status = status_of(folder)
    if not status.is_live and status.state != "done":
        with workspace.change("resume target ranking", name) as (_, detail):
            detail |= {"models": ", ".join(folder.saved_models())}
        _start(workspace, folder)
    return folder


def _start(workspace: Workspace, folder: RankingFolder) -> None:
    command = command_line(workspace.settings, "targets", "work", folder.name)
    start(job_of(folder), command, environment_of(workspace.settings), what=KIND)


def train(
    workspace: Workspace, request: TrainingRequest, say: Callable[[str], object], *, replace: bool = False
) -> RankingFolder:
    """Train and evaluate every model of a request in this process; `say` receives the progress.

    One of that name with the same options is resumed after its finished models; a finished one is returned unchanged. Cells,
    split and options are checked before anything is written. Raise InputError, StateError, MissingPackage.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    same = None if replace else find_same(workspace, request)
    if same is not None and status_of(same).state == "done":
        say(f"{request.name}: exists already with the same options; --replace trains it again")
        return same
    prepared = training.prepare(request)
    if same is not None:
        return _go_on(workspace, same, prepared, say)
    folder = create(workspace, request, replace=replace)
    _work(folder, lambda: prepared, say)
    return folder


def _go_on(
    workspace: Workspace, folder: RankingFolder, prepared: tuple[ReadCells, Split], say: Callable[[str], object]
) -> RankingFolder:
    with workspace.change("resume target ranking", folder.name) as (_, detail):
        detail |= {"models": ", ".join(folder.saved_models())}
    say(f"{folder.name}: continues; trained already: {', '.join(folder.saved_models()) or 'no model'}")
    _work(folder, lambda: prepared, say)
    return folder


def work_on(workspace: Workspace, name: str, say: Callable[[str], object]) -> RankingFolder:
    """Train the remaining models of a folder in this process. Raise what `train` raises."""
    workspace.refuse_if_read_only("train target ranking", name)
    folder = find(workspace, name)
    _work(folder, lambda: training.prepare(folder.request()), say)
    return folder


def _work(folder: RankingFolder, prepare: Callable[[], tuple[ReadCells, Split]], say: Callable[[str], object]) -> None:
    with work.work_on(job_of(folder), KIND) as reporter:

        def report(share: float, what: str) -> None:
            reporter.report(share, what)
            say(f"{100 * share:3.0f}% {what}")

        report(0.0, "reading the cells")
        read, split = prepare()
        training.train(folder, read, split, report)
