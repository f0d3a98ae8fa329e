"""The groups of pages, those that stand under More until they hold something, and what the palette finds."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.features.experiments import ledger
from core.runs.workspace import Workspace
from core.ui import sidebar
from tests.ui.conftest import OpenTab, Visit, heading, settle, then
from tests.ui.serving import Server

ROWS = pd.DataFrame(
    [("Stat1_Mx1", "Stat1", "Mx1"), ("Irf7_Stat1", "Irf7", "Stat1"), ("Stat2_Mx1", "Stat2", "Mx1")],
    columns=["pair_id", "pert", "gene"],
)
SYMBOLS = {"pert": ["Irf7", "Stat1", "Stat2"], "gene": ["Mx1", "Stat1"]}


def under_more(app: AppTest) -> list[str]:
    [more] = [each for each in app.sidebar.expander if each.label == "More"]
    return [link.proto.label for link in more.get("page_link")]


@pytest.mark.soak
def test_a_page_that_holds_something_or_is_open_stands_by_itself(
    visit: Visit, small_workspace: Workspace
) -> None:
    assert under_more(visit(small_workspace, "overview")) == ["Experiments", "Targets"]
    assert under_more(visit(small_workspace, "targets")) == ["Experiments"]
    ledger.import_published_ladder(small_workspace)
    assert under_more(visit(small_workspace, "overview")) == ["Targets"]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("", []),
        (
            "stat1",
            [
                ("perturbation", "Stat1"),
                ("target gene", "Stat1"),
                ("row", "Stat1 ⟶ Mx1"),
                ("row", "Irf7 ⟶ Stat1"),
            ],
        ),
        ("STAT", [("perturbation", "Stat1"), ("perturbation", "Stat2"), ("target gene", "Stat1")]),
        ("stat mx", [("row", "Stat1 ⟶ Mx1"), ("row", "Stat2 ⟶ Mx1")]),
        ("Stat2_Mx1", [("row", "Stat2 ⟶ Mx1")]),
        ("mx1 stat1", []),
        ("[(*", []),
    ],
)
def test_words_find_symbols_and_rows(
    monkeypatch: pytest.MonkeyPatch, wanted: str, expected: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(sidebar, "runs_with_row", lambda *_: ["r"])
    found = list(sidebar.find_hits(ROWS, SYMBOLS, wanted, {"dataset": "d", "run": "r"}))
    assert [(each["kind"], each["label"]) for each in found] == expected


def test_a_row_opens_in_a_run_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for having, link in (
        (["old", "r"], "./rows?dataset=d&run=r&row=Stat2_Mx1"),
        (["old", "new"], "./rows?dataset=d&run=new&row=Stat2_Mx1"),
        ([], "./neighbours?dataset=d&run=r&row=Stat2_Mx1"),
    ):
        monkeypatch.setattr(sidebar, "runs_with_row", lambda *_, having=having: having)
        [row] = sidebar.find_hits(ROWS, SYMBOLS, "stat2 mx1", {"dataset": "d", "run": "r"})
        assert row["link"] == link


@pytest.mark.browser
def test_ctrl_k_finds_a_page_and_a_row_and_goes_there(
    open_tab: OpenTab, demo_server: Server
) -> None:
    page = open_tab()
    page.goto(demo_server.url("rows"))
    settle(page)
    row = heading(page).inner_text()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Page, run, gene or row").fill("compare")
    page.get_by_role("dialog").get_by_role("option", name="Compare").wait_for()
    page.keyboard.press(
        "ArrowLeft"
    )  # moves in the field, and to no other row of the page behind it
    then(page, lambda: page.keyboard.press("Enter"))
    assert "/compare?" in page.url
    page.go_back()
    heading(page).get_by_text(row, exact=True).wait_for()
    pert, _, gene = row.split()
    page.get_by_role("button", name="Find anything").click()
    page.get_by_role("combobox", name="Page, run, gene or row").fill(f"{pert} {gene}")
    then(page, page.get_by_role("dialog").get_by_role("option", name=row).click)
    assert f"row={pert}_{gene}" in page.url
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
