"""Data, tab Notes: listed, linked, deleted by their author alone; and the menu of a figure, where some are written."""

from __future__ import annotations

import pytest

from core.runs import actions
from core.runs.workspace import Workspace
from core.store import notes
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of, the_run


@pytest.fixture
def noted(small_workspace: Workspace) -> Workspace:
    """One note on a row, one on the run by somebody else, one on a figure."""
    actions.add_note(small_workspace, "debate", "Pa_Ga", "odd row")
    actions.add_note(small_workspace, "debate", None, "odd run", author="Ada")
    actions.add_figure_note(
        small_workspace, "debate", "ROC curves", "./scores?part=Curves", "steep"
    )
    return small_workspace


@pytest.mark.soak
def test_notes_are_listed_with_links_to_what_they_are_about(visit: Visit, noted: Workspace) -> None:
    run = the_run(noted)
    table = visit(noted, "data", tab="Runs and notes").dataframe[0].value
    assert dict(zip(table["note"], table["about"], strict=True)) == {
        "steep": "./scores?part=Curves#ROC curves",
        "odd run": f"./rows?dataset={run.dataset}&run={run.id}#the run",
        "odd row": f"./rows?dataset={run.dataset}&run={run.id}&row=Pa_Ga#Pa ⟶ Ga",
    }
    assert dict(zip(table["note"], table["by"], strict=True)) == {
        "steep": "tester",
        "odd run": "Ada",
        "odd row": "tester",
    }


@pytest.mark.soak
def test_ones_own_note_is_deleted(visit: Visit, noted: Workspace) -> None:
    app = visit(noted, "data", tab="Runs and notes")
    [which] = [box for box in app.selectbox if box.label == "Delete a note of yours"]
    assert which.options == ["steep", "odd row"]  # newest first, none of Ada's
    which.select_index(1).run()
    press(app, "Delete the note")
    with noted.store.read() as db:
        assert set(notes.of_dataset(db, the_run(noted).dataset)["text"]) == {"steep", "odd run"}


def test_a_reader_deletes_nothing(
    visit: Visit, noted: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    app = visit(noted, "data", tab="Runs and notes")
    assert len(app.dataframe[0].value) == 3
    assert [button.label for button in app.button if button.label == "Delete the note"] == []


@pytest.mark.soak
def test_without_notes_the_tab_says_where_to_write_one(
    visit: Visit, small_workspace: Workspace
) -> None:
    assert "Write them below a row of Rows" in text_of(
        visit(small_workspace, "data", tab="Runs and notes")
    )


@pytest.mark.soak
def test_a_figure_says_how_many_notes_the_run_has_on_it(visit: Visit, noted: Workspace) -> None:
    run = the_run(noted)
    app = visit(noted, "rows", run=run.id, tab="Audit")
    assert app.button(key="note-brief-lengths").label == ""  # that note is on another figure
    actions.add_figure_note(noted, "debate", "Lengths of the briefs", "./rows?tab=Audit", "short")
    app = visit(noted, "rows", run=run.id, tab="Audit")
    assert app.button(key="note-brief-lengths").label == "1"
    app.button(key="note-brief-lengths").click().run()
    [shown] = [text.value for text in app.text if "short" in text.value]
    assert shown.startswith("tester, ")
    assert shown.endswith("\nshort")
