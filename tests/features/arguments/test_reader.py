"""Reading texts by keyboard: what is stored, and that nothing gives an answer away before it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from core.features.arguments import labels, readings
from core.features.arguments.page import reader
from core.features.arguments.page.reader import Progress, Reading
from core.features.arguments.rubric_tables import Sample, TextLabel
from core.runs.workspace import Workspace
from core.store import changes, runs
from tests import worlds
from tests.features.arguments.reading import (
    CONTENT,
    RUBRIC,
    stored,
    wait_for_text,
    wait_until_stored,
)
from tests.ui.conftest import OpenTab, Visit, components, settle
from tests.ui.serving import Server, chromium, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

N = 10  # of the twelve briefs of "debate" in tests/cases.py


def drawn(workspace: Workspace) -> Sample:
    readings.add_rubric(workspace, RUBRIC)
    return labels.draw_sample(workspace, RUBRIC, "debate", N)


def reading_of(workspace: Workspace, author: str = "Ada") -> Reading:
    sample = drawn(workspace)
    with workspace.store.read() as db:
        return Reading(workspace, RUBRIC, runs.find(db, "debate"), sample, author)


def item(n: int, reading: Reading, place: int, act: str, answer: str = "") -> dict[str, Any]:
    text = reading.sample.texts[place]
    return {"n": n, "key": f"{text.pair_id}/{text.seq}", "act": act, "answer": answer}


def test_what_comes_twice_is_done_once_and_in_its_order(small_workspace: Workspace) -> None:
    reading, progress = reading_of(small_workspace), Progress()
    sent = [
        item(1, reading, 0, "answer", "yes"),
        item(2, reading, 1, "answer", "no"),
        item(3, reading, 1, "back"),
    ]
    reader.apply(reading, progress, sent)
    reader.apply(
        reading,
        progress,
        [*sent, item(4, reading, 1, "answer", "yes"), item(5, reading, 2, "skip")],
    )
    assert progress.acknowledged == 5
    said = stored(small_workspace, "debate")
    assert [(each.pair_id, each.seq, each.role) for each in said] == [
        (text.pair_id, text.seq, text.role) for text in reading.sample.texts[:2]
    ]
    assert {(each.answer, each.author, each.sample) for each in said} == {
        ("yes", "Ada", reading.sample.id)
    }


def test_an_answer_that_cannot_be_stored_stops_all_after_it(small_workspace: Workspace) -> None:
    reading, progress = reading_of(small_workspace), Progress()
    reader.apply(
        reading,
        progress,
        [item(1, reading, 0, "answer", "perhaps"), item(2, reading, 1, "answer", "no")],
    )
    assert "answer 'perhaps', expected yes, no" in progress.error
    assert (progress.acknowledged, stored(small_workspace, "debate")) == (0, [])
    reader.apply(
        reading,
        progress,
        [item(1, reading, 0, "answer", "yes"), item(2, reading, 1, "answer", "no")],
    )
    assert (progress.error, progress.acknowledged, len(stored(small_workspace, "debate"))) == (
        "",
        2,
        2,
    )


def read_ahead(small_workspace: Workspace, visit: Visit) -> tuple[Mapping[str, Any], str]:
    """What the browser gets of the reader, and everything else on the page."""
    app = visit(small_workspace, "arguments", run="debate", tab="Label", rubric=RUBRIC.name)
    [found] = components(app, "reader")
    parts = [str(each.proto) for each in (*app.main, *app.sidebar)]
    return json.loads(found.json), "\n".join(parts)


def change_what_is_hidden(workspace: Workspace) -> None:
    """Give every row another label, prediction and answer of a model, and every text another probability."""
    with workspace.store.write() as db:
        run = runs.find(db, "debate").id
        db.execute(
            "UPDATE pair SET label = CASE label WHEN 'up' THEN 'down' WHEN 'none' THEN 'up' WHEN 'down' THEN 'none' END"
        )
        db.execute(
            "UPDATE prediction SET p_de = 0.9, p_up_given_de = 0.1, prediction_up = 0.09, prediction_down = 0.81"
        )
        db.execute("UPDATE sampled_text SET probability = probability / 3")
        changes.bump(db, "datasets", "runs", "labels", f"run:{run}")


def test_nothing_that_gives_an_answer_away_reaches_the_browser(
    small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = drawn(small_workspace)
    judged = readings.answers

    def refuse(*_, **__):
        raise AssertionError("the judge was asked before the answer")

    monkeypatch.setattr(readings, "answers", refuse)
    sent, page = read_ahead(small_workspace, visit)
    assert {frozenset(text) for text in sent["texts"]} == {
        frozenset({"key", "row", "pert", "gene", "role", "stage", "content"})
    }
    assert [text["key"] for text in sent["texts"]] == [
        f"{text.pair_id}/{text.seq}" for text in sample.texts
    ]
    assert (sent["last"], sent["done"], sent["total"]) == (None, 0, N)
    change_what_is_hidden(small_workspace)
    assert read_ahead(small_workspace, visit) == (sent, page)
    monkeypatch.setattr(readings, "answers", judged)
    first = sample.texts[0]
    given = TextLabel(first.pair_id, first.seq, first.role, "no", "tester")
    labels.give_labels(small_workspace, RUBRIC, "debate", [given])
    sent, _ = read_ahead(small_workspace, visit)
    assert (sent["last"]["key"], sent["done"], len(sent["texts"])) == (
        f"{first.pair_id}/{first.seq}",
        1,
        N - 1,
    )


def test_a_reader_without_the_right_to_write_cannot_label(
    small_workspace: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(small_workspace)
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(small_workspace, "arguments", run="debate", tab="Label")
    assert "you cannot label texts here" in "\n".join(str(each.value) for each in app.main.markdown)
    assert "reader" not in {each.proto.component_name for each in app.get("bidi_component")}
    assert not app.main.button


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace in which this file labels."""
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("labels") / "workspace")
    worlds.import_small(workspace)
    drawn(workspace)
    return workspace


@pytest.fixture(scope="module")
def server(own: Workspace) -> Iterator[Server]:
    if chromium() is None:
        pytest.skip("needs Chromium on the path")
    with serving(own.settings.workspace) as started:
        yield started


@pytest.fixture
def page(open_tab: OpenTab, server: Server, own: Workspace) -> Page:
    """The first text of a sample that nobody has read."""
    with own.store.write() as db:
        db.execute("DELETE FROM text_label")
        changes.bump(db, "labels")
    opened = open_tab()
    opened.goto(server.url("arguments", run="debate", tab="Label", rubric=RUBRIC.name))
    wait_for_text(opened)
    settle(opened)
    return opened


def progress(page: Page) -> str:
    return page.locator(".reader .progress").inner_text()


@pytest.mark.soak
@pytest.mark.browser
def test_keys_answer_go_back_and_skip_and_every_answer_is_stored(
    page: Page, own: Workspace
) -> None:
    for key in ("y", "2", "n", "1", "Backspace"):
        page.keyboard.press(key)
    assert progress(page) == f"3 of {N} read"
    wait_until_stored(page)
    assert [label.answer for label in stored(own, "debate")] == ["yes", "no", "no"]
    fourth = page.locator(".reader .about").inner_text()
    page.keyboard.press("s")  # it comes again at the end
    for _ in range(N - 4):
        assert page.locator(".reader .about").inner_text() != fourth
        page.keyboard.press("y")
    assert page.locator(".reader .about").inner_text() == fourth
    wait_until_stored(page)
    page.reload()
    wait_for_text(page)
    assert progress(page) == f"{N - 1} of {N} read"
    assert page.locator(".reader .about").inner_text() == fourth
    page.get_by_role("button", name="2no").click()
    page.get_by_text("You have read every text of this sample.").wait_for()
    wait_until_stored(page)
    assert len(stored(own, "debate")) == N
    page.keyboard.press("u")
    assert page.locator(".reader .about").inner_text() == fourth
    wait_until_stored(page)
    assert len(stored(own, "debate")) == N - 1


@pytest.mark.soak
@pytest.mark.browser
def test_a_tab_that_is_closed_at_once_loses_no_answer(
    page: Page, own: Workspace, server: Server
) -> None:
    for key in ("y", "n", "y", "n"):
        page.keyboard.press(key)
    again = page.context.new_page()
    page.close()
    again.goto(server.url("arguments", run="debate", tab="Label", rubric=RUBRIC.name))
    wait_for_text(again)
    wait_until_stored(again)
    assert [label.answer for label in stored(own, "debate")] == ["yes", "no", "yes", "no"]


@pytest.mark.soak
@pytest.mark.browser
def test_the_page_holds_nothing_of_label_prediction_and_judge_before_the_answer(
    page: Page, own: Workspace, server: Server
) -> None:
    def content():
        page.goto(server.url("arguments", run="debate", tab="Label", rubric=RUBRIC.name))
        wait_for_text(page)
        settle(page)
        page.mouse.move(0, 0)
        # React numbers its elements in the order in which they happened to be made.
        return [re.sub(r":r[0-9a-z]+:", ":r:", part) for part in page.evaluate(CONTENT)]

    before = content()
    text = page.locator(".reader .text").inner_text()
    assert any(text in part for part in before)  # it sees what the reader shows
    change_what_is_hidden(own)
    assert content() == before
    page.keyboard.press("y")
    wait_until_stored(page)
    assert not {"the judge's answer", "prediction"} & set(page.evaluate(CONTENT))
    with page.context.expect_page() as opened:
        page.keyboard.press("p")
    opened.value.get_by_text("90%").first.wait_for()  # of the row, in another tab


@pytest.mark.soak
@pytest.mark.browser
def test_an_answer_that_cannot_be_stored_is_said_and_waits(page: Page, own: Workspace) -> None:
    with own.store.write() as db:
        db.execute("UPDATE trace_event SET kind = 'other' WHERE kind = 'brief'")
    page.keyboard.press("y")
    page.get_by_text("Not stored:").wait_for()
    page.keyboard.press("y")  # nothing goes on
    assert progress(page) == f"1 of {N} read"
    with own.store.write() as db:
        db.execute("UPDATE trace_event SET kind = 'brief' WHERE kind = 'other'")
    page.get_by_role("button", name="Try again").click()
    wait_until_stored(page)
    assert [label.answer for label in stored(own, "debate")] == ["yes"]
