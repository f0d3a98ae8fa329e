"""Labels made in a process of their own, from a path that a visitor typed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import InputError, StateError
from core.base.fields.record import arguments_of
from core.features.cells import actions as cells
from core.features.cells.actions import LabelRequest, job_of
from core.features.cells.groups import GroupSettings
from core.features.cells.labels import SamplingSettings
from core.features.cells.screen import LabelSettings
from core.runs.jobs import control, overview
from core.runs.jobs.control import Job
from core.runs.jobs.folder import read_json, write_json
from core.runs.jobs.state import identify_process
from core.runs.workspace import Workspace
from tests.features.cells.cases import write_case
from tests.runs.jobs.crashed import MAKERS

HERE = "127.0.0.1"
WAIT_S = 300


@pytest.fixture
def screen(workspace: Workspace) -> Path:
    workspace.settings.workspace.mkdir(parents=True, exist_ok=True)
    write_case(workspace.settings.workspace / "screen.h5ad")
    return workspace.settings.workspace / "screen.h5ad"


def list_jobs(workspace: Workspace) -> list[Job]:
    return control.list_jobs(workspace, ["cells"])


@pytest.mark.soak
def test_a_process_is_started_and_its_end_is_seen(workspace: Workspace, screen: Path) -> None:
    """It refuses the settings, which takes it a moment; tests/features/cells/test_actions.py makes datasets."""
    strict = LabelSettings(groups=GroupSettings(min_cells=1_000))
    cells.start_labels(workspace, str(screen), LabelRequest("screen", strict, "K562 cells"), HERE)
    deadline = time.monotonic() + WAIT_S
    while list_jobs(workspace)[0].is_live and time.monotonic() < deadline:
        time.sleep(0.2)
    [job] = list_jobs(workspace)
    assert (job.state, job.name) == ("failed", "screen")
    assert "fewer than 1000 cells for" in job.cause


def test_a_dataset_is_made_once_at_a_time(workspace: Workspace, screen: Path) -> None:
    folder = job_of(workspace, screen, "screen")
    folder.path.mkdir(parents=True)
    write_json(folder.heartbeat, {**identify_process(os.getpid()), "dataset": "screen"})
    with pytest.raises(StateError, match="is being made"):
        cells.start_labels(workspace, str(screen), LabelRequest("screen", LabelSettings()), HERE)


@pytest.mark.soak
def test_a_dataset_that_is_there_was_made(small_workspace: Workspace) -> None:
    write_case(small_workspace.settings.workspace / "screen.h5ad")
    with pytest.raises(StateError, match="dataset 'bmdm' exists"):
        path = str(small_workspace.settings.workspace / "screen.h5ad")
        cells.start_labels(small_workspace, path, LabelRequest("bmdm", LabelSettings()), HERE)


@pytest.mark.soak
def test_what_can_be_told_at_once_is(workspace: Workspace, screen: Path, tmp_path: Path) -> None:
    for path, name, message in (
        (str(tmp_path / "elsewhere.h5ad"), "a", "outside the folders"),
        (str(screen.with_name("none.h5ad")), "a", "cannot be read"),
        (str(screen), "", "name of a dataset"),
    ):
        settings = replace(workspace.settings, import_roots=(screen.parent,))
        with pytest.raises(InputError, match=message):
            cells.start_labels(Workspace(settings), path, LabelRequest(name, LabelSettings()), HERE)
    with pytest.raises(StateError, match="other machines can reach this app"):
        cells.start_labels(workspace, str(screen), LabelRequest("a", LabelSettings()), "0.0.0.0")
    assert list_jobs(workspace) == []


def test_one_that_was_killed_is_started_again_as_it_was_unless_nobody_knows_how(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = MAKERS["cells"](workspace)
    assert overview.find_unsettled(workspace) == overview.settle_crashed(workspace) == [folder]
    assert overview.find_unsettled(workspace) == []
    [job] = list_jobs(workspace)
    started = []
    monkeypatch.setattr(
        overview, "start_process", lambda _folder, command, *_, **__: started.append(command[-5:])
    )
    control.resume(workspace, job)
    assert [list(command) for command in started] == [read_json(folder.about)["arguments"]]
    folder.about.unlink()
    with pytest.raises(StateError, match=r"is crashed .*; repeat the command that started it"):
        control.resume(workspace, job)


@pytest.mark.soak
def test_one_that_a_command_began_says_how_it_is_resumed(
    workspace: Workspace, screen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = LabelRequest("screen", LabelSettings(sampling=SamplingSettings(seed=3)))
    arguments = ["cells", "labels", str(screen), *arguments_of(request)]

    def interrupt(_line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cells.label_cells(workspace, screen, request, interrupt)
    [job] = list_jobs(workspace)
    assert (job.state, job.name, job.can_resume) == ("interrupted", "screen", True)
    started = []
    monkeypatch.setattr(
        overview,
        "start_process",
        lambda _folder, command, _environment, **_more: started.append(command[-len(arguments) :]),
    )
    control.resume(workspace, job)
    assert [list(command) for command in started] == [arguments]
