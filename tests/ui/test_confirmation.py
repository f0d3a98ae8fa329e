"""Every action says in one line what it did, with a link; the line goes with the next thing that somebody does."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

from core.features.importing import actions as imports
from core.runs import run_control
from core.runs.run_state import State, status_of
from core.runs.workspace import Workspace
from core.store import notes
from tests import cases, worlds
from tests.runs.killed import killed_run
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, the_run


def confirmation_of(app: AppTest) -> tuple[str, list[str]]:
    """What the page says that the last action did, and the labels of the links beside it; empty if it says nothing."""
    for block in app.main.children.values():
        inside = list(getattr(block, "children", {}).values())
        for line in [
            each for each in inside if each.type == "html" and 'role="status"' in each.proto.body
        ]:
            links = [_label(each) for each in inside if each.type in ("page_link", "markdown")]
            return html.unescape(line.proto.body.partition("✓ ")[2].removesuffix("</span>")), links
    return "", []


def _label(link: Element) -> str:
    """The words of a link to a page, or of one in Markdown."""
    return (
        link.proto.label
        if link.type == "page_link"
        else link.value.partition("]")[0].removeprefix("[")
    )


@pytest.mark.soak
def test_a_note_is_kept_and_confirmed_until_the_next_run(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pa_Gb")
    assert confirmation_of(app) == ("", [])
    app.text_area(key="note_text").input("is *this* an argument?")
    app.text_input(key="note_author").input("Ada")
    press(app, "Add note")
    assert "is *this* an argument?" in [text.value for text in app.text]
    with small_workspace.store.read() as db:
        stored = notes.of_row(db, the_run(small_workspace).id, "Pa_Gb")
    assert stored[["author", "text"]].to_numpy().tolist() == [["Ada", "is *this* an argument?"]]
    assert confirmation_of(app) == ("Note on Pa_Gb saved.", ["Rows with notes"])
    app.button(key="dismiss").click().run()
    assert confirmation_of(app) == ("", [])


def test_a_run_is_renamed_scored_remarked_on_and_deleted(
    visit: Visit, small_workspace: Workspace
) -> None:
    run = the_run(small_workspace)
    app = visit(small_workspace, "data", tab="Runs and notes")
    app.text_input(key=f"score-{run.id}").input("0.569")
    app.text_area(key=f"note-{run.id}").input("base")
    press(app, "Save")
    assert confirmation_of(app) == ("Saved debate.", ["Open rows"])
    app.text_input(key=f"name-{run.id}").input("<b>other</b>")
    press(app, "Save")
    assert confirmation_of(app) == ("Renamed debate to <b>other</b>.", ["Open rows"])
    assert "<b>" not in str([each.proto.body for each in app.get("html")])
    after = the_run(small_workspace, "<b>other</b>")
    assert (after.id, after.public_score, after.note) == (run.id, 0.569, "base")
    assert app.sidebar.selectbox(key="choose_run").options == ["<b>other</b>"]
    press(app, "Delete")
    assert confirmation_of(app) == (f"Deleted <b>other</b> with its {run.done} rows.", ["Changes"])


@pytest.mark.soak
def test_undo_says_what_went(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "data", tab="History")
    chosen = next(key for key in app.selectbox(key="undo_which").options if "train.csv" in key)
    app.selectbox(key="undo_which").select(chosen).run()
    app.toggle(key="undo_with_runs").set_value(True).run()
    press(app, "Undo import")
    assert not app.error
    with small_workspace.store.read() as db:
        assert not db.execute("SELECT name FROM run").fetchall()
    said, links = confirmation_of(app)
    assert said.startswith("Undone: train.csv with ")
    assert links == ["Changes"]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "links"), [("again.csv", ["Errors of again"]), ("test2.csv", ["Open the dataset"])]
)
def test_an_import_leads_to_what_came_of_it(
    visit: Visit, small_workspace: Workspace, name: str, links: list[str]
) -> None:
    files = {
        "again.csv": cases.submission([("Pa_Ga", 0.2, 0.3, "x")]),
        "test2.csv": cases.as_csv(["id", "pert", "gene"], [["Pd_Gd", "Pd", "Gd"]]),
    }
    app = visit(small_workspace, "data")
    app.file_uploader(key="upload").upload(name, files[name])
    app.run()
    press(app, "Import uploaded files")
    assert not app.error
    said, shown = confirmation_of(app)
    assert said.startswith(f"Imported {name}: ")
    assert shown == links


@pytest.mark.soak
def test_a_space_is_built_and_deleted(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "data", tab="Spaces and leaks")
    app.selectbox(key="build_kind").select("genes with similar responses in this dataset").run()
    app.text_input(key="build_name").input("mine").run()
    app.number_input(key="build_columns_coresponse").set_value(1).run()
    press(app, "Build")
    assert not app.error
    said, links = confirmation_of(app)
    assert said.startswith("Built mine: ")
    assert links == [
        "Changes"
    ]  # Neighbours does not offer a space that is built from the dataset's labels
    app.selectbox(key="space_gone").select("mine").run()
    press(app, "Delete space")
    assert confirmation_of(app) == ("Deleted mine.", ["Changes"])


@pytest.mark.soak
def test_a_space_leads_to_its_neighbours_without_what_neighbours_shows_anyway(
    visit: Visit, small_workspace: Workspace
) -> None:
    """A default in the address is taken out of it again, which would be one more step for the browser's "back"."""
    imports.import_upload(small_workspace, worlds.pack("descriptions"), "desc.json")
    app = visit(small_workspace, "data", tab="Spaces and leaks")
    for name, named in (("first", {}), ("second", {"space": ["second"]})):
        app.text_input(key="build_name").input(name).run()
        app.number_input(key="build_columns_text").set_value(1 if named else 2).run()
        press(app, "Build")
        assert not app.error
        link = next(
            each for each in app.get("page_link") if each.proto.label == "Open its neighbours"
        )
        assert {
            key: value
            for key, value in parse_qs(link.proto.query_string).items()
            if key not in ("dataset", "run")
        } == named


@pytest.mark.soak
def test_a_fetch_leads_to_what_it_brought(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = cases.as_csv(["id", "pert", "gene"], [["Pd_Gd", "Pd", "Gd"]])

    def fetch(workspace, group, progress):
        progress(f"{group}.csv", len(content), len(content))
        return [imports.import_upload(workspace, content, f"{group}.csv")]

    monkeypatch.setattr(imports, "fetch_and_import", fetch)
    app = press(visit(small_workspace, "data"), "Fetch and import")
    assert not app.error
    said, shown = confirmation_of(app)
    assert said.startswith("Imported challenge.csv: ")
    assert shown == ["Open the dataset"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("button", "action", "state", "failed", "said", "shown"),
    [
        ("Pause", "pause", "running", 0, "Pausing r.", ["Open rows"]),
        ("Stop", "cancel", "running", 0, "r stops; its results so far stay.", []),
        ("Resume", "resume", "paused", 0, "Resumed r.", ["Open rows"]),
        ("Retry failed rows", "retry", "done", 2, "Retrying 2 failed rows of r.", ["Open rows"]),
    ],
)
@pytest.mark.soak
def test_what_is_done_to_a_run_is_confirmed(
    visit: Visit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    button: str,
    action: str,
    state: State,
    failed: int,
    said: str,
    shown: list[str],
) -> None:
    workspace, run = killed_run(tmp_path)
    states, asked = run_control.states, []

    def pretend(of):
        return {key: pretended(each) for key, each in states(of).items()}

    def pretended(status):
        return replace(status, state=state, cause="", counts=replace(status.counts, failed=failed))

    monkeypatch.setattr(run_control, "states", pretend)
    monkeypatch.setattr(
        "core.runs.jobs.run_kind.status_of", lambda folder: pretended(status_of(folder))
    )
    for each in ("pause", "cancel", "resume", "retry"):
        monkeypatch.setattr(
            run_control, each, lambda _, key, each=each, **__: asked.append((each, key))
        )
    app = press(visit(workspace, "run", watched=run.id), button)
    assert not app.error
    assert asked == [(action, run.id)]
    assert confirmation_of(app) == (said, shown)
