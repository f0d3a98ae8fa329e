"""The list of runs: its words, and what can be done to a run from there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.base.fields.record import options_of
from core.methods.base import method_named
from core.runs import run_control
from core.runs.model_servers import ChangedSettings
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import serving
from tests.runs.cases import fast, until_state, wish, workspace_with
from tests.runs.killed import killed_run
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form
from tests.ui.test_apptest import press, text_of

pytestmark = pytest.mark.soak

NOWHERE = "http://127.0.0.1:9/v1"


def test_a_run_whose_server_died_goes_on_from_the_page_with_other_settings(
    visit: Visit, tmp_path: Path
) -> None:
    workspace = workspace_with(tmp_path, 8)
    with serving_prompt_only(workspace) as (run, url):
        app = visit(workspace, "run", watched=run.id)
        assert app.text_input(key=f"endpoint-calls-{run.id}").value == NOWHERE
        form = frozenset(option.name for option in options_of(ChangedSettings))
        check_form(ChangedSettings, app, f"calls-{run.id}-", (), form)
        app.text_input(key=f"endpoint-calls-{run.id}").set_value("nonsense").run()
        press(app, "Resume")
        assert (
            "'nonsense' is neither a file nor an address, expected one such as"
            in app.error[-1].value
        )
        app.text_input(key=f"endpoint-calls-{run.id}").set_value(url)
        app.number_input(key=f"calls-{run.id}-budget").set_value(1_000_000)
        app.number_input(key=f"calls-{run.id}-concurrency").set_value(3).run()
        press(app, "Resume")
        assert not app.error
        assert "✓ Resumed r." in text_of(app)
        until_state(workspace, run, "done")
    kept = run_control.settings_of(workspace, run.id)
    assert (kept.servers, kept.token_budget, kept.concurrency, kept.rows_in_flight) == (
        url,
        1_000_000,
        3,
        3,
    )


def test_requests_whose_answer_nobody_read_are_told(visit: Visit, tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 8)
    with serving_prompt_only(workspace) as (run, _):
        folder = workspace.run_folder(run.id)
        assert "were pending" not in text_of(visit(workspace, "run", watched=run.id))
        folder.done.unlink()  # as if its worker had been killed
        folder.spending.write_text("[2, 30, 3]\n")
        for trace in (folder.heartbeat, folder.control):
            os.utime(trace, (0, 0))
        assert until_state(workspace, run, "crashed").counts.unanswered == 3
        app = visit(workspace, "run", watched=run.id)
    assert "3 requests were pending when a worker ended" in text_of(app)


@contextmanager
def serving_prompt_only(workspace: Workspace) -> Iterator[tuple[Run, str]]:
    """A run of 8 rows that ended since nobody answered, and the address of a server that would."""
    method = method_named("prompt_only")
    spec = wish(workspace, method, model="scripted")
    run = run_control.start(workspace, spec, "r", fast(NOWHERE), begin=run_control.work_on)
    assert run.status == "stopped"
    with serving() as url:
        yield run, url


def test_the_settings_of_a_run_without_a_model_are_not_shown(visit: Visit, tmp_path: Path) -> None:
    workspace, _ = killed_run(tmp_path)
    app = visit(workspace, "run")
    assert "Resume" in [button.label for button in app.button]
    assert not [
        field
        for field in app.text_input
        if field.label == "Model server" and field.key != "endpoint"
    ]


def test_an_emptied_server_is_the_present_one(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, asked = workspace_with(tmp_path, 8), []
    monkeypatch.setattr(
        run_control, "resume", lambda _, run, settings: asked.append((run, settings.servers))
    )
    with serving_prompt_only(workspace) as (run, _):
        app = visit(workspace, "run", watched=run.id)
        app.text_input(key=f"endpoint-calls-{run.id}").set_value("").run()
        press(app, "Resume")
    assert asked == [(run.id, NOWHERE)]
