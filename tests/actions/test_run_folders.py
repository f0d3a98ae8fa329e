"""The folders of runs, before and after a run goes."""

from __future__ import annotations

import pytest

from core.actions.run_folders import folder_of, refuse_live, remove_folder
from core.actions.workspace import Workspace
from core.engine.run_state import Counts, Heartbeat, write_heartbeat
from core.engine.spec import ExecutionSettings, RunSpec
from core.errors import StateError

SPEC = RunSpec("plain", 1, {}, "d1", "ab" * 32, ("a_b",))


@pytest.mark.parametrize("state", ["running", "pausing", "paused"])
def test_a_run_with_a_worker_is_not_to_be_deleted(workspace: Workspace, state: str) -> None:
    folder = folder_of(workspace, "r1")
    assert folder.path == workspace.settings.data / "runs" / "r1"
    refuse_live(workspace, "r1")  # no worker ever made it
    folder.create(SPEC, ExecutionSettings())
    refuse_live(workspace, "r1")  # nobody has begun
    write_heartbeat(folder, Heartbeat(state, Counts(), 1, size=0, begun_at=0.0))  # type: ignore[arg-type]
    with pytest.raises(StateError, match="run r1: a worker is on it, expected one that is not running; cancel it first"):
        refuse_live(workspace, "r1")
    folder.heartbeat.unlink()
    refuse_live(workspace, "r1")


def test_a_folder_goes_whole_and_only_where_a_run_was_begun(workspace: Workspace) -> None:
    for run in ("r1", "r2"):
        folder_of(workspace, run).create(SPEC, ExecutionSettings())
    remove_folder(workspace, "r1")
    remove_folder(workspace, "r1")
    assert not folder_of(workspace, "r1").path.exists()
    assert folder_of(workspace, "r2").exists
    other = folder_of(workspace, "mine")  # somebody else's
    other.path.mkdir()
    remove_folder(workspace, "mine")
    assert other.path.exists()
