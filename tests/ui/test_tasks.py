"""What a person comes to do, by mouse and keyboard in a browser, and how many clicks it takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from core.runs.workspace import Workspace
from core.store import notes, predictions, text_search, traces
from core.store.predictions import CONFIDENTLY_WRONG, RowFilter
from core.store.text_search import TextQuery
from tests.ui.conftest import OpenTab, button, heading, settle
from tests.ui.serving import Server, serving
from tests.ui.test_apptest import the_run

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

RUN, OTHER = "simulated debate", "simulated collapsed debate"


class Person:
    """Somebody with a mouse and a keyboard, whose clicks are counted."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self._server = page, server
        self.clicks = 0

    def begin_at(self, page: str, **parameters: str) -> None:
        """Open a page; the count begins when its heading is there."""
        self.page.goto(self._server.url(page, **parameters))
        self.page.get_by_test_id("stMain").get_by_role("heading").first.wait_for()
        self.clicks = 0

    def click(self, target: Locator) -> None:
        target.click()
        self.clicks += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def go_to(self, title: str) -> None:
        """Click a page's name in the sidebar."""
        self.click(
            self.page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True)
        )
        self.page.get_by_role("heading", name=title, exact=True).wait_for()


@pytest.fixture
def person(open_tab: OpenTab, demo_server: Server) -> Person:
    """Somebody before an empty tab."""
    return Person(open_tab(), demo_server)


def pair_of(pair_id: str) -> str:
    return pair_id.replace("_", " ⟶ ")


def wait_for_row(page: Page, pair_id: str) -> None:
    heading(page).get_by_text(pair_of(pair_id), exact=True).wait_for()


@pytest.mark.soak
def test_a_confidently_wrong_row_and_why(person: Person, demo_workspace: Workspace) -> None:
    run = the_run(demo_workspace, RUN)
    with demo_workspace.store.read() as db:
        worst = predictions.find_pair_ids(db, run.id, RowFilter(), CONFIDENTLY_WRONG)[0]
        briefs = [
            event["content"]
            for event in traces.of_row(db, run.id, worst)
            if event["kind"] == "brief"
        ]
    person.begin_at("", run=run.id)
    person.go_to("Rows")
    person.click(person.page.get_by_role("combobox", name="Order"))
    person.click(person.page.get_by_role("option", name=CONFIDENTLY_WRONG))
    wait_for_row(person.page, worst)
    assert person.clicks <= 3
    row = person.page.get_by_test_id("stMain")
    assert len(briefs) == 4
    for text in briefs:  # a piece of each that no mark of its Markdown interrupts
        row.get_by_text(max(re.split(r"[*#\n]+", text), key=len).strip()).first.wait_for()


@pytest.mark.soak
def test_a_phrase_across_runs(person: Person, demo_workspace: Workspace) -> None:
    run, other = the_run(demo_workspace, RUN), the_run(demo_workspace, OTHER)
    with demo_workspace.store.read() as db:
        found = text_search.search(db, run.dataset, TextQuery("THE evidence"))
    opened = next(hit for hit in found.hits if hit.run == other.id)
    person.begin_at("", run=run.id)
    person.go_to("Search")
    person.click(person.page.get_by_role("searchbox"))
    person.type("THE evidence")
    person.press("Enter")
    person.page.get_by_text(f"{found.texts:,} texts").wait_for()
    pair = opened.pair_id.replace("_", " ⟶ ")
    row = person.page.locator(".hits section").filter(
        has=person.page.get_by_role("heading", name=pair, exact=True)
    )
    assert row.locator("mark").first.inner_text().lower() == "the evidence"
    hit = row.get_by_role("link", name=OTHER, exact=True).first
    link = hit.get_attribute("href")
    person.click(hit)
    wait_for_row(person.page, opened.pair_id)
    assert person.page.get_by_role("combobox", name="Run", exact=True).input_value() == OTHER
    assert person.page.get_by_role("searchbox").input_value() == "THE evidence"
    assert person.clicks <= 3
    settle(person.page)
    assert dict(pair.split("=") for pair in person.page.url.split("?")[1].split("&")) == dict(
        pair.split("=") for pair in link.split("?")[1].split("&")
    )  # the same as in a tab of its own
    person.page.go_back()
    person.page.locator(".hits mark").first.wait_for()


@pytest.mark.soak
def test_a_note(open_tab: OpenTab, demo_copy: Workspace) -> None:
    with serving(demo_copy.settings.workspace) as server:
        person = Person(open_tab(), server)
        run = the_run(demo_copy, RUN)
        person.begin_at("rows", run=run.id)
        person.page.get_by_role("option").first.wait_for()
        person.press("n")
        person.page.locator("textarea:focus").wait_for()
        person.type("read by two")
        person.click(person.page.get_by_role("button", name="Add note"))
        person.page.get_by_test_id("stMain").get_by_text("read by two", exact=True).wait_for()
        assert person.clicks == 1
        person.begin_at("rows", run=run.id, tab="Audit")
        person.click(button(person.page, "note-brief-lengths"))
        person.click(person.page.get_by_role("textbox", name="Add a note"))
        person.type("short ones")
        person.click(person.page.get_by_role("button", name="Save note"))
        person.page.get_by_text("Note on the figure saved.").wait_for()
    with demo_copy.store.read() as db:
        [note] = notes.of_dataset(db, run.dataset).query("text == 'short ones'").to_dict("records")
    assert note["figure"] == "Lengths of the briefs"
    assert note["address"].startswith("./rows?")
    assert "tab=Audit" in note["address"]
