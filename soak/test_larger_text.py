"""Every page and tab in larger text, at two widths; tests/ui/test_views.py takes the first tab of each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.actions.workspace import Workspace
from soak.conftest import Record
from tests.conftest import demo_workspace
from tests.ui.conftest import browser, demo_server
from tests.ui.serving import Server
from tests.ui.test_views import LARGER_WIDTHS, larger, lasting_faults, open_view
from tests.ui.views import VIEWS

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "demo_server", "demo_workspace", "larger"]  # fixtures


def test_nothing_is_clipped_in_larger_text(
    larger: Page,
    demo_server: Server,
    demo_workspace: Workspace,
    record: Record,
) -> None:
    faults: dict[str, list[str]] = {}
    for view in VIEWS:
        open_view(larger, demo_server, demo_workspace, view)
        faults |= {f"{view} at {width} px": lasting_faults(larger, width) for width in LARGER_WIDTHS}
    record(views=len(VIEWS), looks=len(faults))
    assert {where: found for where, found in faults.items() if found} == {}
