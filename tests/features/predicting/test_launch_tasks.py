"""Tasks of somebody who starts runs, in a browser: the clicks that each takes, and that the page says what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core.runs.workspace import Workspace
from tests.ui.conftest import OpenTab, settle, then
from tests.ui.serving import serving
from tests.ui.test_apptest import the_run

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser


@pytest.mark.soak
def test_a_run_is_started_watched_and_read(open_tab: OpenTab, demo_copy: Workspace) -> None:
    """Three clicks: start, watch, open its rows."""
    page = open_tab()
    with serving(demo_copy.settings.workspace) as server:
        page.goto(server.url("run", method="evidence_rules"))
        settle(page)
        sample = page.get_by_role("spinbutton", name="Only a sample of")
        sample.fill("12")
        sample.press("Enter")
        page.get_by_text("12 rows, no calls.").wait_for()
        top = page.get_by_role("heading", name="Run", exact=True).bounding_box()
        page.get_by_role("button", name="Start run").click()
        said = page.locator(".st-key-confirmation")
        said.get_by_text("Started evidence_rules").wait_for()
        assert (
            page.get_by_role("heading", name="Run", exact=True).bounding_box() == top
        )  # the line moves nothing
        run = the_run(demo_copy, "evidence_rules split=test;sample=12,seed=0")
        assert f"watched={run.id}" in page.url
        page.get_by_text(
            "done · 12 of 12 rows"
        ).wait_for()  # the list follows it by itself, and the line stays
        page.set_viewport_size({"width": 1280, "height": 500})
        page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, main.scrollHeight)")
        said.get_by_role("link", name="Watch").click()
        page.wait_for_function(
            "() => document.querySelector('[data-testid=stMain]').scrollTop < 100"
        )
        then(page, said.get_by_role("link", name="Open rows").click)
        page.get_by_text("row 1 of 12").wait_for()
        assert not said.is_visible()
        assert page.evaluate("window.alerts") == []


@pytest.mark.soak
def test_a_click_selects_a_run_and_a_new_one_takes_its_place(
    open_tab: OpenTab, demo_copy: Workspace
) -> None:
    page = open_tab()
    with serving(demo_copy.settings.workspace) as server:
        page.goto(server.url("run", method="evidence_rules"))
        settle(page)
        for number in ("3", "4"):
            sample = page.get_by_role("spinbutton", name="Only a sample of")
            sample.fill(number)
            sample.press("Enter")
            page.get_by_text(f"{number} rows, no calls.").wait_for()
            page.get_by_role("button", name="Start run").click()
            page.get_by_text(f"done · {number} of {number} rows").wait_for()
        page.locator("[data-testid=stDataFrame]").first.click(
            position={"x": 15, "y": 85}
        )  # the second row
        page.get_by_text("done · 3 of 3 rows").wait_for()
        page.wait_for_timeout(2 * 2000)  # the list is drawn again every two seconds
        assert page.get_by_text("done · 3 of 3 rows").is_visible()
        run = the_run(demo_copy, "evidence_rules split=test;sample=3,seed=0")
        assert f"watched={run.id}" in page.url
