"""Neighbours in a browser: what a picked neighbour does to the priors stands where it is picked."""

from __future__ import annotations

import re

import pytest

from tests.ui.conftest import OpenTab, settle, then
from tests.ui.serving import Server

pytestmark = pytest.mark.browser

FIRST_BOX = {"x": 18, "y": 52}  # of the table's first row, which Streamlit draws on a canvas
PICKED = "[data-testid=stMain] strong:has-text('Without the picked')"


@pytest.mark.soak
def test_a_picked_neighbour_shows_the_priors_before_and_after(
    open_tab: OpenTab, demo_server: Server
) -> None:
    page = open_tab()
    page.goto(demo_server.url("neighbours"))
    settle(page)
    table = page.locator("[data-testid=stDataFrame]").last.locator("canvas").first
    table.scroll_into_view_if_needed()
    assert page.locator(PICKED).count() == 0
    then(page, lambda: table.click(position=FIRST_BOX, force=True))
    said = page.locator(PICKED).inner_text()
    moved = re.search(r"P\(DE\) (0\.\d{3} → 0\.\d{3}) \(([+−]0\.\d{3})\)", said)
    assert moved[1].split()[0] in page.locator("[class*=st-key-numbers-]").first.inner_text()


@pytest.mark.soak
def test_the_page_is_one_step_from_the_one_before(open_tab: OpenTab, demo_server: Server) -> None:
    page = open_tab()
    page.goto(demo_server.url())
    settle(page)
    steps = page.evaluate("history.length")
    then(
        page,
        page.get_by_test_id("stSidebar").get_by_role("link", name="Neighbours", exact=True).click,
    )
    page.get_by_role("heading", name="Neighbours", exact=True).wait_for()
    settle(page)
    assert page.evaluate("history.length") == steps + 1
    then(page, page.go_back)
    page.get_by_role("heading", name="Overview", exact=True).wait_for()
