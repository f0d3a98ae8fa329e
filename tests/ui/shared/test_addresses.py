"""Addresses that a page had before lead to where the same is shown now, with all else that they name."""

from __future__ import annotations

import pytest
from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

from core.config import REPOSITORY
from core.ui.server import FormerAddresses
from core.ui.shared.addresses import FORMER, Place, find_redirect
from tests.ui import views

# As the pages stood before they were grouped: address → its tabs; "" for the first, or for a page without tabs.
BEFORE = {
    "debates": ("", "Rows", "Audit"),
    "read": ("", "Rubrics", "Label", "Worth", "Kinds"),
    "breakdown": ("",),
    "what_if": ("",),
    "report": ("",),
    "launch": ("", "Runs", "Fine-tune"),
    "submit": ("", "Package a run", "Check a file"),
    "experiments": ("", "Ledger", "Benchmark", "Plan", "Evidence", "Controls", "Baselines", "Ablations", "Published numbers"),
    "data": ("Cells", "Leakage", "Spaces", "Imported files", "Rejected rows", "Runs", "Notes", "Changes"),
}
LINKS = [(page, tab) for page, tabs in BEFORE.items() for tab in tabs]


@pytest.mark.parametrize(("page", "tab"), LINKS)
def test_every_former_link_opens_a_page_and_a_tab_that_there_are(page: str, tab: str) -> None:
    place = find_redirect(page, {"run": ["r"], "row": ["A_B"], **({"tab": [tab]} if tab else {})})
    assert place is not None
    assert (REPOSITORY / "pages" / f"{place.file}.py").is_file()
    assert (place.parameters["run"], place.parameters["row"]) == (["r"], ["A_B"])
    name, tabs = views.TABS.get(place.file, ("", ()))
    opened = place.parameters.get(name)
    assert opened is None or ("".join(opened) in tabs)
    assert find_redirect(place.file, {key: [*value] for key, value in place.parameters.items()}) is None  # it has arrived


def test_what_a_page_has_today_stays() -> None:
    for view in views.VIEWS:
        path, parameters = view.address("x")
        assert find_redirect(path, {name: [value] for name, value in parameters.items()}) is None, view


def test_no_page_has_an_address_that_another_had() -> None:
    files = {path.stem for path in (REPOSITORY / "pages").glob("*.py")}
    assert set(FORMER.values()) <= files
    assert not files & set(FORMER)


@pytest.mark.parametrize(
    ("asked", "leads_to"),
    [
        ("/debates?run=a%2Fb&p_de=0.2&p_de=0.8", "./rows?run=a%2Fb&p_de=0.2&p_de=0.8"),
        ("/base/experiments?tab=Controls&run=r", "./scores?run=r&part=Baselines"),
        ("/submit", "./share?tab=Package+a+run"),
        ("/what_if", "./fuse"),
        ("/what_if?moved=P%28DE%29", "./fuse?moved=P%28DE%29&figures=true"),
    ],
)
def test_a_browser_is_redirected_so_that_back_does_not_return_to_it(asked: str, leads_to: str) -> None:
    client = TestClient(FormerAddresses(HTMLResponse("page")), follow_redirects=False)
    answer = client.get(asked, headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (307, leads_to)
    assert client.get(asked, headers={"accept": "*/*"}).text == "page"  # only what a browser opens
    assert client.get(leads_to[1:], headers={"accept": "text/html"}).text == "page"


def test_a_tab_that_never_was_goes_to_the_page() -> None:
    assert find_redirect("experiments", {"tab": ["Astrology"]}) == Place("ledger", {"tab": ["Astrology"]})
    assert find_redirect("data", {"tab": ["Astrology"]}) is None
