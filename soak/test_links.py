"""Every control of every page and tab, changed by itself and with the others, in a link that is opened elsewhere."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from soak.conftest import Record
from tests.conftest import demo_workspace
from tests.ui.conftest import OpenTab, browser, demo_server, open_tab
from tests.ui.link_walk import change_each, change_in_address, change_together, controls, visit
from tests.ui.serving import Server
from tests.ui.views import VIEWS, View, symbol_of

__all__ = ["browser", "demo_server", "demo_workspace", "open_tab"]  # fixtures

FIRST_VIEWS = {view.page: view for view in reversed(VIEWS)}.values()


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_link_shows_the_same_screen_elsewhere(
    open_tab: OpenTab, demo_server: Server, demo_workspace: Workspace, view: View, record: Record
) -> None:
    path, parameters = view.address(symbol_of(demo_workspace))
    here, there, address = open_tab(), open_tab(), demo_server.url(path, **parameters)
    each = change_each(here, there, address)
    together = change_together(here, there, address)
    record(each=each, together=together)
    assert (
        together or view not in FIRST_VIEWS or view.page == "targets"
    )  # where the demo has nothing to choose from


def test_a_control_that_another_moves_still_writes_to_the_address(
    open_tab: OpenTab, demo_server: Server
) -> None:
    page = open_tab()
    visit(page, demo_server.url("fuse"))
    for key in ("over", "power"):  # by the first, a choice comes between it and the second
        [control] = [each for each in controls(page) if each.key == key]
        assert change_in_address(page, control)
        assert f"{key}=" in page.url
