"""What a person comes to do, by mouse and keyboard in a browser: how many clicks and keys it takes, and how long.

The table is printed when the tests of this file have run in one process (`-n 0`). A word that is typed counts as one key
per letter.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from core.actions import component_loader
from core.actions.workspace import Workspace
from core.store import notes, predictions, runs, text_search, traces
from core.store.predictions import CONFIDENTLY_WRONG, RowFilter
from core.store.runs import Run
from core.store.text_search import TextQuery
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests.derived import save_knn
from tests.ui.conftest import OpenTab, button, heading, settle
from tests.ui.serving import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

RUN, OTHER = "simulated debate", "simulated collapsed debate"


class Person:
    """Somebody with a mouse and a keyboard, whose clicks and keys are counted."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self._server = page, server
        self.clicks = self.keys = 0
        self._start = 0.0

    def begin_at(self, page: str, **parameters: str) -> None:
        """Open a page; the time and the counts begin when its heading is there."""
        self.page.goto(self._server.url(page, **parameters))
        self.page.get_by_test_id("stMain").get_by_role("heading").first.wait_for()
        self.clicks = self.keys = 0
        self._start = time.perf_counter()

    def click(self, target: Locator) -> None:
        target.click()
        self.clicks += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.keys += len(text)

    def go_to(self, title: str) -> None:
        """Click a page's name in the sidebar."""
        self.click(self.page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True))
        self.page.get_by_role("heading", name=title, exact=True).wait_for()

    def seconds(self) -> float:
        return time.perf_counter() - self._start


@pytest.fixture(scope="module")
def table(pytestconfig: pytest.Config) -> Iterator[list[str]]:
    """The lines of the table, printed at the end."""
    lines: list[str] = []
    yield lines
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n".join(["", f"{'task':44} clicks  keys  seconds", *lines]))


@pytest.fixture
def person(request: pytest.FixtureRequest, open_tab: OpenTab, demo_server: Server, table: list[str]) -> Iterator[Person]:
    """Somebody before an empty tab; what the test took is a line of the table, named as the test."""
    somebody = Person(open_tab(), demo_server)
    yield somebody
    table.append(line_of(request.node.name.removeprefix("test_").replace("_", " "), somebody))


def line_of(task: str, person: Person) -> str:
    return f"{task:44} {person.clicks:6} {person.keys:5} {person.seconds():8.1f}"


def the_run(workspace: Workspace, name: str = RUN) -> Run:
    with workspace.store.read() as db:
        return runs.find(db, name)


def pair_of(pair_id: str) -> str:
    return pair_id.replace("_", " ⟶ ")


def wait_for_row(page: Page, pair_id: str) -> None:
    heading(page).get_by_text(pair_of(pair_id), exact=True).wait_for()


@pytest.mark.soak
def test_a_confidently_wrong_row_and_why(person: Person, demo_workspace: Workspace) -> None:
    run = the_run(demo_workspace)
    with demo_workspace.store.read() as db:
        worst = predictions.find_pair_ids(db, run.id, RowFilter(), CONFIDENTLY_WRONG)[0]
        briefs = [event["content"] for event in traces.of_row(db, run.id, worst) if event["kind"] == "brief"]
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
def test_a_gene(person: Person, demo_workspace: Workspace) -> None:
    run = the_run(demo_workspace)
    with demo_workspace.store.read() as db:
        row = predictions.row(db, run.id, predictions.find_pair_ids(db, run.id, RowFilter())[0])
    person.begin_at("", run=run.id)
    person.go_to("Search")
    person.click(person.page.get_by_role("searchbox"))
    person.type(row["gene"].lower())
    person.press("Enter")
    person.click(person.page.get_by_role("link", name=f"{row['gene']} as target gene: all its rows"))
    person.page.get_by_role("heading", name=row["gene"], exact=True).wait_for()
    assert person.clicks <= 3


@pytest.mark.soak
def test_a_phrase_across_runs(person: Person, demo_workspace: Workspace) -> None:
    run, other = the_run(demo_workspace), the_run(demo_workspace, OTHER)
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
    row = person.page.locator(".hits section").filter(has=person.page.get_by_role("heading", name=pair, exact=True))
    assert row.locator("mark").first.inner_text().lower() == "the evidence"
    hit = row.get_by_role("link", name=OTHER, exact=True).first
    link = hit.get_attribute("href")
    person.click(hit)
    wait_for_row(person.page, opened.pair_id)
    assert person.page.get_by_role("combobox", name="Run", exact=True).input_value() == OTHER
    assert person.page.get_by_role("searchbox").input_value() == "THE evidence"
    assert person.clicks <= 3
    assert link is not None
    settle(person.page)
    assert dict(pair.split("=") for pair in person.page.url.split("?")[1].split("&")) == dict(
        pair.split("=") for pair in link.split("?")[1].split("&")
    )  # the same as in a tab of its own
    person.page.go_back()
    person.page.locator(".hits mark").first.wait_for()


@pytest.mark.soak
def test_next_row_by_key(person: Person, demo_workspace: Workspace) -> None:
    run = the_run(demo_workspace)
    with demo_workspace.store.read() as db:
        ids = predictions.find_pair_ids(db, run.id, RowFilter())
    person.begin_at("rows", run=run.id)
    wait_for_row(person.page, ids[0])
    person.page.get_by_role("option").first.wait_for()
    person.press("j")
    wait_for_row(person.page, ids[1])
    assert (person.clicks, person.keys) == (0, 1)


@pytest.mark.soak
def test_the_same_row_in_three_runs(open_tab: OpenTab, table: list[str], demo_copy: Workspace) -> None:
    run, others = the_run(demo_copy), (OTHER, "neighbours")
    settings = KnnSettings(("simulated",), EvaluationProtocol("folds", 5, 2))
    with ThreadPoolExecutor() as other_thread:  # this one runs the browser's event loop
        row = other_thread.submit(
            save_knn, demo_copy, component_loader.default_dataset(demo_copy, None), settings, others[1]
        ).result()
    with demo_copy.store.read() as db:
        first = predictions.find_pair_ids(db, run.id, RowFilter())[0]
        assert row.id in predictions.runs_with(db, run.dataset, first)
    with serving(demo_copy.settings.workspace) as server:
        person = Person(open_tab(), server)
        person.begin_at("rows", run=run.id)
        wait_for_row(person.page, first)
        person.click(person.page.locator(".st-key-row-more").get_by_role("button"))
        for name in others:
            person.click(person.page.get_by_test_id("stPopoverBody").get_by_role("button", name=name, exact=True))
        for name in (RUN, *others):
            person.page.get_by_test_id("stMain").get_by_text(name, exact=True).filter(visible=True).first.wait_for()
        table.append(line_of("the same row in three runs", person))
    assert person.clicks == 3


@pytest.mark.soak
def test_a_note(open_tab: OpenTab, table: list[str], demo_copy: Workspace) -> None:
    with serving(demo_copy.settings.workspace) as server:
        person = Person(open_tab(), server)
        run = the_run(demo_copy)
        person.begin_at("rows", run=run.id)
        person.page.get_by_role("option").first.wait_for()
        person.press("n")
        person.page.locator("textarea:focus").wait_for()
        person.type("read by two")
        person.click(person.page.get_by_role("button", name="Add note"))
        person.page.get_by_test_id("stMain").get_by_text("read by two", exact=True).wait_for()
        table.append(line_of("a note", person))
        assert person.clicks == 1
        person.begin_at("rows", run=run.id, tab="Audit")
        person.click(button(person.page, "note-brief-lengths"))
        person.click(person.page.get_by_role("textbox", name="Add a note"))
        person.type("short ones")
        person.click(person.page.get_by_role("button", name="Save note"))
        person.page.get_by_text("Note on the figure saved.").wait_for()
        table.append(line_of("a note on a figure", person))
    with demo_copy.store.read() as db:
        [note] = notes.of_dataset(db, run.dataset).query("text == 'short ones'").to_dict("records")
    assert note["figure"] == "Lengths of the briefs"
    assert note["address"].startswith("./rows?")
    assert "tab=Audit" in note["address"]
