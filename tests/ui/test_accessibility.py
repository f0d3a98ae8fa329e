"""Every page and tab, in both themes, as axe-core sees it; and that the list of pages and tabs is whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from core.actions.workspace import Workspace
from core.plots import theme
from core.ui.shared import shell
from tests.ui.conftest import WATCH, OpenTab, settle
from tests.ui.serving import Server
from tests.ui.views import PAGES, TABS, VIEWS, View, symbol_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")


@pytest.fixture(scope="module", params=theme.SURFACES)
def coloured(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A tab in one theme, where axe may be put into the page although the app's policy forbids such scripts."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=request.param, bypass_csp=True)
    context.add_init_script(WATCH)
    yield context.new_page()
    context.close()


def violations(page: Page) -> list[tuple[str, str, str]]:
    """(rule, element, what is wrong) of everything serious or critical."""
    sync_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
    found: list[dict[str, Any]] = sync_playwright.Axe().run(page).response["violations"]
    grave = [(rule["id"], node) for rule in found if rule["impact"] in GRAVE for node in rule["nodes"]]
    return [(rule, node["html"], node["failureSummary"]) for rule, node in grave]


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_nothing_keeps_anybody_out(coloured: Page, demo_server: Server, demo_workspace: Workspace, view: View) -> None:
    path, parameters = view.address(symbol_of(demo_workspace))
    coloured.goto(demo_server.url(path, **parameters))
    settle(coloured)
    assert violations(coloured) == []


def test_axe_sees_what_is_wrong(open_tab: OpenTab) -> None:
    """What the test above relies on."""
    page = open_tab()
    page.set_content('<html lang="en"><title>t</title><main><h1>h</h1><p style="color: #999">pale</p><input></main>')
    assert sorted({rule for rule, _, _ in violations(page)}) == ["color-contrast", "label"]


def test_every_page_and_tab_is_looked_at(open_tab: OpenTab, demo_server: Server) -> None:
    page = open_tab()
    page.goto(demo_server.url())
    settle(page)
    links = page.get_by_test_id("stSidebar").get_by_role("link").all_inner_texts()
    assert sorted(link.split("\n")[-1].lower().replace("-", "_") for link in links) == list(PAGES)
    for name in PAGES:
        page.goto(demo_server.url("" if name == "overview" else name))
        settle(page)
        tabs = page.get_by_role("tablist").first.get_by_role("tab") if name in TABS else page.get_by_role("tab")
        assert tuple(tabs.all_inner_texts()) == TABS.get(name, ("", ()))[1], name


def test_the_style_sheet_has_the_colours_of_the_theme() -> None:
    """White text stands on the accent of the light theme, in both."""
    rule = next(line for line in shell.STYLE.read_text("utf-8").splitlines() if "stBaseButton-primary" in line)
    assert f"background-color: {theme.ACCENT['light']}" in rule
