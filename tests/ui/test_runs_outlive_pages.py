"""Runs that are started and watched on a page: closing it, or stopping the app, stops none."""

from __future__ import annotations

import pytest

from core.base.types import LIVE_STATES
from core.runs import run_control
from core.runs.workspace import Workspace
from tests.fakes import scripted as scripted_server
from tests.runs.cases import until
from tests.ui.page_client import browsing, state_of
from tests.ui.serving import serving

DELAY_S = 3.0


@pytest.mark.soak
def test_a_run_outlives_its_session_and_the_app(small_workspace: Workspace) -> None:
    with scripted_server.serving(scripted_server.Script(delay_s=DELAY_S)) as model:
        with serving(small_workspace.settings.workspace, PERTURBDESK_ENDPOINT=model) as server:
            with browsing(server.address) as client:
                drawn = client.run("run", "method=prompt_only")
                [start] = [each for each in drawn.widgets if each.label == "Start run"]
                client.run("run", "method=prompt_only", [state_of(start)])
            [(run, begun)] = run_control.states(small_workspace).items()
            server.stop()  # Ctrl-C
        status = run_control.states(small_workspace)[run]
        assert status.pid in (
            begun.pid,
            None,
        )  # none where the machine is so busy that it has ended
        with (
            serving(small_workspace.settings.workspace) as server,
            browsing(server.address) as again,
        ):
            assert "of 2 rows" in again.run("run").text
        until(
            lambda: run_control.states(small_workspace)[run].state not in LIVE_STATES,
            "the run did not end",
        )
    assert run_control.settle(small_workspace, run).status == "done"
