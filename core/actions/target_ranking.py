"""Target rankings of this workspace: train, evaluate, find, delete. Each lies in data/targets/NAME."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from core.actions.workspace import Workspace
from core.errors import InputError, NotFound, StateError
from core.jobs import state as jobs
from core.jobs.folder import JobFolder
from core.target_ranking.candidates import read_candidates
from core.target_ranking.evaluate import EvaluationRequest, EvaluationSettings, evaluate
from core.target_ranking.expression import read_mask
from core.target_ranking.metrics import UNITS
from core.target_ranking.reading import read_source
from core.target_ranking.request import TrainingRequest, check_request
from core.target_ranking.results import ALL_GENES, RankingFolder, SavedEvaluation, list_folders

FOLDER: Final = "targets"
Report = Callable[[float, str], object]
State = Literal["waiting", "training", "done", "failed", "stopped", "interrupted", "crashed"]
LIVE_STATES: Final[tuple[State, ...]] = ("waiting", "training")
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
    """Returns the files that the process of a training shares with those who watch it."""
    return JobFolder(folder.path)


def status_of(folder: RankingFolder) -> RankingStatus:
    """Returns the state of a target ranking."""
    found = jobs.status_of(job_of(folder))
    if found.state == "running":
        return RankingStatus("training", found.said.get("share", 0.0), found.said.get("what", ""), found.pid)
    return RankingStatus(found.state, 1.0 if found.state == "done" else 0.0, found.cause)


def create(workspace: Workspace, request: TrainingRequest, *, replace: bool = False) -> RankingFolder:
    """Creates the folder of a target ranking, which nothing is fitted in yet. Raises InputError for a wrong request, and
    StateError if the name is taken, unless `replace`."""
    workspace.refuse_if_read_only("train target ranking", request.name)
    if not _NAME.fullmatch(request.name):
        raise InputError(f"name of a target ranking: got {request.name!r}, expected up to 64 letters, digits and . _ -")
    check_request(request)
    folder = RankingFolder(_place(workspace) / request.name)
    if folder.exists:
        if status_of(folder).is_live:
            raise StateError(f"target ranking {request.name}: a process is on it, expected one that is not running")
        if not replace:
            raise StateError(
                f"target ranking {request.name}: the name is taken by one with other options; choose another, or --replace it"
            )
    with workspace.change("train target ranking", request.name) as (_, detail):
        detail |= {"models": ", ".join(request.models), "cells": request.source.name}
        folder.remove()
        folder.create(request)
    return folder


def find_same(workspace: Workspace, request: TrainingRequest) -> RankingFolder | None:
    """Returns the target ranking of a request's name if it was asked for with the same options; None for any other."""
    folder = RankingFolder(_place(workspace) / request.name)
    if not _NAME.fullmatch(request.name) or not folder.exists:
        return None
    return folder if folder.request().as_json() == request.as_json() else None


def evaluate_saved(
    workspace: Workspace,
    name: str,
    request: EvaluationRequest,
    report: Report = lambda _share, _what: None,
) -> SavedEvaluation:
    """Evaluates the fitted models of a target ranking and keeps the table.

    The cells are read again from where they came. Raises NotFound,
    InputError for other settings or for cells that are no longer there, and StateError while it is being trained.
    """
    workspace.refuse_if_read_only("evaluate target ranking", name)
    settings, candidates = request.settings, request.candidates
    check_settings(settings)
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


def check_settings(settings: EvaluationSettings) -> None:
    """Raises InputError for an unknown mask or unit."""
    read_mask(settings.mask)
    if settings.unit not in UNITS:
        raise InputError(f"unit: got {settings.unit!r}, expected {' or '.join(UNITS)}")


def delete(workspace: Workspace, name: str) -> None:
    """Deletes a target ranking with its models and evaluations. Raises NotFound, and StateError while it is being trained."""
    workspace.refuse_if_read_only("delete target ranking", name)
    folder = find(workspace, name)
    if status_of(folder).is_live:
        raise StateError(f"target ranking {name}: a process is on it, expected one that is not running")
    with workspace.change("delete target ranking", name) as (_, detail):
        detail |= {"models": ", ".join(folder.fitted())}
        folder.remove()


def list_all(workspace: Workspace) -> Sequence[RankingFolder]:
    """Returns every target ranking of the workspace, the latest begun first."""
    return list_folders(_place(workspace))


def find(workspace: Workspace, name: str | None = None) -> RankingFolder:
    """Returns the target ranking of a name; without one, the latest begun. Raises NotFound."""
    known = list_all(workspace)
    found = next((folder for folder in known if name in (None, folder.name)), None)
    if found is None:
        names = ", ".join(folder.name for folder in known) or "none; try: perturbdesk targets train --simulate"
        raise NotFound(f"target ranking{f' {name}' if name else ''}: not in this workspace, which has {names}")
    return found


def _place(workspace: Workspace) -> Path:
    return workspace.settings.data / FOLDER
