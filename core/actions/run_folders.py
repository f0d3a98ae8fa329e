"""The folders of runs that a worker made: where they are, and deleting them with their run."""

from __future__ import annotations

import shutil

from core.actions.workspace import Workspace
from core.engine.journal import RunFolder
from core.engine.run_state import LIVE_STATES, status_of
from core.errors import StateError


def folder_of(workspace: Workspace, run: str) -> RunFolder:
    """Returns the folder of the run with this id."""
    return RunFolder(workspace.settings.data / "runs" / run)


def refuse_live(workspace: Workspace, run: str) -> None:
    """Raises StateError if a worker is on the run with this id; called before the run is deleted."""
    folder = folder_of(workspace, run)
    if folder.exists and status_of(folder).state in LIVE_STATES:
        raise StateError(f"run {run}: a worker is on it, expected one that is not running; cancel it first")


def remove_folder(workspace: Workspace, run: str) -> None:
    """Deletes the folder of the run with this id; called after the run is deleted."""
    if folder_of(workspace, run).exists:
        shutil.rmtree(folder_of(workspace, run).path)
