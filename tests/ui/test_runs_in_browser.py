"""Runs that are started and watched on a page: closing its browser, or stopping the app, stops none."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from core.actions import run_control
from core.actions.workspace import Workspace
from core.store import predictions, runs
from core.types import LIVE_STATES
from tests.fakes import scripted as scripted_server
from tests.ui.conftest import OpenTab
from tests.ui.page_client import browsing, state_of
from tests.ui.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROWS, DELAY_S = 15, 0.6
PROGRESS = re.compile(r"(\d+) of (\d+) rows")


@pytest.fixture
def copy(demo_copy: Workspace) -> Iterator[Workspace]:
    """The demo to change; whatever still works on it when the test ends is ended."""
    yield demo_copy
    for status in run_control.states(demo_copy).values():
        if status.pid is not None:
            os.kill(status.pid, signal.SIGKILL)


def watched(page: Page) -> int:
    """How many rows a tab says are finished."""
    found = PROGRESS.search(page.locator("[data-testid=stProgress]").first.inner_text())
    assert found is not None
    assert int(found[2]) == ROWS
    return int(found[1])


def until(holds: object, what: str, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


@pytest.mark.soak
@pytest.mark.browser
def test_a_run_outlives_its_browser_and_the_app(copy: Workspace, open_tab: OpenTab) -> None:
    with scripted_server.serving(scripted_server.Script(delay_s=DELAY_S)) as model:
        start = {"PERTURBDESK_ENDPOINT": model}
        with serving(copy.settings.workspace, **start) as server:
            first, second = open_tab(), open_tab()
            first.goto(server.url("run", method="prompt_only"))
            sample = first.get_by_role("spinbutton", name="Only a sample of")
            sample.fill(str(ROWS))
            sample.press("Enter")
            calls = first.get_by_role("spinbutton", name="Calls at once")
            calls.fill("3")
            calls.press("Enter")
            first.get_by_text(f"{3 * ROWS} calls").wait_for()
            first.get_by_role("button", name="Start run").click()
            first.locator("[data-testid=stProgress]").wait_for()
            second.goto(server.url("run"))
            second.locator("[data-testid=stProgress]").wait_for()
            until(lambda: watched(second) > 0, "no row is finished")
            # Both look every two seconds, and some rows a second are finished: they see the same but for one look.
            assert abs(watched(first) - watched(second)) <= 2 + 2 * 3 / (3 * DELAY_S) + 1
            [run] = run_control.states(copy)
            worker = run_control.states(copy)[run].pid
            first.close()
            assert server.stop() is not None  # Ctrl-C
        status = run_control.states(copy)[run]
        assert (status.state, status.pid) == ("running", worker)
        assert status.counts.done < ROWS
        with serving(copy.settings.workspace, **start) as server:
            again = open_tab()
            again.goto(server.url("run"))
            again.locator("[data-testid=stProgress]").wait_for()
            assert re.match("running|done", again.locator("[data-testid=stProgress]").first.inner_text())
            until(lambda: run_control.states(copy)[run].state not in LIVE_STATES, "the run did not end")
            again.get_by_text(f"done · {ROWS} of {ROWS} rows").wait_for()
    with copy.store.read() as db:
        assert runs.find(db, run).status == "done"
        assert len(predictions.frame(db, run)) == ROWS


@pytest.mark.soak
def test_a_run_outlives_its_session_and_the_app(small_workspace: Workspace) -> None:
    with scripted_server.serving(scripted_server.Script(delay_s=5 * DELAY_S)) as model:
        with serving(small_workspace.settings.workspace, PERTURBDESK_ENDPOINT=model) as server:
            with browsing(server.address) as client:
                drawn = client.run("run", "method=prompt_only")
                [start] = [each for each in drawn.widgets if each.label == "Start run"]
                client.run("run", "method=prompt_only", [state_of(start)])
            [(run, begun)] = run_control.states(small_workspace).items()
            server.stop()  # Ctrl-C
        status = run_control.states(small_workspace)[run]
        assert status.pid in (begun.pid, None)  # none where the machine is so busy that it has ended
        until(lambda: run_control.states(small_workspace)[run].state not in LIVE_STATES, "the run did not end")
    assert run_control.settle(small_workspace, run).status == "done"
