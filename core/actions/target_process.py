"""Trains ranking models in a process of its own, which outlives the page that started it and says how far it is."""

from __future__ import annotations

from collections.abc import Callable

from core.actions import target_ranking
from core.actions.workspace import Workspace
from core.environment import environment_of
from core.jobs import work as jobs
from core.jobs.start import command_line, start
from core.target_ranking import train as training
from core.target_ranking.reading import ReadCells
from core.target_ranking.request import TrainingRequest
from core.target_ranking.results import RankingFolder
from core.target_ranking.splits import Split

KIND = "target ranking"


def start_apart(workspace: Workspace, request: TrainingRequest, *, replace: bool = False) -> RankingFolder:
    """Starts the training of a request in a process of its own; one of that name with the same options goes on, or is returned if
    it is done. Raises InputError for a wrong request, StateError if the name is taken or the process ends before its first
    heartbeat."""
    if not replace and target_ranking.find_same(workspace, request) is not None:
        return resume(workspace, request.name)
    folder = target_ranking.create(workspace, request, replace=replace)
    _start(workspace, folder)
    return folder


def resume(workspace: Workspace, name: str) -> RankingFolder:
    """Starts a process on a training that failed or crashed, which goes on after the models that are there.

    One that is live or done is returned as it is.
    """
    workspace.refuse_if_read_only("resume target ranking", name)
    folder = target_ranking.find(workspace, name)
    status = target_ranking.status_of(folder)
    if not status.is_live and status.state != "done":
        with workspace.change("resume target ranking", name) as (_, detail):
            detail |= {"models": ", ".join(folder.fitted())}
        _start(workspace, folder)
    return folder


def _start(workspace: Workspace, folder: RankingFolder) -> None:
    command = command_line(workspace.settings, "targets", "work", folder.name)
    start(target_ranking.job_of(folder), command, environment_of(workspace.settings), what=KIND)


def train(
    workspace: Workspace, request: TrainingRequest, say: Callable[[str], object], *, replace: bool = False
) -> RankingFolder:
    """Trains and evaluates every model of a request in this process; `say` hears how far it is.

    One of that name with the same options goes on after the models that are there; one that is done is returned as it is.
    Cells, split and options are checked before anything is written. Raises InputError, StateError, MissingPackage.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    same = None if replace else target_ranking.find_same(workspace, request)
    if same is not None and target_ranking.status_of(same).state == "done":
        say(f"{request.name}: is here already, trained with the same options; --replace trains it again")
        return same
    prepared = training.prepare(request)
    if same is not None:
        return _go_on(workspace, same, prepared, say)
    folder = target_ranking.create(workspace, request, replace=replace)
    _work(folder, lambda: prepared, say)
    return folder


def _go_on(
    workspace: Workspace, folder: RankingFolder, prepared: tuple[ReadCells, Split], say: Callable[[str], object]
) -> RankingFolder:
    with workspace.change("resume target ranking", folder.name) as (_, detail):
        detail |= {"models": ", ".join(folder.fitted())}
    say(f"{folder.name}: goes on; trained already: {', '.join(folder.fitted()) or 'no model'}")
    _work(folder, lambda: prepared, say)
    return folder


def work_on(workspace: Workspace, name: str, say: Callable[[str], object]) -> RankingFolder:
    """Trains what a folder asks for, in this process, after the models that are there. Raises what `train` raises."""
    workspace.refuse_if_read_only("train target ranking", name)
    folder = target_ranking.find(workspace, name)
    _work(folder, lambda: training.prepare(folder.request()), say)
    return folder


def _work(folder: RankingFolder, prepare: Callable[[], tuple[ReadCells, Split]], say: Callable[[str], object]) -> None:
    with jobs.work_on(target_ranking.job_of(folder), KIND) as reporter:

        def report(share: float, what: str) -> None:
            reporter.report(share, what)
            say(f"{100 * share:3.0f}% {what}")

        report(0.0, "reading the cells")
        read, split = prepare()
        training.train(folder, read, split, report)
