"""Every page and tab, loaded once and looked at twice: nothing clipped and nothing over anything else on a small laptop, a laptop
and a projector, and nothing in either theme that axe-core finds serious.

The suite looks at Rows, the fullest page; `make soak PART=variants` at every page and tab.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.runs.workspace import Workspace
from tests.ui.conftest import OpenTab, new_context, settle, then
from tests.ui.serving import Server
from tests.ui.views import HEIGHT, REST_MS, TALLEST, VIEWS, WIDTHS, View, symbol_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 15  # times REST_MS
FAULTS = Path(__file__).with_name("faults.js").read_text("utf-8")
GRAVE = ("serious", "critical")
FULLEST = View("rows", "Rows")


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A tab where axe may be put into the page although the app's policy forbids such scripts."""
    context = new_context(browser, bypass_csp=True)
    yield context.new_page()
    context.close()


EACH_VIEW = [
    view if view == FULLEST else pytest.param(view, marks=pytest.mark.soak) for view in VIEWS
]


@pytest.fixture(scope="module", params=EACH_VIEW, ids=str)
def opened(
    request: pytest.FixtureRequest, tab: Page, demo_server: Server, demo_workspace: Workspace
) -> tuple[Page, View]:
    """A page with one of its tabs open, in the light."""
    tab.emulate_media(color_scheme="light")
    open_view(tab, demo_server, demo_workspace, request.param)
    return tab, request.param


def open_view(page: Page, server: Server, workspace: Workspace, view: View) -> None:
    path, parameters = view.address(symbol_of(workspace))
    page.goto(server.url(path, **parameters))
    settle(page)


def lasting_faults(page: Page, width: int) -> list[str]:
    """What is still wrong when the page has followed the window to this width; figures follow after a while."""
    page.set_viewport_size({"width": width, "height": TALLEST})
    faults = []
    for _ in range(PATIENCE):
        page.wait_for_timeout(REST_MS)
        faults = page.evaluate(FAULTS)
        if not faults:
            break
    return faults


def violations(page: Page) -> list[tuple[str, str, str]]:
    """(rule, element, what is wrong) of everything serious or critical."""
    sync_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = sync_playwright.Axe().run(page).response["violations"]
    grave = [
        (rule["id"], node) for rule in found if rule["impact"] in GRAVE for node in rule["nodes"]
    ]
    return [(rule, node["html"], node["failureSummary"]) for rule, node in grave]


@pytest.mark.soak
def test_nothing_is_clipped(opened: tuple[Page, View]) -> None:
    page, _ = opened
    assert {width: lasting_faults(page, width) for width in WIDTHS} == {
        width: [] for width in WIDTHS
    }


@pytest.mark.soak
def test_nothing_keeps_anybody_out(opened: tuple[Page, View]) -> None:
    """In the light, and when the system has gone dark."""
    page, _ = opened
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    then(
        page, lambda: page.keyboard.press("r")
    )  # Streamlit's own key: run again, so that figures follow
    assert violations(page) == []


@pytest.mark.soak
def test_what_is_clipped_is_seen(open_tab: OpenTab) -> None:
    """What is asked of every page relies on it."""
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
    assert faults == [
        *wide,
        'cut: "too long"',
        'cut: "too low"',
        'over one another: "under" and "over"',
    ]
