"""The explorer of What-if in a browser: numbers follow the hand without the server, which is told once it rests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.ui.conftest import OpenTab, settle, then
from tests.ui.serving import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

LABELLED = "simulated debate"
# Notes at every frame the height of the page.
FRAMES = """() => { window.frames_seen = []; const main = document.querySelector('[data-testid=stMain]'); const look = () => {
  window.frames_seen.push(main.scrollHeight);
  requestAnimationFrame(look); }; look(); }"""


def opened(open_tab: OpenTab, server: Server, **parameters: str) -> Page:
    """What-if with its explorer drawn and what the server computes in it."""
    page = open_tab()
    page.goto(server.url("fuse", run=LABELLED, **parameters))
    settle(page)
    page.locator(".fusion .best text").wait_for()
    settle(page)  # the run that brought it may end after it is drawn
    return page


def words(page: Page) -> str:
    return page.locator(".fusion .words").inner_text()


@pytest.mark.soak
def test_numbers_follow_the_hand_and_the_address_its_rest(
    open_tab: OpenTab, demo_server: Server
) -> None:
    page = opened(open_tab, demo_server)
    page.evaluate(FRAMES)
    runs_before, before = page.evaluate("window.runs"), words(page)
    moved = page.locator(".fusion ol").first.inner_text()
    box = page.locator(".fusion svg.hand").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.2, steps=8)
    page.locator(".fusion output").first.filter(has_not_text="0.50").wait_for()
    assert words(page) != before
    assert page.locator(".fusion ol").first.inner_text() != moved
    assert page.evaluate("window.runs") == runs_before  # the server was not asked
    assert "w_de_knn" not in page.url
    then(page, page.mouse.up)
    shown = [page.locator(".fusion output").nth(i).inner_text() for i in range(2)]
    page.wait_for_url(
        lambda url: (
            {f"w_de_knn={float(shown[0]):g}", f"w_dir_knn={float(shown[1]):g}"}
            <= set(re.split("[?&]", url))
        )
    )
    assert len(set(page.evaluate("window.frames_seen"))) == 1  # nothing jumped
    elsewhere = opened(
        open_tab,
        demo_server,
        **{f"w_{name}_knn": value for name, value in zip(("de", "dir"), shown, strict=True)},
    )
    elsewhere.locator(".fusion .words").filter(has_text=words(page)).wait_for()


@pytest.mark.soak
def test_plane_sliders_and_mixes_by_the_keyboard(open_tab: OpenTab, demo_server: Server) -> None:
    page = opened(open_tab, demo_server)
    point = page.get_by_role("slider", name="Neighbours' share in P(DE) and P(up | DE)")
    point.press("ArrowRight")
    point.press("Shift+ArrowDown")
    page.locator('.point[aria-valuetext="P(DE) 0.51, P(up | DE) 0.40"]').wait_for()
    page.wait_for_url("**w_de_knn=0.51*")
    page.get_by_role("slider", name="Neighbours' share in P(up | DE)", exact=True).press(
        "ArrowRight"
    )
    page.wait_for_url("**w_dir_knn=0.41*")
    page.get_by_role("button", name="base run alone").press("Enter")
    page.wait_for_url("**w_de_knn=0&*")
    assert words(page) == f"This is {LABELLED} alone: nothing is fused with it."
    page.go_back()
    page.locator(".fusion output").first.filter(has_text="0.51").wait_for()
