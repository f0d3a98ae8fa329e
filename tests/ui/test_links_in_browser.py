"""A copied link shows the same screen elsewhere, on pages that differ. Every control of every view is soak/test_links.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from core.runs.workspace import Workspace
from tests.ui.conftest import new_context
from tests.ui.link_walk import change_in_address, change_together, controls, visit
from tests.ui.serving import Server
from tests.ui.views import VIEWS, View, symbol_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CHANGED = 1  # control of a page; all of them in soak/test_links.py
LOOKED_AT = ("scores", "compare", "rows", "run", "neighbours", "fuse")
FIRST_VIEWS = [
    view
    for page, view in {view.page: view for view in reversed(VIEWS)}.items()
    if page in LOOKED_AT
]


@pytest.fixture(scope="module")
def two_tabs(browser: Browser) -> Iterator[tuple[Page, Page]]:
    """The tabs of two visitors, in which every view is opened: what a browser loads it loads once."""
    contexts = new_context(browser), new_context(browser)
    yield contexts[0].new_page(), contexts[1].new_page()
    for context in contexts:
        context.close()


@pytest.mark.soak
@pytest.mark.parametrize("view", FIRST_VIEWS, ids=str)
def test_a_link_shows_the_same_screen_elsewhere(
    two_tabs: tuple[Page, Page], demo_server: Server, demo_workspace: Workspace, view: View
) -> None:
    path, parameters = view.address(symbol_of(demo_workspace))
    assert change_together(*two_tabs, demo_server.url(path, **parameters), CHANGED)


@pytest.mark.soak
def test_a_control_that_another_moves_still_writes_to_the_address(
    two_tabs: tuple[Page, Page], demo_server: Server
) -> None:
    page, _ = two_tabs
    visit(page, demo_server.url("fuse"))
    for key in ("over", "power"):  # by the first, a choice comes between it and the second
        [control] = [each for each in controls(page) if each.key == key]
        assert change_in_address(page, control)
        assert f"{key}=" in page.url
