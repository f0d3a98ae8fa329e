"""What needs attention: runs that ended early, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.runs.jobs.state import NO_REASON
from core.runs.journal import read_progress
from tests.runs.cases import recorded, until
from tests.runs.killed import killed_run
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


@pytest.mark.soak
def test_a_dead_run_is_told_at_once_settled_in_the_background_and_can_be_resumed_from_a_link(
    visit: Visit, tmp_path: Path
) -> None:
    workspace, run = killed_run(tmp_path)
    finished = len(read_progress(workspace.run_folder(run.id).rows).finished)
    app = visit(workspace, "overview")
    assert "crashed: " in text_of(app)
    assert NO_REASON in text_of(app)
    until(lambda: recorded(workspace, run).status == "crashed", "the run to be settled")
    until(lambda: recorded(workspace, run).done == finished, "its rows")
    assert f"{finished} of 40 rows are finished; resume it on the page Run" in text_of(app.run())
    links = [
        link for link in app.get("page_link") if "resume it on the page Run" in link.proto.label
    ]
    assert {
        (link.proto.page, f"watched={run.id}" in link.proto.query_string) for link in links
    } == {("run", True)}
    launch = visit(workspace, "run", watched=run.id)
    assert run.name in text_of(launch)
    assert "Resume" in [button.label for button in launch.button]


@pytest.mark.soak
def test_a_reader_sees_that_a_run_is_dead_on_every_page_and_nothing_is_written(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, run = killed_run(tmp_path)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    assert "crashed: " in text_of(visit(workspace, "overview"))
    launch = visit(workspace, "run")
    [error] = [error.value.replace("\\", "") for error in launch.error]
    assert error.startswith(f"{NO_REASON}; the last line of its log: ")
    assert error.endswith("was killed by SIGKILL")
    assert "crashed; can be resumed" in str([element.proto for element in launch.get("progress")])
    assert (recorded(workspace, run).status, recorded(workspace, run).done) == ("running", 0)
