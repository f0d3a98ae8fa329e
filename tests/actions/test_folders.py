"""The folders of runs, before and after a run goes."""

from __future__ import annotations

import pytest

from core.actions.desk import Desk
from core.actions.folders import folder_of, refuse_live, remove_folder
from core.engine.spec import How, RunSpec
from core.engine.states import Counts, beat
from core.errors import StateError

SPEC = RunSpec("plain", 1, {}, "d1", "ab" * 32, ("a_b",))


@pytest.mark.parametrize("state", ["running", "pausing", "paused"])
def test_a_run_with_a_worker_is_not_to_be_deleted(desk: Desk, state: str) -> None:
    folder = folder_of(desk, "r1")
    assert folder.path == desk.settings.data / "runs" / "r1"
    refuse_live(desk, "r1")  # no worker ever made it
    folder.create(SPEC, How())
    refuse_live(desk, "r1")  # nobody has begun
    beat(folder, state, Counts(), 1, size=0, begun_at=0.0)  # type: ignore[arg-type]
    with pytest.raises(StateError, match="run r1: a worker is on it, expected one that is not running; cancel it first"):
        refuse_live(desk, "r1")
    folder.heartbeat.unlink()
    refuse_live(desk, "r1")


def test_a_folder_goes_whole_and_only_where_a_run_was_begun(desk: Desk) -> None:
    for run in ("r1", "r2"):
        folder_of(desk, run).create(SPEC, How())
    remove_folder(desk, "r1")
    remove_folder(desk, "r1")
    assert not folder_of(desk, "r1").path.exists()
    assert folder_of(desk, "r2").exists
    other = folder_of(desk, "mine")  # somebody else's
    other.path.mkdir()
    remove_folder(desk, "mine")
    assert other.path.exists()
