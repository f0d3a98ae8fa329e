"""Every page and tab on a small laptop, a laptop and a projector: nothing clipped, nothing over anything else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.actions.workspace import Workspace
from core.ui.shared import text_size
from tests.ui.conftest import WATCH, OpenTab, settle
from tests.ui.serving import Server
from tests.ui.views import HEIGHT, REST_MS, TALLEST, VIEWS, WIDTHS, View, symbol_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 15  # times REST_MS
FAULTS = Path(__file__).with_name("faults.js").read_text("utf-8")
WIDTHS_OF = {"usual": WIDTHS, "larger": WIDTHS[1:]}  # by the size of the text


@pytest.fixture(scope="module", params=WIDTHS_OF)
def sized(request: pytest.FixtureRequest, browser: Browser, demo_server: Server) -> Iterator[tuple[Page, tuple[int, ...]]]:
    """A tab with text of one size, and the widths to look at."""
    context = browser.new_context(viewport={"width": 1280, "height": HEIGHT})
    if request.param == "larger":
        context.add_cookies([{"name": text_size.COOKIE, "value": "on", "url": demo_server.address}])
    context.add_init_script(WATCH)
    yield context.new_page(), WIDTHS_OF[request.param]
    context.close()


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_nothing_is_clipped(
    sized: tuple[Page, tuple[int, ...]], demo_server: Server, demo_workspace: Workspace, view: View
) -> None:
    page, widths = sized
    path, parameters = view.address(symbol_of(demo_workspace))
    page.goto(demo_server.url(path, **parameters))
    settle(page)
    assert {width: lasting_faults(page, width) for width in widths} == {width: [] for width in widths}


def lasting_faults(page: Page, width: int) -> list[str]:
    """What is still wrong when the page has followed the window to this width; figures follow after a while."""
    page.set_viewport_size({"width": width, "height": TALLEST})
    faults: list[str] = []
    for _ in range(PATIENCE):
        page.wait_for_timeout(REST_MS)
        faults = page.evaluate(FAULTS)
        if not faults:
            break
    return faults


def test_what_is_clipped_is_seen(open_tab: OpenTab) -> None:
    """What the test above relies on."""
    page = open_tab()
    page.set_content(
        '<div data-testid="stMain" style="font: 16px monospace">'
        '<p style="width: 3em; overflow: hidden; white-space: nowrap">too long</p>'
        '<p style="height: 0.5em; overflow: hidden">too low</p>'
        '<p style="width: 3em; overflow: auto; white-space: nowrap">may be scrolled</p>'
        '<p style="margin: 0">under</p><p style="margin: -1em 0 0">over</p>'
        '<p style="width: 3000px">too wide</p></div>'
    )
    faults = [fault.split(" by ")[0].split(" px")[0] for fault in page.evaluate(FAULTS)]
    wide = ["the page is 3008", "the main part is 3000"]
    assert faults == [*wide, 'cut: "too long"', 'cut: "too low"', 'over one another: "under" and "over"']


def test_larger_text_is_remembered(open_tab: OpenTab, demo_server: Server) -> None:
    page = open_tab()
    page.goto(demo_server.url("what_if"))
    settle(page)
    sizes = (
        "[document.documentElement, document.querySelector('.js-plotly-plot .xtick text')].map(e => getComputedStyle(e).fontSize)"
    )
    page.locator(".js-plotly-plot .xtick text").first.wait_for()
    assert page.evaluate(sizes) == ["15px", "14px"]
    with page.expect_navigation():
        page.get_by_label("Larger text").press("Space")
    for where in ("what_if", "compare"):
        page.goto(demo_server.url(where))
        settle(page)
        page.locator(".js-plotly-plot .xtick text").first.wait_for()
        assert page.evaluate(sizes) == ["18px", "16.8px"]
    assert page.get_by_label("Larger text").is_checked()
    with page.expect_navigation():
        page.get_by_label("Larger text").press("Space")
    page.locator(".js-plotly-plot .xtick text").first.wait_for()
    assert page.evaluate(sizes) == ["15px", "14px"]
