"""Launch, without a browser: what can be started, what cannot and why, and what became of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from core.base.types import LIVE_STATES
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.workspace import Workspace
from core.store import calls
from core.store.runs import Run
from tests.fakes import scripted as scripted_server
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of, the_run
from tests.ui.test_confirmation import confirmation_of

NOBODY = "http://127.0.0.1:9/v1"  # the discard port: nothing listens


@pytest.fixture
def model() -> Iterator[str]:
    with scripted_server.serving() as address:
        yield address


def ended(workspace: Workspace, name: str, within_s: float = 60.0) -> Run:
    """The run when its worker has ended and its rows are in the store."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        run = the_run(workspace, name)
        if run_control.states(workspace)[run.id].state not in LIVE_STATES:
            return run_control.settle(workspace, run.id)
        time.sleep(0.1)
    raise AssertionError(f"{name} did not end: {log_tail(workspace.run_folder(run.id))}")


@pytest.mark.soak
def test_a_method_without_a_model_runs_from_the_page(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "run", method="evidence_rules")
    assert "No run was started here yet" in text_of(app)
    assert "This method needs no model" in text_of(app)
    [method] = [widget for widget in app.selectbox if widget.label == "Method"]
    assert (method.value, "evidence rules" in method.options) == (
        "evidence_rules",
        True,
    )  # its name is for links
    assert "2 rows" in text_of(app)  # Pc_Gc and Pc_Gm12, tests/cases.py
    press(app, "Start run")
    assert not app.error
    run = ended(small_workspace, "evidence_rules split=test")
    assert confirmation_of(app) == ("Started evidence_rules split=test.", ["Watch", "Open rows"])
    assert app.query_params["watched"] == run.id
    again = press(app, "Start run")
    assert (
        confirmation_of(again)[0]
        == f"{run.name} has these settings already: no second run was started."
    )
    assert (run.status, run.total, run.done, run.failed) == ("done", 2, 2, 0)
    again = visit(small_workspace, "run")
    assert "done · 2 of 2 rows" in "".join(
        element.proto.text for element in again.main.get("progress")
    )


@pytest.mark.soak
def test_no_model_is_said_in_words_with_what_to_start(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", NOBODY)
    app = visit(small_workspace, "run", method="prompt_only")
    assert "No model answers there" in app.warning[0].value
    assert "vllm serve" in app.code[0].value
    assert "Start run" not in [button.label for button in app.button]


@pytest.mark.soak
def test_a_run_with_a_model_keeps_what_was_asked_and_answered(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", model)
    monkeypatch.setenv("PERTURBDESK_API_KEY", "a-secret-key-0815")
    app = visit(small_workspace, "run", method="prompt_only")
    assert "6 calls" in text_of(app)  # two rows, three seeds
    assert "tokens and time are unknown before" in text_of(app)
    press(app, "Start run")
    assert not app.error
    run = ended(small_workspace, "prompt_only split=test")
    assert (run.status, run.done, run.model) == ("done", 2, "scripted")
    with small_workspace.store.read() as db:
        made = calls.of_row(db, run.id, "Pc_Gc")
    assert len(made) == 3
    page = text_of(visit(small_workspace, "rows", run=run.id, row="Pc_Gc"))
    assert "3 calls of the model" in page or len(made) == 3
    assert "a-secret-key-0815" not in page
    for file in small_workspace.settings.workspace.rglob("*"):
        assert not file.is_file() or b"a-secret-key-0815" not in file.read_bytes(), file
    # A second one knows what a call takes.
    assert "about" in text_of(visit(small_workspace, "run", method="prompt_only"))


@pytest.mark.soak
def test_prompts_of_a_file_are_uploaded_checked_and_asked(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", model)
    app = visit(small_workspace, "run", method="prompt_only")
    upload = app.file_uploader(key="upload-option-prompt_only-prompts")
    upload.upload("short.csv", b"id,prompt\nPc_Gc,A B or C?\n").run()
    assert (
        "short.csv: no prompt for 1 of the run's 2 rows: Pc_Gm12; expected one for each"
        in text_of(app).replace("\\", "")
    )
    assert "Start run" not in [button.label for button in app.button]
    content = b"id,prompt\nPc_Gc,First: A B or C?\nPc_Gm12,Second: A B or C?\n"
    app.file_uploader(key="upload-option-prompt_only-prompts").set_value(
        ("mine.csv", content, "text/csv")
    ).run()
    assert "6 calls" in text_of(app)
    press(app, "Start run")
    assert not app.error
    run = ended(small_workspace, "prompt_only split=test")
    assert (run.status, run.done) == ("done", 2)
    with small_workspace.store.read() as db:
        made = calls.of_row(db, run.id, "Pc_Gm12")
    assert {json.loads(call.request)["messages"][0]["content"] for call in made} == {
        "Second: A B or C?"
    }


@pytest.mark.soak
def test_a_derived_method_offers_what_it_may_be_made_from(
    visit: Visit, demo_copy: Workspace
) -> None:
    app = visit(demo_copy, "run", method="knn")
    assert not app.error
    assert "got none; expected one or more gene spaces" in text_of(app)
    [spaces] = [widget for widget in app.multiselect if widget.key == "option-knn-spaces"]
    app = spaces.set_value(["simulated"]).run()
    assert "7,700 rows" in text_of(app)  # the labelled ones, which its folds predict
    press(app, "Start run")
    assert not app.error
    assert ended(demo_copy, "knn simulated").done == 7700
    app = visit(demo_copy, "run", method="fusion")
    assert "got none; expected a run" in text_of(app)


@pytest.mark.soak
def test_a_knn_takes_numbers_that_the_sliders_of_neighbours_lack(
    visit: Visit, demo_copy: Workspace
) -> None:
    numbers = {"option-knn-k": "30", "option-knn-power": "8", "option-knn-strength": "0.25"}
    app = visit(demo_copy, "run", method="knn", **numbers)
    assert not app.warning
    assert {key: app.number_input(key=key).value for key in numbers} == {
        key: float(text) for key, text in numbers.items()
    }


def test_each_of_several_servers_is_shown(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", f"{model},{NOBODY}")
    app = visit(small_workspace, "run", method="prompt_only")
    assert text_of(app).count("the connection failed") == 1  # of the two
    assert "Start run" in [button.label for button in app.button]
