"""The list of rows: what it draws, and in a browser what a person does with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest

from core.runs.workspace import Workspace
from core.store import predictions, runs
from core.store.predictions import RowFilter
from core.ui import row_list
from core.ui.row_list import Quantity
from tests.ui.conftest import button, new_context, settle
from tests.ui.serving import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

RUN = "simulated debate"
P_DE = Quantity("P(DE)")
ROWS = pd.DataFrame(
    {
        "pair_id": ["A_b", "A_c", "D_e"],
        "pert": ["A", "A", "D"],
        "gene": ["b", "c", "e"],
        "label": ["up", None, "none"],
        "quantity": [0.25, np.nan, 1.0],
        "outcome": ["hit", None, "miss"],
        "flags": [[], ["uncovered"], ["uncovered"]],
        "notes": [0, 1, 0],
    }
)


def test_it_draws_what_is_known_of_each_row() -> None:
    drawn = json.loads(row_list.content(ROWS, P_DE, "3 of 9 rows")[row_list.HASH_BYTES :])
    assert drawn["ids"] == ["A_b", "A_c", "D_e"]
    assert drawn["values"] == [0.25, None, 1.0]
    assert [drawn["kinds"][label]["name"] for label in drawn["labels"]] == [
        "up",
        "no label",
        "none",
    ]
    assert drawn["says"] == ["hit", "flags, notes", "miss, flags"]
    assert drawn["marks"] == ["✓", "⚠ ✎", "✗ ⚠"]


@pytest.mark.soak
def test_its_version_tells_other_rows_and_other_marks() -> None:
    versions = {
        row_list.content(rows, quantity, count)[: row_list.HASH_BYTES]
        for rows, quantity, count in (
            (ROWS, P_DE, "3 of 9 rows"),
            (ROWS.iloc[::-1], P_DE, "3 of 9 rows"),
            (ROWS.assign(notes=1), P_DE, "3 of 9 rows"),
            (ROWS, Quantity("DE rank score"), "3 of 9 rows"),
            (ROWS, P_DE, "3 of 10 rows"),
        )
    }
    assert len(versions) == 5
    assert row_list.content(ROWS.copy(), P_DE, "3 of 9 rows")[: row_list.HASH_BYTES] in versions


@pytest.fixture
def ids(demo_workspace: Workspace) -> list[str]:
    with demo_workspace.store.read() as db:
        return predictions.find_pair_ids(db, runs.find(db, RUN).id, RowFilter())


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A tab for all tests of this file: what a browser loads it loads once."""
    context = new_context(browser, permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


@pytest.fixture
def page(tab: Page, demo_server: Server, demo_workspace: Workspace) -> Page:
    with demo_workspace.store.read() as db:
        run = runs.find(db, RUN)
    tab.goto(demo_server.url("rows", run=run.id))
    tab.get_by_role("option").first.wait_for()
    settle(tab)
    return tab


def shows(page: Page, pair_id: str) -> None:
    """Waits until the page, its address and its list show a row."""
    pair = pair_id.replace("_", " ⟶ ")
    page.locator("[data-testid=stMain] h3").get_by_text(pair, exact=True).first.wait_for()
    page.wait_for_function(
        "id => new URLSearchParams(location.search).get('row') === id", arg=pair_id
    )
    page.locator(f"[role=option][aria-selected=true][aria-label^='{pair}, P(DE) ']").wait_for()


def selected(page: Page) -> Locator:
    return page.locator("[role=option][aria-selected=true]")


@pytest.mark.browser
def test_a_click_anywhere_on_a_row_opens_it_and_keys_go_on_from_there(
    page: Page, ids: list[str]
) -> None:
    rows = page.get_by_role("option")
    assert rows.count() < 100 < len(ids)  # of thousands only those in sight are drawn
    assert rows.first.get_attribute("aria-setsize") == str(len(ids))
    rows.nth(4).locator(".value").click()
    shows(page, ids[4])
    last = len(ids) - 1
    for key, place in (
        *(
            ("ArrowDown", 5),
            ("j", 6),
            ("k", 5),
            ("ArrowUp", 4),
            ("ArrowRight", 5),
            ("ArrowLeft", 4),
        ),
        *(("Home", 0), ("End", last), ("j", last)),
    ):
        page.keyboard.press(key)
        shows(page, ids[place])
    page.keyboard.press("Home")
    shows(page, ids[0])
    button(page, "go-right").click()  # what is opened elsewhere is marked in the list
    shows(page, ids[1])
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("Link copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    for _ in range(25):
        page.keyboard.press("j")
    shows(page, ids[26])
    box, row = page.get_by_role("listbox").bounding_box(), selected(page).bounding_box()
    assert box["y"] <= row["y"] <= box["y"] + box["height"] - row["height"]
    assert box["y"] + box["height"] <= 900  # the list ends where the window does


@pytest.mark.soak
@pytest.mark.browser
def test_a_note_can_be_asked_for_before_the_page_is_drawn_to_its_end(
    page: Page, ids: list[str]
) -> None:
    page.get_by_role("option").nth(3).click()
    shows(page, ids[3])
    page.evaluate(
        """() => {
             const notes = document.querySelector(".st-key-notes"), after = document.createComment("");
             notes.replaceWith(after);
             setTimeout(() => after.replaceWith(notes), 800);
           }"""
    )
    page.keyboard.press("n")
    page.wait_for_function("() => document.activeElement?.ariaLabel === 'Add a note'")


@pytest.mark.soak
@pytest.mark.browser
def test_keys_search_note_copy_and_explain_themselves(page: Page, ids: list[str]) -> None:
    page.get_by_role("option").nth(2).click()
    shows(page, ids[2])
    page.keyboard.press("c")
    page.get_by_text("Link copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).query)["row"] == [ids[2]]
    page.keyboard.press("?")
    page.get_by_text("write a note").wait_for()
    page.keyboard.press("?")
    page.get_by_text("write a note").wait_for(state="hidden")
    page.keyboard.press("n")
    note = page.get_by_label("Add a note")
    note.wait_for()
    page.wait_for_function("() => document.activeElement?.tagName === 'TEXTAREA'")
    page.keyboard.type("jkc?/n")
    assert note.input_value() == "jkc?/n"  # in a field these are letters
    note.blur()
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement?.getAttribute('aria-label') === 'Search'")
    shows(page, ids[2])


@pytest.mark.soak
@pytest.mark.browser
def test_a_presentation_shows_the_row_alone_and_walks_by_keys(page: Page, ids: list[str]) -> None:
    row = page.get_by_test_id("stMain").locator("h3").first
    usual = row.evaluate("found => parseFloat(getComputedStyle(found).fontSize)")
    page.locator(".st-key-row-more").get_by_role("button").click()
    page.get_by_text("Present", exact=True).click()
    page.get_by_test_id("stSidebar").wait_for(state="hidden")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy link").wait_for(state="hidden")
    page.locator(".st-key-filters").wait_for(state="hidden")
    box = page.get_by_role("listbox").bounding_box()
    assert box["x"] + box["width"] < 0  # out of sight, but it hears the keys
    assert row.evaluate("found => parseFloat(getComputedStyle(found).fontSize)") > 1.2 * usual
    for place, key in enumerate(("ArrowRight", "j", "ArrowLeft", "k")):
        page.keyboard.press(key)
        shows(page, ids[(1, 2, 1, 0)[place]])
    assert "present=true" in page.url
    page.locator(".st-key-row-more").get_by_role("button").click()
    page.get_by_text("Present", exact=True).click()
    page.get_by_test_id("stSidebar").wait_for()
