"""Fine-tunes as a page and the command start them; the process is the real one, which ends at once where torch is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.base.errors import InputError, MissingPackage, NotFound, StateError
from core.features.finetune import actions as finetunes
from core.features.finetune import job_folder
from core.features.finetune.job_folder import FinetuneFolder, FinetuneRequest
from core.features.finetune.jobs import KIND
from core.runs.jobs import control
from core.runs.jobs.control import Job
from core.runs.jobs.folder import log_tail
from core.runs.jobs.state import beat
from core.runs.workspace import Workspace
from core.store import changes
from tests.features.finetune.cases import REQUEST, finish, until_ended

pytestmark = pytest.mark.soak


def job_of(workspace: Workspace, folder: FinetuneFolder) -> Job:
    job = KIND.find(workspace, folder.key)
    assert job is not None
    return job


def log_of(workspace: Workspace) -> list[tuple[str, str]]:
    with workspace.store.read() as db:
        latest = changes.latest(db, 10)
    return [
        (action, subject)
        for action, subject in zip(latest["action"], latest["subject"], strict=True)
        if "fine" in action
    ]


def test_a_plan_cuts_the_labelled_rows_and_writes_nothing(here: Workspace) -> None:
    spec = finetunes.plan(here, REQUEST).spec
    assert (spec.train, spec.validation, spec.left_out) == (9, 9, 18)  # of 6 × 6 in 2 × 2 parts
    assert spec.out == str(
        here.settings.data / "finetune" / spec.key / "no-such-model-1B-finetuned"
    )
    assert spec.settings["parts"] == 2
    assert not (here.settings.data / "finetune").exists()
    with pytest.raises(InputError, match="rate"):
        finetunes.plan(here, FinetuneRequest(options={"rate": 1}))
    with pytest.raises(NotFound):
        finetunes.plan(here, FinetuneRequest("no such dataset"))


def test_without_torch_nothing_is_begun_and_the_file_that_brings_it_is_named(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_folder, "PACKAGES", ("torch_that_is_not_there",))
    with pytest.raises(MissingPackage, match=r"requirements-train\.txt"):
        finetunes.start(here, REQUEST)
    assert not finetunes.list_all(here)
    assert log_of(here) == []


@pytest.mark.usefixtures("installed")
def test_it_is_started_fails_with_its_cause_and_can_be_resumed(here: Workspace) -> None:
    folder = finetunes.start(here, REQUEST)
    assert until_ended(folder) == "failed"
    assert folder.status().cause
    assert any("Traceback" in line for line in log_tail(folder, 200))
    with pytest.raises(StateError, match=r"failed: .*; --resume continues it"):
        finetunes.result_of(folder)
    with pytest.raises(StateError, match=r"is failed after 0 steps, expected --resume"):
        finetunes.start(here, REQUEST)
    again = finetunes.resume(here)
    assert again == folder == finetunes.find(here, folder.key)
    assert until_ended(again) == "failed"
    name = "no-such-model-1B on bmdm"
    assert log_of(here) == [("resume fine-tune", name), ("finetune", name)]


@pytest.mark.usefixtures("installed")
def test_one_that_is_done_is_returned_and_made_again_only_without_its_model(
    here: Workspace, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    request = FinetuneRequest(None, REQUEST.base, REQUEST.options, out)
    folder = finetunes.start(here, request)
    until_ended(folder)
    finish(folder, out)
    expected = {"path": str(out), "steps": 9, "loss": 0.5, "manifest": str(out / "manifest.json")}
    assert finetunes.result_of(finetunes.start(here, request)) == expected
    assert finetunes.result_of(finetunes.resume(here)) == expected  # nothing to go on with
    (out / "manifest.json").unlink()
    with pytest.raises(InputError, match="remove the folder and start the fine-tune again"):
        finetunes.result_of(folder)
    with pytest.raises(StateError, match="holds other files"):
        finetunes.start(here, request)
    shutil.rmtree(out)
    finetunes.start(here, request)
    assert until_ended(folder) == "failed"  # it was begun anew


@pytest.mark.usefixtures("installed")
def test_a_folder_with_other_files_is_refused_before_anything_is_begun(
    here: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a")
    with pytest.raises(StateError, match="holds other files"):
        finetunes.start(
            here, FinetuneRequest(None, REQUEST.base, REQUEST.options, tmp_path / "notes")
        )
    assert not finetunes.list_all(here)


@pytest.mark.usefixtures("installed")
def test_a_live_one_is_watched_and_stopped_not_started_twice(here: Workspace) -> None:
    folder = finetunes.start(here, REQUEST)
    until_ended(folder)
    folder.done.unlink()
    until_ended(folder)  # its process may need another moment
    with pytest.raises(StateError, match="is crashed"):
        control.stop(here, job_of(here, folder))
    beat(folder, {"state": "running", "step": 1})  # this process is on it
    assert finetunes.resume(here) == folder
    assert folder.status().state == "running"
    with pytest.raises(StateError, match="is running after 1 steps"):
        finetunes.start(here, REQUEST)
    control.stop(here, job_of(here, folder))
    assert folder.command() == "cancel"
    assert log_of(here)[0] == ("stop fine-tune", "no-such-model-1B on bmdm")


def test_one_that_is_not_there_is_not_found(here: Workspace) -> None:
    with pytest.raises(NotFound, match="which has none"):
        finetunes.resume(here)
    with pytest.raises(NotFound, match="fine-tune 0123: not in this workspace"):
        finetunes.find(here, "0123")
