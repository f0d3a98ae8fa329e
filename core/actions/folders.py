"""Where the files of runs lie that a worker makes, and what has to happen to them before and after such a run goes."""

from __future__ import annotations

import shutil

from core.actions.desk import Desk
from core.engine.journal import Folder
from core.engine.states import LIVE, status_of
from core.errors import StateError


def folder_of(desk: Desk, run: str) -> Folder:
    """Where the files of the run with this id lie."""
    return Folder(desk.settings.data / "runs" / run)


def refuse_live(desk: Desk, run: str) -> None:
    """Raise StateError while a worker is on the run with this id: before it is deleted."""
    folder = folder_of(desk, run)
    if folder.exists and status_of(folder).state in LIVE:
        raise StateError(f"run {run}: a worker is on it, expected one that is not running; cancel it first")


def remove_folder(desk: Desk, run: str) -> None:
    """Delete the journal of the run with this id, after the run."""
    if folder_of(desk, run).exists:
        shutil.rmtree(folder_of(desk, run).path)
