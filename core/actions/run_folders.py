"""The folders of runs that a worker made: where they are, and deleting them with their run."""

from __future__ import annotations

import shutil

from core.actions.workspace import Workspace
from core.engine.journal import RunFolder
from core.engine.run_state import LIVE_STATES, status_of
from core.errors import StateError


def folder_of(workspace: Workspace, run: str) -> RunFolder:
    """The folder of the run with this id."""
    return RunFolder(workspace.settings.data / "runs" / run)


def refuse_live(workspace: Workspace, run: str) -> None:
    """Raise StateError while a worker is on the run with this id: before it is deleted."""
    folder = folder_of(workspace, run)
    if folder.exists and status_of(folder).state in LIVE_STATES:
        raise StateError(f"run {run}: a worker is on it, expected one that is not running; cancel it first")


def remove_folder(workspace: Workspace, run: str) -> None:
    """Delete the journal of the run with this id, after the run."""
    if folder_of(workspace, run).exists:
        shutil.rmtree(folder_of(workspace, run).path)
