"""What a person can do to a run."""

from __future__ import annotations

import json

import pytest

from core.base.errors import InputError, NotFound, StateError
from core.features.importing.actions import import_upload
from core.runs import actions
from core.runs.workspace import Workspace
from core.store import changes, notes, runs
from tests import cases
from tests.runs.cases import run_named


@pytest.mark.soak
def test_renaming_keeps_the_id(small_workspace: Workspace) -> None:
    before = run_named(small_workspace, "debate")
    after = actions.rename(small_workspace, "debate", "  better name ")
    assert (after.id, after.name) == (before.id, "better name")
    with small_workspace.store.read() as db:
        assert runs.find(db, before.id).name == "better name"
        with pytest.raises(NotFound, match="better name"):
            runs.find(db, "debate")


@pytest.mark.parametrize("name", ["", "   ", "x" * 121])
def test_names_that_are_none(small_workspace: Workspace, name: str) -> None:
    with pytest.raises(InputError, match="1 to 120"):
        actions.rename(small_workspace, "debate", name)


def test_a_taken_name_is_refused(small_workspace: Workspace) -> None:
    import_upload(small_workspace, cases.submission([("Pa_Ga", 0.1, 0.1, "none")]), "second.csv")
    with pytest.raises(StateError, match="taken"):
        actions.rename(small_workspace, "second", "debate")
    assert actions.rename(small_workspace, "second", "second").name == "second"


def test_public_score_and_note(small_workspace: Workspace) -> None:
    run = actions.set_values(small_workspace, "debate", {"public_score": "0.569", "note": " base "})
    assert (run.public_score, run.note) == (0.569, "base")
    run = actions.set_values(small_workspace, "debate", {"public_score": "", "note": ""})
    assert (run.public_score, run.note) == (None, None)


@pytest.mark.parametrize("value", ["high", "nan", "inf", "1.2", "-0.1"])
def test_scores_that_are_none(small_workspace: Workspace, value: str) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        actions.set_values(small_workspace, "debate", {"public_score": value})
    with pytest.raises(InputError, match="expected public_score"):
        actions.set_values(small_workspace, "debate", {"status": "done"})


def test_notes_belong_to_rows_and_runs(small_workspace: Workspace) -> None:
    actions.add_note(small_workspace, "debate", "Pa_Ga", "odd")
    actions.add_note(small_workspace, "debate", None, "all of it", author="Ada")
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        assert notes.of_row(db, run, "Pa_Ga")[["author", "text"]].to_numpy().tolist() == [
            ["tester", "odd"]
        ]
        assert set(notes.of_run(db, run)["text"]) == {"odd", "all of it"}
    with pytest.raises(NotFound, match="Pc_Gm12"):
        actions.add_note(small_workspace, "debate", "Pc_Gm12", "not in this run")
    with pytest.raises(InputError, match="empty"):
        actions.add_note(small_workspace, "debate", "Pa_Ga", "  ")


def test_a_note_can_be_taken_away(small_workspace: Workspace) -> None:
    note = actions.add_note(small_workspace, "debate", "Pa_Ga", "odd")
    actions.delete_note(small_workspace, note)
    with small_workspace.store.read() as db:
        assert notes.of_run(db, runs.find(db, "debate").id).empty
    with pytest.raises(InputError, match=note):
        actions.delete_note(small_workspace, note)


def test_only_its_author_deletes_a_note(small_workspace: Workspace) -> None:
    note = actions.add_note(small_workspace, "debate", "Pa_Ga", "odd", author="Ada")
    with pytest.raises(InputError, match=f"note '{note}': Ada wrote it, expected one by tester"):
        actions.delete_note(small_workspace, note)
    with small_workspace.store.read() as db:
        assert notes.author_of(db, note) == "Ada"


@pytest.mark.soak
def test_notes_on_figures_are_of_a_run(small_workspace: Workspace) -> None:
    actions.add_figure_note(
        small_workspace, "debate", "ROC curves", "./breakdown?part=Curves", "steep at first"
    )
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate")
        [found] = notes.of_dataset(db, run.dataset).to_dict("records")
    assert (found["run"], found["run_id"], found["figure"]) == ("debate", run.id, "ROC curves")
    assert (found["address"], found["author"], found["text"]) == (
        "./breakdown?part=Curves",
        "tester",
        "steep at first",
    )
    with pytest.raises(InputError, match="note on ROC curves: got an empty text"):
        actions.add_figure_note(small_workspace, "debate", "ROC curves", "./breakdown", " ")


@pytest.mark.soak
def test_deleting_a_run_keeps_its_notes_in_the_trail_and_its_file_can_come_again(
    small_workspace: Workspace,
) -> None:
    actions.add_note(small_workspace, "debate", "Pa_Ga", "worth keeping")
    actions.delete(small_workspace, "debate")
    with small_workspace.store.read() as db:
        assert runs.list_all(db) == []
        for table in ("prediction", "trace_event", "note"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]
        last = changes.latest(db).iloc[0]
    assert last["action"] == "delete"
    assert json.loads(last["detail"])["notes"][0]["text"] == "worth keeping"
    assert import_upload(small_workspace, cases.DEBATES, "debate.csv").new
