"""Launch › Fine-tune, without a browser: what is shown of a fine-tune, and what can be done to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.features.finetune import actions as finetunes
from core.features.finetune import job_folder
from core.features.finetune.job_folder import FinetuneFolder
from core.features.finetune.page import loss_curves
from core.runs.jobs.state import beat
from core.runs.workspace import Workspace
from tests.features.finetune.cases import REQUEST, finish, labelled_workspace, until_ended
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of

LOSSES = [{"step": 1, "epoch": 0.5, "loss": 2.0}, {"step": 2, "epoch": 1.0, "validation_loss": 1.5}]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with 36 labelled rows."""
    return labelled_workspace(tmp_path, monkeypatch)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything were installed, so that the process begins."""
    monkeypatch.setattr(job_folder, "PACKAGES", ("json",))


def begun(workspace: Workspace) -> FinetuneFolder:
    """A fine-tune as a process that was killed leaves it."""
    made = finetunes.plan(workspace, REQUEST)
    folder = FinetuneFolder(workspace.settings.data / "finetune" / made.spec.key)
    folder.create(made.spec, made.train, made.validation)
    folder.write_losses(LOSSES)
    return folder


def test_losses_are_two_curves() -> None:
    assert loss_curves(LOSSES)[["curve", "x", "y"]].values.tolist() == [
        ["training", 1, 2.0],
        ["validation", 2, 1.5],
    ]
    assert loss_curves(LOSSES[:1])["curve"].tolist() == ["training"]
    assert not len(loss_curves([]))


def progress_of(app: Any) -> str:
    """The text beside the bar, without the backslashes that keep it from being read as Markdown."""
    return "".join(element.proto.text for element in app.main.get("progress")).replace("\\", "")


@pytest.mark.soak
def test_nothing_was_made_yet_and_what_is_missing_is_said(
    visit: Visit,
    here: Workspace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = visit(here, "run", tab="Fine-tune")
    assert "No model was fine-tuned here" in text_of(app)
    [base] = [widget for widget in app.text_input if widget.label == "Model"]
    assert base.value == "Qwen/Qwen3-4B-Thinking-2507"
    monkeypatch.setattr(job_folder, "PACKAGES", ("torch_that_is_not_there",))
    app = press(app, "Start fine-tune")
    assert "requirements-train.txt" in text_of(app).replace("\\", "")
    assert not finetunes.list_all(here)


@pytest.mark.soak
@pytest.mark.usefixtures("installed")
def test_it_is_started_from_the_page(visit: Visit, here: Workspace) -> None:
    app = visit(here, "run", tab="Fine-tune")
    [parts] = [widget for widget in app.number_input if widget.key == "finetune-parts"]
    parts.set_value(2)
    [base] = [widget for widget in app.text_input if widget.label == "Model"]
    base.set_value(REQUEST.base)
    press(app, "Start fine-tune")
    [folder] = finetunes.list_all(here)
    assert folder.spec().base == REQUEST.base
    assert (folder.spec().settings["parts"], folder.spec().settings["rank"]) == (2, 16)
    until_ended(folder)
    app = visit(here, "run", tab="Fine-tune")
    assert "failed; can be resumed" in progress_of(app)
    assert app.error[0].value
    assert "Traceback" in text_of(app)


@pytest.mark.soak
def test_a_live_one_shows_its_progress_and_can_be_stopped(visit: Visit, here: Workspace) -> None:
    folder = begun(here)
    beat(folder, {"state": "running", "share": 0.25, "what": "step 1 of 4 · 9 s left"})
    app = visit(here, "run", tab="Fine-tune")
    assert "running · step 1 of 4 · 9 s left" in progress_of(app)
    assert "9 training rows, 9 validation rows" in text_of(app)
    assert len(app.main.get("plotly_chart")) == 1
    assert {"Stop", "Resume"} & {button.label for button in app.button} == {"Stop"}
    press(app, "Stop")
    assert folder.command() == "cancel"


@pytest.mark.soak
@pytest.mark.usefixtures("installed")
def test_a_crashed_one_can_be_resumed_and_a_done_one_served(visit: Visit, here: Workspace) -> None:
    folder = begun(here)
    app = visit(here, "run", tab="Fine-tune")
    assert "crashed; can be resumed" in progress_of(app)
    press(app, "Resume")
    assert until_ended(folder) == "failed"
    out = Path(folder.spec().out)
    finish(folder, out)
    app = visit(here, "run", tab="Fine-tune")
    assert f"perturbdesk serve {out}" in [code.value for code in app.code]
    assert not {"Stop", "Resume"} & {button.label for button in app.button}


@pytest.mark.soak
def test_a_reader_starts_and_stops_nothing(
    visit: Visit, here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(here)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(here, "run", tab="Fine-tune")
    assert "crashed" in progress_of(app)
    assert not {"Stop", "Resume", "Start fine-tune"} & {button.label for button in app.button}
