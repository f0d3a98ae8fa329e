"""Trains ranking models in a process of its own, which outlives the page that started it and says how far it is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from core.actions import target_ranking
from core.actions.workspace import Workspace
from core.engine.run_state import HEARTBEAT_EVERY_S, beat, exclusive_lock
from core.engine.worker_process import start as start_worker
from core.errors import DeskError
from core.target_ranking import train as training
from core.target_ranking.reading import ReadCells
from core.target_ranking.request import TrainingRequest
from core.target_ranking.results import RankingFolder
from core.target_ranking.splits import Split

Report = target_ranking.Report


def start_apart(workspace: Workspace, request: TrainingRequest, *, replace: bool = False) -> RankingFolder:
    """Starts the training of a request in a process of its own. Raises InputError for a wrong request, StateError if the name is
    taken or the process ends before its first heartbeat."""
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
    worker = target_ranking.worker_of(folder)
    worker.done.unlink(missing_ok=True)
    worker.set_command("run")
    command = (
        sys.executable,
        "-m",
        "core",
        "--progress",
        "--workspace",
        str(workspace.settings.workspace),
        "targets",
        "work",
        folder.name,
    )
    start_worker(worker, workspace.settings, command=command)


def train(
    workspace: Workspace, request: TrainingRequest, say: Callable[[str], object], *, replace: bool = False
) -> RankingFolder:
    """Trains and evaluates every model of a request in this process; `say` hears how far it is.

    Cells, split and options are checked before anything is written. Raises InputError, StateError, MissingPackage.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    prepared = training.prepare(request)
    folder = target_ranking.create(workspace, request, replace=replace)
    _work(folder, lambda: prepared, say)
    return folder


def work_on(workspace: Workspace, name: str, say: Callable[[str], object]) -> RankingFolder:
    """Trains what a folder asks for, in this process, after the models that are there. Raises what `train` raises."""
    workspace.refuse_if_read_only("train target ranking", name)
    folder = target_ranking.find(workspace, name)
    _work(folder, lambda: training.prepare(folder.request()), say)
    return folder


def _work(folder: RankingFolder, prepare: Callable[[], tuple[ReadCells, Split]], say: Callable[[str], object]) -> None:
    with exclusive_lock(target_ranking.worker_of(folder)), _heartbeats(folder, say) as report:
        try:
            report(0.0, "reading the cells")
            read, split = prepare()
            training.train(folder, read, split, report)
        except (DeskError, OSError, MemoryError) as error:
            target_ranking.record_ending(folder, "failed", str(error))
            raise
        target_ranking.record_ending(folder, "done")


@contextmanager
def _heartbeats(folder: RankingFolder, say: Callable[[str], object]) -> Iterator[Report]:
    """Yields a report that heartbeats carry; a thread writes them, since fitting takes minutes in which nothing else can."""
    worker = target_ranking.worker_of(folder)
    values: dict[str, Any] = {"share": 0.0, "what": "starting"}
    ended, writing = threading.Event(), threading.Lock()

    def write() -> None:
        with writing:
            beat(worker, values)

    def write_until_the_end() -> None:
        while not ended.wait(HEARTBEAT_EVERY_S):
            write()

    def report(share: float, what: str) -> None:
        values.update(share=share, what=what)
        say(f"{100 * share:3.0f}% {what}")

    write()
    thread = threading.Thread(target=write_until_the_end, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()
