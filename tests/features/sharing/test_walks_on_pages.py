"""Walk-throughs on pages: a stop by one click beside what one reads, worded and ordered on Share, played by the arrow keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.features.sharing import walks
from core.features.sharing import walks as stored
from core.features.sharing.walks import Stop
from core.runs.workspace import Workspace
from tests.ui.conftest import OpenTab, Visit, settle
from tests.ui.serving import chromium, serving
from tests.ui.test_apptest import text_of, the_run

pytestmark = pytest.mark.soak

LABELLED, COLLAPSED = "simulated debate", "simulated collapsed debate"
HAS_FOCUS = "() => new Promise((done) => { const look = () => document.hasFocus() ? done() : setTimeout(look, 20); look(); })"


def stops_of(workspace: Workspace, walk: str) -> list[Stop]:
    run = the_run(workspace, LABELLED)
    with workspace.store.read() as db:
        return stored.of_walk(db, run.dataset, walk)


def test_a_row_becomes_a_stop_and_part_of_the_report_by_one_click_each(
    visit: Visit, little_copy: Workspace
) -> None:
    run = the_run(little_copy, LABELLED)
    app = visit(little_copy, "rows", run=run.id)
    app.button(key="to-walk-row").click().run()
    app.button(key="to-report-row").click().run()
    [stop], [added] = (
        stops_of(little_copy, walks.USUAL),
        stops_of(little_copy, walks.REPORT),
    )
    assert stop.run == added.run == run.id
    assert stop.address.startswith("./rows?")
    assert f"row={stop.pair_id}" in stop.address
    shared = visit(little_copy, "share", run=run.id)
    assert shared.selectbox(key="id-added").value == walks.REPORT
    assert stop.title in text_of(shared).replace("\\", "")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("page", "parameters"),
    [("compare", {}), ("scores", {"part": "Slices"}), ("scores", {"part": "Curves"})],
)
def test_a_figure_becomes_a_stop_with_what_is_on_screen(
    visit: Visit, little_copy: Workspace, page: str, parameters: dict[str, Any]
) -> None:
    app = visit(little_copy, page, run=the_run(little_copy, LABELLED).id, **parameters)
    button = next(button for button in app.button if str(button.key).startswith("to-walk-"))
    button.click().run()
    [stop] = stops_of(little_copy, walks.USUAL)
    assert stop.figure["chart"]["data"]
    assert stop.address.startswith(f"./{page}?")


def test_a_fusion_becomes_a_stop_with_its_weights(visit: Visit, fused_copy: Workspace) -> None:
    app = visit(fused_copy, "fuse", run=the_run(fused_copy, LABELLED).id)
    app.button(key="to-walk-fusion").click().run()
    [stop] = stops_of(fused_copy, walks.USUAL)
    assert "in P(DE)" in stop.title
    assert stop.sentence.startswith("This fusion changes the mean by ")
    assert stop.figure["title"].startswith("Weights of ")  # the plane, with the weights on screen


def test_stops_are_worded_moved_and_taken_out_on_share(
    visit: Visit, little_copy: Workspace
) -> None:
    run = the_run(little_copy, LABELLED)
    first = Stop(
        dataset=run.dataset, walk="Monday", title="one", address="./rows?row=a", run=run.id
    )
    keys = [walks.add_stop(little_copy, stop) for stop in (first, replace(first, title="two"))]
    app = visit(little_copy, "share", run=run.id, tab="Walk-throughs")
    app.text_area(key=f"note-{keys[0]}").input("Look here.").run()
    app.button(key=f"stop-up-{keys[1]}").click().run()
    assert [(stop.title, stop.sentence) for stop in stops_of(little_copy, "Monday")] == [
        ("two", ""),
        ("one", "Look here."),
    ]
    app.button(key=f"stop-out-{keys[1]}").click().run()
    assert [stop.title for stop in stops_of(little_copy, "Monday")] == ["one"]
    app.text_input(key="name-walk").input("Tuesday").run()
    app.button(key="choose-walk").click().run()
    assert app.session_state["_walk"] == "Tuesday"
    app.button(key="delete-walk").click().run()
    assert stops_of(little_copy, "Monday") == []


def test_a_reader_adds_nothing(
    visit: Visit, little_demo: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(little_demo, "compare", run=the_run(little_demo, LABELLED).id)
    assert not [button for button in app.button if str(button.key).startswith("to-")]


def test_the_draft_of_an_abstract_is_edited_and_saved(visit: Visit, little_copy: Workspace) -> None:
    run = the_run(little_copy, LABELLED)
    app = visit(little_copy, "share", run=run.id)
    draft = app.text_area(key="note-abstract").placeholder
    assert draft.startswith(f"What does {run.name} get wrong?")
    app.button(key="edit-draft").click().run()
    assert app.text_area(key="note-abstract").value == draft
    assert "Draft, made from the verdicts" not in text_of(app)
    app.text_area(key="note-abstract").input("Ours.")
    app.text_input(key="finding").input("It fails.").run()
    assert "Ours" in text_of(app)
    assert "It fails" in text_of(app)
    app.switch_page("pages/rows.py").run()
    app.switch_page("pages/share.py").run()
    assert (
        app.text_area(key="note-abstract").value == "Ours."
    )  # what was written stays when one looks something up


@pytest.mark.browser
def test_a_walk_through_plays_by_the_arrow_keys(open_tab: OpenTab, little_copy: Workspace) -> None:
    """Also on a hardened server, whose policy frames on its pages inherit."""
    if chromium() is None:
        pytest.skip("needs Chromium on the path")
    run = the_run(little_copy, LABELLED)
    stop = Stop(
        dataset=run.dataset,
        walk="Monday",
        title="one",
        address="./fuse?w=1",
        sentence="Half is less.",
    )
    walks.add_stop(little_copy, stop)
    with serving(little_copy.settings.workspace) as server:
        tab = open_tab()
        faults = []
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(f"{server.address}/share?run={run.id}&tab=Walk-throughs")
        settle(tab)
        tab.get_by_role("button", name="Play full-screen").click()
        slides = tab.frame_locator("iframe[title=Slides]")
        slides.locator("#place").wait_for()
        tab.wait_for_function("document.fullscreenElement !== null")
        slides.locator(":root").evaluate(HAS_FOCUS)  # which it gets once it fills the screen
        tab.keyboard.press("ArrowRight")
        slides.locator("#place", has_text="2 / 2").wait_for()
        assert slides.locator(".slide.now h2").inner_text() == "Half is less."
        assert slides.locator(".slide.now a").get_attribute("href") == f"{server.address}/fuse?w=1"
        assert faults == []
