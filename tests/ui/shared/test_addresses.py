"""A link to a page that is gone says where the same is shown now, and keeps what it names."""

from __future__ import annotations

import pytest

from core.config import REPOSITORY
from core.ui.shared.addresses import MOVED
from tests.ui import views
from tests.ui.conftest import OpenTab, then
from tests.ui.serving import Server


def test_each_former_address_leads_to_a_tab_and_is_no_page() -> None:
    assert set(MOVED.values()) == set(views.TABS["experiments"][1])
    assert not set(MOVED) & {path.stem for path in (REPOSITORY / "pages").glob("*.py")}


@pytest.mark.browser
def test_an_old_link_is_answered_with_one_line_and_opens_the_tab(open_tab: OpenTab, demo_server: Server) -> None:
    page = open_tab()
    page.goto(demo_server.url(""))  # Streamlit knows no page of a fresh server, and says so over the line
    page.get_by_role("link", name="Rows", exact=True).first.wait_for()
    page.goto(demo_server.url("ablations", ablation="program_priors"))
    then(page, page.get_by_role("link", name="Ablations is now a tab of Experiments").click)
    assert "/experiments?" in page.url
    assert {"tab=Ablations", "ablation=program_priors"} <= set(page.url.partition("?")[2].split("&"))
