"""One arm of a study, made here until it is done; why it was not, where it was not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.actions import attribution, contamination, jobs, launch, run_control
from core.actions.attribution import AttributionRequest
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.contamination import ContaminationRequest
from core.actions.studies import run_to_end
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.request import RunRequest
from core.engine.run_state import Counts, write_ending
from core.errors import StateError
from core.jobs.work import work_on
from core.llm.call_settings import CallSettings
from core.store import runs
from tests import worlds
from tests.engine.cases import fast, wish, workspace_with
from tests.engine.methods import Counting, apart
from tests.fakes import scripted as scripted_server


def test_an_ending_that_did_not_reach_the_store_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is full: the run's folder has kept room for its ending, the store says "running"."""
    workspace, method = workspace_with(tmp_path, 4), Counting()
    spec, request = wish(workspace, method), RunRequest(method.name, "bmdm", rows="split=test", name="r")

    def stop(workspace: Workspace, run: str, *_: object, **__: object) -> None:
        with workspace.store.write() as db:
            runs.change_by_worker(db, run, status="running")
        write_ending(workspace.run_folder(run), "stopped", Counts(), 4, "no space left on the disk")

    monkeypatch.setattr(run_control, "work_on", stop)
    components = WorkspaceComponents(workspace, default_dataset(workspace, "bmdm"))
    with pytest.raises(
        StateError, match=r"r: is stopped \(no space left on the disk\), 0 of 4 rows; started again, it goes on from there"
    ):
        run_to_end(workspace, request, spec, components=components, method=lambda _: method)


@pytest.mark.soak
def test_an_arm_that_another_process_makes_is_waited_for(tmp_path: Path) -> None:
    workspace, method, said = workspace_with(tmp_path, 8), Counting(), []
    spec, request = wish(workspace, method), RunRequest(method.name, "bmdm", rows="split=test", name="r")
    run = run_control.start(workspace, spec, "r", fast(), begin=partial(apart, sleep_s=0.1))
    components = WorkspaceComponents(workspace, default_dataset(workspace, "bmdm"))
    made = run_to_end(workspace, request, spec, components=components, method=lambda _: method, say=said.append)
    assert (made.id, made.status, made.done) == (run.id, "done", 8)
    assert said == ["r: waits for the process that is making it already"]
    assert method.asked == []


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[Workspace, str]]:
    """A workspace with a debate over two rows, and the address of its server."""
    workspace = open_workspace(Settings(workspace=tmp_path, author="tester"))
    worlds.furnish(workspace)
    with scripted_server.serving() as address:
        options = {"rounds": 0, "tools": "gene_class"}
        request = RunRequest("debate", None, options, "split=train;sample=2", "r", "scripted", endpoint=address)
        launch.start(workspace, request)
        yield workspace, address


KINDS = {
    "attribution": (attribution, AttributionRequest, {"repeats": 1}),
    "contamination": (contamination, ContaminationRequest, {"arms": ("coded",)}),
}


def start_apart_in_vain(workspace: Workspace, kind: str, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> Any:
    """Start a study whose process dies before the folder of a run is there; return what was saved of it."""
    actions, request, more = KINDS[kind]
    plan = getattr(actions, f"plan_{kind}")(workspace, request("r", "", **more, **asked))
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "command_line", lambda *_: (sys.executable, "-c", "raise SystemExit(3)"))
        with pytest.raises(StateError, match="status 3 before its first heartbeat"):
            actions.start_apart(workspace, plan)
    return actions.STUDY.find_saved(workspace, plan.spec.key)


def resumed(workspace: Workspace, kind: str, saved: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the request by which a study goes on."""
    found: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(KINDS[kind][0], "start_apart", lambda _, plan: found.append(plan.request))
        KINDS[kind][0].resume(workspace, saved)
    return found[0]


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_one_that_dies_before_its_first_arm_goes_on_with_all_that_was_chosen(
    kind: str, asked: tuple[Workspace, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, address = asked
    calls = CallSettings(temperature=0.5, leave_out=("top_p",))
    saved = start_apart_in_vain(workspace, kind, monkeypatch, endpoint=address, concurrency=3, calls=calls)
    request = resumed(workspace, kind, saved, monkeypatch)
    assert (request.endpoint, request.concurrency, request.calls) == (address, 3, calls)
    assert request.rows == saved.spec.rows


@pytest.mark.soak
def test_a_study_goes_on_with_the_server_that_a_run_of_it_got_since(
    asked: tuple[Workspace, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, address = asked
    dead = "http://127.0.0.1:9/v1"
    saved = start_apart_in_vain(workspace, "attribution", monkeypatch, endpoint=dead, concurrency=3)
    plan = attribution.plan_attribution(workspace, AttributionRequest("r", "", repeats=1, endpoint=dead, concurrency=3))
    with pytest.raises(StateError, match="nobody answered"):
        attribution.run_attribution(workspace, plan)
    assert resumed(workspace, "attribution", saved, monkeypatch).endpoint == dead
    moved = attribution.plan_attribution(workspace, AttributionRequest("r", "", repeats=1, endpoint=address))

    def leave(_run: str, done: int, _total: int) -> None:
        if done == 2:  # the first arm is answered by the cache, the second one was left by the dead server
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attribution.run_attribution(workspace, moved, progress=leave)
    request = resumed(workspace, "attribution", saved, monkeypatch)
    assert (request.endpoint, request.concurrency) == (address, 3)


@pytest.mark.soak
def test_the_start_of_a_running_study_is_not_written_over(asked: tuple[Workspace, str], monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, address = asked
    saved = start_apart_in_vain(workspace, "attribution", monkeypatch, endpoint=address)
    folder = attribution.STUDY.job_of(workspace, saved.spec.key)
    before = folder.about.read_bytes()
    with work_on(folder), pytest.raises(StateError, match="is running with other settings; stop it, or wait until it has ended"):
        attribution.start_apart(
            workspace, attribution.plan_attribution(workspace, AttributionRequest("r", "", repeats=1, concurrency=2))
        )
    assert folder.about.read_bytes() == before
    same = attribution.plan_attribution(workspace, AttributionRequest("r", "", repeats=1, endpoint=address))
    with work_on(folder):
        attribution.start_apart(workspace, same)  # is left alone
    assert folder.about.read_bytes() == before
