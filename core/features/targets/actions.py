"""Target rankings of this workspace: train, evaluate, find, delete. Each lies in data/targets/NAME.

A page trains in a separate process, which outlives the page and reports its progress.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from core.base.errors import InputError, NotFound, StateError
from core.base.fields.record import identity_of
from core.base.texts import list_known
from core.features.targets import results
from core.features.targets.candidates import read_candidates
from core.features.targets.evaluate import Evaluation, EvaluationRequest, evaluate
from core.features.targets.models.base import Report
from core.features.targets.reading import ReadCells, read_source
from core.features.targets.request import TrainingRequest, check_request
from core.features.targets.results import RankingFolder
from core.features.targets.splits import Split
from core.runs.jobs import overview, work
from core.runs.workspace import Workspace

FOLDER: Final = "targets"
KIND: Final = "target ranking"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _refuse_live(folder: RankingFolder) -> None:
    if folder.status().is_live:
        raise StateError(f"target ranking {folder.name}: running, expected one that is not running")


def create(
    workspace: Workspace, request: TrainingRequest, *, replace: bool = False
) -> RankingFolder:
    """Create the folder of a target ranking without any fitted model.

    Raise InputError for a wrong request, and StateError if the name is taken, unless `replace`.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    if not _NAME.fullmatch(request.name):
        raise InputError(
            f"name of a target ranking: got {request.name!r}, expected up to 64 letters, digits and"
            " . _ -"
        )
    check_request(request)
    folder = RankingFolder(_place(workspace) / request.name)
    if folder.exists:
        _refuse_live(folder)
        if not replace:
            raise StateError(
                f"target ranking {request.name}: the name is taken by a ranking with other options;"
                " choose another, or use --replace"
            )
    with workspace.change("train target ranking", request.name) as (_, detail):
        detail |= {"models": ", ".join(request.models), "cells": request.source.name}
        folder.remove()
        folder.create(request)
    return folder


def evaluate_saved(
    workspace: Workspace,
    name: str,
    request: EvaluationRequest,
    report: Report = lambda _share, _what: None,
) -> Evaluation:
    """Evaluate the fitted models of a target ranking and keep the table.

    The cells are read again from where they came. Raise NotFound, InputError for cells that are
    gone or others, and StateError while it is being trained.
    """
    workspace.refuse_if_read_only("evaluate target ranking", name)
    folder = find(workspace, name)
    _refuse_live(folder)
    models, split, training = folder.load_models(), folder.split(), folder.request()
    pools = None if request.candidates is None else read_candidates(request.candidates, split.test)
    report(0.0, "reading the cells")
    cells = read_source(training.source).cells
    folder.refuse_other_cells(cells.sha256())
    result = evaluate(models, cells, split, request, training.seed, pools, report)
    with workspace.change("evaluate target ranking", name) as (_, detail):
        folder.write_evaluation(result)
        detail |= {
            "mask": request.mask,
            "unit": request.unit,
            "candidates": result.settings["pool"],
        }
    return result


def delete(workspace: Workspace, name: str) -> None:
    """Delete a target ranking with its models and evaluations. Raise NotFound, and StateError while
    it is being trained."""
    workspace.refuse_if_read_only("delete target ranking", name)
    folder = find(workspace, name)
    _refuse_live(folder)
    with workspace.change("delete target ranking", name) as (_, detail):
        detail |= {"models": ", ".join(folder.saved_models())}
        folder.remove()


def list_all(workspace: Workspace) -> Sequence[RankingFolder]:
    """Return every target ranking of the workspace, the latest started first."""
    folders = [RankingFolder(entry) for entry in _place(workspace).glob("[!.]*")]
    existing = [folder for folder in folders if folder.exists]
    return sorted(
        existing,
        key=lambda folder: ((folder.path / "request.json").stat().st_mtime, folder.name),
        reverse=True,
    )


def find(workspace: Workspace, name: str | None = None) -> RankingFolder:
    """Return the target ranking of a name; without a name, the latest started. Raise NotFound."""
    folders = list_all(workspace)
    for folder in folders:
        if name in (None, folder.name):
            return folder
    names = list_known(name or "", [folder.name for folder in folders])
    hint = names if folders else f"{names}; try: perturbdesk targets train --simulate"
    raise NotFound(f"target ranking{f' {name}' if name else ''}: not in this workspace, {hint}")


def _place(workspace: Workspace) -> Path:
    return workspace.settings.data / FOLDER


def _find_same(workspace: Workspace, request: TrainingRequest) -> RankingFolder | None:
    """Return the target ranking of a request's name if it was asked for with the same options; None
    for any other."""
    for folder in list_all(workspace):
        if folder.name == request.name and identity_of(folder.request()) == identity_of(request):
            return folder
    return None


def start_apart(workspace: Workspace, request: TrainingRequest) -> RankingFolder:
    """Start the training of a request in a separate process.

    One of that name with the same options is resumed, or returned if it is done. Raise InputError
    for a wrong request, StateError if the name is taken or the process ends before its first
    heartbeat.
    """
    if _find_same(workspace, request) is not None:
        return resume(workspace, request.name)
    folder = create(workspace, request)
    _start(workspace, folder)
    return folder


def resume(workspace: Workspace, name: str) -> RankingFolder:
    """Resume a failed or crashed training after its finished models. A live or finished one is
    returned unchanged."""
    workspace.refuse_if_read_only("resume target ranking", name)
    folder = find(workspace, name)
    status = folder.status()
    if not status.is_live and status.state != "done":
        _log_resumption(workspace, folder)
        _start(workspace, folder)
    return folder


def _log_resumption(workspace: Workspace, folder: RankingFolder) -> None:
    with workspace.change("resume target ranking", folder.name) as (_, detail):
        detail |= {"models": ", ".join(folder.saved_models())}


def _start(workspace: Workspace, folder: RankingFolder) -> None:
    overview.start(workspace, folder.job, KIND, ("targets", "work", folder.name))


def train(
    workspace: Workspace,
    request: TrainingRequest,
    say: Callable[[str], object],
    *,
    replace: bool = False,
) -> RankingFolder:
    """Train and evaluate every model of a request in this process; `say` receives the progress.

    One of that name with the same options is resumed after its finished models; a finished one is
    returned unchanged. Cells, split and options are checked before anything is written. Raise
    InputError, StateError, MissingPackage.
    """
    workspace.refuse_if_read_only("train target ranking", request.name)
    folder = None if replace else _find_same(workspace, request)
    if folder is not None and folder.status().state == "done":
        say(f"{request.name}: exists already with the same options; --replace trains it again")
        return folder
    prepared = results.prepare(request)
    if folder is None:
        folder = create(workspace, request, replace=replace)
    else:
        _log_resumption(workspace, folder)
        say(
            f"{folder.name}: continues; trained already:"
            f" {', '.join(folder.saved_models()) or 'no model'}"
        )
    return work_on(workspace, folder.name, say, prepared)


def work_on(
    workspace: Workspace,
    name: str,
    say: Callable[[str], object],
    prepared: tuple[ReadCells, Split] | None = None,
) -> RankingFolder:
    """Train the remaining models of a folder in this process. prepared: of its request. Raise what
    `train` raises."""
    workspace.refuse_if_read_only("train target ranking", name)
    folder = find(workspace, name)
    with work.work_on(folder.job, KIND) as reporter:

        def report(share: float, what: str) -> None:
            reporter.report(share, what)
            say(f"{100 * share:3.0f}% {what}")

        report(0.0, "reading the cells")
        read, split = prepared or results.prepare(folder.request())
        results.train(folder, read, split, report)
    return folder
