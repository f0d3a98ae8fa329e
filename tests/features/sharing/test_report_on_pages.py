"""The page Report without a browser, and its files in one, opened from disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.features.sharing.report import selection as reports
from core.features.sharing.report.selection import PARTS, select
from core.runs.workspace import Workspace
from core.store import pairs, predictions, runs
from tests.features.sharing.built import build_report
from tests.ui import hostile
from tests.ui.conftest import OpenTab, Visit
from tests.ui.test_apptest import text_of, the_run
from tests.ui.test_links import address_of, assert_same_elsewhere

LABELLED, COLLAPSED, TEST = (
    "simulated debate",
    "simulated collapsed debate",
    "simulated debate test",
)


@pytest.mark.soak
def test_what_is_chosen_is_carried_saved_opened_and_deleted(
    visit: Visit, little_copy: Workspace
) -> None:
    ids = {name: the_run(little_copy, name).id for name in (LABELLED, COLLAPSED, TEST)}
    app = visit(little_copy, "share", run=ids[LABELLED])
    assert "Draft, made from the verdicts below" in text_of(app)
    app.multiselect(key="id-runs").set_value([ids[LABELLED], ids[COLLAPSED]]).run()
    with little_copy.store.read() as db:
        row = str(predictions.frame(db, ids[LABELLED])["pair_id"].iloc[0])
    assert app.multiselect(key="id-pairs").value == [
        f"{ids[COLLAPSED]}|{ids[LABELLED]}"
    ]  # two runs are compared
    app.multiselect(key="id-pairs").set_value([])
    app.multiselect(key="id-figures").set_value(["ladder", "paired_changes"])
    app.text_area(key="rows").input(row)
    app.text_input(key="title").input("For the meeting").run()
    assert not app.error
    assert {*address_of(app)} - {"dataset", "run"} == {"runs", "pairs", "figures", "rows", "title"}
    assert_same_elsewhere(visit, little_copy, "share", app)
    app.button(key="save-report").click().run()
    saved = reports.find_report(little_copy, "For the meeting")
    assert saved["runs"] == [ids[LABELLED], ids[COLLAPSED]]
    assert saved["rows"] == [row]
    assert saved["compare"] == []
    other = visit(little_copy, "share", run=ids[TEST])
    other.button(key="saved-For the meeting").click().run()
    assert other.multiselect(key="id-runs").value == saved["runs"]
    assert other.multiselect(key="id-pairs").value == []
    assert other.text_area(key="rows").value == row
    other.selectbox(key="preset_gone").set_value("For the meeting").run()
    other.button(key="delete-report").click().run()
    assert reports.saved_reports(little_copy) == {}


@pytest.mark.soak
def test_an_unknown_row_is_named_and_a_reader_saves_nothing(
    visit: Visit, little_demo: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit(little_demo, "share", rows="Pz_Gz")
    assert "1 of 1 rows are in none of the chosen runs" in app.error[0].value.replace("\\", "")
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    reader = visit(little_demo, "share")
    assert "save-report" not in {button.key for button in reader.button}


def downloads(app: AppTest) -> list[str]:
    return [
        button.label for button in app.get("download_button") if button.label.startswith("The ")
    ]


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Path, hostile.Listener]:
    """The report and the slides of a workspace in which all text is hostile, as files, and the listener that it asks for."""
    with hostile.listening() as listener:
        workspace = hostile.workspace(tmp_path / "hostile", listener.address)
        with workspace.store.read() as db:
            chosen = [run.name for run in runs.list_all(db)]
            rows = pairs.frame(db, runs.list_all(db)[0].dataset)["pair_id"].tolist()[:2]
            found = select(db, chosen, [], rows)
        name = f"<img src={listener.address}/name.png onerror='{hostile.CANARY}'>"
        files = [tmp_path / "report.html", tmp_path / "slides.html"]
        for file in files:
            built = build_report(workspace, name, found, slides=file.stem == "slides")
            file.write_bytes(built.content)
            assert len(built.content) < 15e6
        yield (*files, listener)


@pytest.mark.few(1)
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.soak)])
def test_files_opened_from_disk_ask_for_nothing_and_run_nothing_else(
    open_tab: OpenTab, written: tuple[Path, Path, hostile.Listener], scheme: str
) -> None:
    report, slides, listener = written
    tab = open_tab(color_scheme=scheme, offline=True)
    asked = []
    faults = []
    tab.on("request", lambda request, asked=asked: asked.append(request.url))
    tab.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
    tab.on(
        "console",
        lambda message, faults=faults: message.type == "error" and faults.append(message.text),
    )
    tab.goto(report.as_uri())
    tab.wait_for_selector("html[data-drawn=all]", state="attached")
    drawn = tab.locator(".chart .main-svg").count()
    assert drawn >= len(PARTS)
    before = background(tab)
    tab.click("#theme")
    assert background(tab) != before
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
    assert (asked, faults) == ([report.as_uri()], [])
    assert tab.evaluate("window.pwned") is None
    walk_through(tab, slides, asked)
    assert faults == []
    assert tab.evaluate("window.pwned") is None
    assert listener.asked == []


def background(tab: object) -> str:
    return tab.evaluate("getComputedStyle(document.body).backgroundColor")  # type: ignore[attr-defined]


def walk_through(tab: object, slides: Path, asked: Sequence[str]) -> None:
    """From the first slide to the last by arrow keys: one figure and one sentence each."""
    tab.goto(slides.as_uri())  # type: ignore[attr-defined]
    n = tab.locator(".slide").count()  # type: ignore[attr-defined]
    seen = []
    for i in range(n):
        now = tab.locator(".slide.now")  # type: ignore[attr-defined]
        assert now.count() == 1
        assert tab.locator("#place").inner_text() == f"{i + 1} / {n}"  # type: ignore[attr-defined]
        if now.locator(".chart").count():
            assert now.locator(".main-svg").count() >= 1
            seen.append(now.locator("h2").inner_text())
        tab.keyboard.press("ArrowRight")  # type: ignore[attr-defined]
    assert 0 < len(seen) == len(set(seen)) == n - 3  # but for title, abstract and sources
    tab.keyboard.press("Home")  # type: ignore[attr-defined]
    assert tab.locator("#place").inner_text() == f"1 / {n}"  # type: ignore[attr-defined]
    assert {url.partition("#")[0] for url in asked[1:]} == {slides.as_uri()}


@pytest.mark.soak
@pytest.mark.soak
@pytest.mark.browser
def test_tall_figures_are_printed_two_to_a_page(
    open_tab: OpenTab, written: tuple[Path, Path, hostile.Listener]
) -> None:
    page, (report, _, _) = open_tab(offline=True), written
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-drawn=all]", state="attached")
    heights = "() => [...document.querySelectorAll('.chart')].map(chart => chart.clientHeight)"
    before = page.evaluate(heights)
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    printed = page.evaluate(heights)
    assert max(before) > 340
    assert printed.count(340) > 1
    assert all(
        after in (340, height) for height, after in zip(before, printed, strict=True)
    )  # forests keep their rows
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(heights) == before
