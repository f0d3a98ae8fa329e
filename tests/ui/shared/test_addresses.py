"""A link to a page that is gone opens where the same is shown now, and keeps what it names."""

from __future__ import annotations

import pytest

from core.actions.workspace import Workspace
from core.config import REPOSITORY
from core.ui.shared.addresses import MOVED, present_address
from tests.ui import views
from tests.ui.conftest import OpenTab
from tests.ui.serving import serving


def test_each_former_address_leads_to_a_tab_and_is_no_page() -> None:
    assert set(MOVED.values()) <= set(views.TABS["experiments"][1])
    assert not set(MOVED) & {path.stem for path in (REPOSITORY / "pages").glob("*.py")}


def test_an_old_link_keeps_its_parameters_but_the_tab() -> None:
    assert present_address("/ledger", "") == "./experiments?tab=Ledger"
    assert present_address("/desk/plan", "tab=x&run=a%26b&row=") == "./experiments?tab=Start&run=a%26b&row="
    assert present_address("/rows", "run=a") == ""


@pytest.mark.soak
@pytest.mark.browser
def test_the_first_visitor_of_a_server_may_follow_an_old_link(open_tab: OpenTab, demo_copy: Workspace) -> None:
    with serving(demo_copy.settings.workspace) as server:
        page = open_tab()
        page.goto(server.url("ablations", kind="program_priors"))
        page.get_by_role("link", name="Rows", exact=True).first.wait_for()
        assert "kind=program_priors" in page.url.partition("?")[2].split("&")
        assert page.get_by_role("dialog").count() == 0
