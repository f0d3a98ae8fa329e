"""A run that is made here until it is done; why it was not, where it was not."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from core.base.errors import StateError
from core.runs import run_control
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.launch import run_to_end
from core.runs.request import RunRequest
from core.runs.run_state import Counts, write_ending
from core.store import runs
from tests.runs.cases import fast, wish, workspace_with
from tests.runs.methods import Counting, apart


def test_an_ending_that_did_not_reach_the_store_is_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full: the run's folder has kept room for its ending, the store says "running"."""
    workspace, method = workspace_with(tmp_path, 4), Counting()
    spec, request = (
        wish(workspace, method),
        RunRequest(method.name, "bmdm", rows="split=test", name="r"),
    )

    def stop(workspace, run, *_, **__):
        with workspace.store.write() as db:
            runs.change_by_worker(db, run, status="running")
        write_ending(workspace.run_folder(run), "stopped", Counts(), 4, "no space left on the disk")

    monkeypatch.setattr(run_control, "work_on", stop)
    components = WorkspaceComponents(workspace, default_dataset(workspace, "bmdm"))
    with pytest.raises(
        StateError,
        match=r"r: is stopped \(no space left on the disk\), 0 of 4 rows; started again, it goes on from there",
    ):
        run_to_end(workspace, request, spec, components=components, method=lambda _: method)


@pytest.mark.soak
def test_an_arm_that_another_process_makes_is_waited_for(tmp_path: Path) -> None:
    workspace, method, said = workspace_with(tmp_path, 8), Counting(), []
    spec, request = (
        wish(workspace, method),
        RunRequest(method.name, "bmdm", rows="split=test", name="r"),
    )
    run = run_control.start(workspace, spec, "r", fast(), begin=partial(apart, sleep_s=0.1))
    components = WorkspaceComponents(workspace, default_dataset(workspace, "bmdm"))
    made = run_to_end(
        workspace, request, spec, components=components, method=lambda _: method, say=said.append
    )
    assert (made.id, made.status, made.done) == (run.id, "done", 8)
    assert said == ["r: waits for the process that is making it already"]
    assert method.asked == []
