"""A workspace, journals, bundles, a submission, a preset and links made by version 0.1.0 open, resume and import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.actions import run_control, runs
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.store import notes, traces
from core.store import runs as run_lines
from tests.bundled import everything, stored
from tests.commands import core_json
from tests.compatibility.old_files import check_journal, follow, import_file, journal_of, resume
from tests.ui.conftest import Visit, visit
from tests.ui.fuse import explorer_view
from tests.ui.fuse.explorer_view import move
from tests.ui.test_apptest import pair_of, text_of

__all__ = ["visit"]  # the fixture, which pytest finds by its name here

FILES = Path(__file__).parent / "0.1.0"
IDS: dict[str, str] = json.loads((FILES / "links.json").read_text())["runs"]
LINKS: dict[str, str] = json.loads((FILES / "links.json").read_text())["links"]
DATASET = "03b70bdf"
# As version 0.1.0 showed them: method, status, rows of the run, predicted rows, sums of prediction_up and prediction_down.
RUNS = {
    "argued": ("debate", "done", 6, 6, 1.6232, 1.0868),
    "asked": ("prompt_only", "done", 6, 6, 2.333333, 2.0),
    "fused": ("fusion", "done", 70, 70, 17.139335, 18.723341),
    "knn test": ("knn", "done", 6, 6, 1.671413, 1.412193),
    "llm test": ("unknown", "done", 6, 6, 1.3118, 1.6582),
    "llm train": ("unknown", "done", 70, 70, 20.7856, 17.9664),
    "recovered": ("recovered", "done", 70, 70, 16.784546, 18.215454),
    "rules": ("evidence_rules", "done", 6, 6, 1.628571, 1.971429),
    "run fusion": ("fusion", "done", 70, 70, 17.139335, 18.723341),
    "run knn": ("knn", "done", 70, 70, 14.639985, 21.001048),
    "saved knn": ("knn", "done", 70, 70, 14.639985, 21.001048),
    "stopped by its budget": ("prompt_only", "budget", 30, 2, 0.333333, 1.0),
}
KILLED_ROWS, KILLED_JOURNALLED = 20, 7


@pytest.fixture
def emptied(old: Workspace) -> Workspace:
    """The same pairs without a run."""
    for run in reversed(IDS.values()):
        runs.delete(old, run)
    with old.store.read() as db:
        assert run_lines.list_all(db) == []
    return old


def test_every_run_is_listed_with_its_counts_and_predictions(old: Workspace) -> None:
    lines = {line["name"]: line for line in core_json(old.settings.workspace, "runs")["runs"]}
    assert {name: line["id"] for name, line in lines.items()} == IDS
    for name, (method, status, total, predicted, up, down) in RUNS.items():
        line = lines[name]
        assert (line["method"], line["status"], line["total"], line["done"]) == (method, status, total, predicted), name
        with old.store.read() as db:
            rows = [row.prediction for row in traces.rows(db, IDS[name]).values()]
        assert len(rows) == predicted
        assert sum(row.prediction_up for row in rows) == pytest.approx(up, abs=1e-5), name
        assert sum(row.prediction_down for row in rows) == pytest.approx(down, abs=1e-5), name
    with old.store.read() as db:
        assert notes.of_row(db, IDS["argued"], "Q0_H0")["text"].tolist() == ["a note"]
        fused = run_lines.find(db, "fused")
    assert (fused.public_score, fused.note, fused.parents) == (0.6, "the best", (IDS["llm train"], IDS["saved knn"]))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["argued", "asked", "run fusion", "run knn", "rules", "stopped by its budget"])
def test_the_journal_says_what_the_store_says(old: Workspace, name: str) -> None:
    check_journal(old, name)


def test_the_killed_run_resumes_and_no_row_is_asked_for_again(old: Workspace, server: str) -> None:
    journal = journal_of(old, "killed")
    before = journal.read_bytes()
    written = before[: before.rindex(b"\n") + 1]
    assert (written.count(b"\n"), before.endswith(b"\n")) == (KILLED_JOURNALLED, False)
    assert run_control.states(old)[IDS["killed"]].state == "crashed"
    assert run_control.settle(old, "killed").done == KILLED_JOURNALLED
    finished = resume(old, "killed", server)
    assert (finished.id, finished.status, finished.done, finished.failed) == (IDS["killed"], "done", KILLED_ROWS, 0)
    assert journal.read_bytes().startswith(written)


@pytest.mark.soak
def test_the_run_that_its_budget_stopped_resumes(old: Workspace, server: str) -> None:
    finished = resume(old, "stopped by its budget", server)
    assert (finished.status, finished.done, finished.total, finished.tokens_unknown) == ("done", 30, 30, 0)
    assert finished.tokens is not None
    assert finished.tokens > 1765  # what its first two rows cost


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["argued", "fused"])
def test_a_bundle_comes_into_a_workspace_that_has_its_pairs(unpacked: Path, emptied: Workspace, name: str) -> None:
    outcome = import_file(emptied, FILES / f"{name}.bundle.zip")
    assert (outcome.name, outcome.rows, outcome.new) == (name, RUNS[name][3], True)
    ours = stored(open_workspace(Settings(workspace=unpacked)), name)
    assert {table: rows for table, rows in stored(emptied, name).items() if rows != ours[table]} == {}
    with emptied.store.read() as db:
        assert run_lines.find(db, name).id == IDS[name]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["argued", "fused"])
def test_a_bundle_changes_nothing_where_its_run_is(old: Workspace, name: str) -> None:
    before = everything(old)
    outcome = import_file(old, FILES / f"{name}.bundle.zip")
    assert (outcome.name, outcome.new) == (name, False)
    assert "with the same content; nothing changed" in outcome.message
    assert everything(old) == before


def test_the_packaged_submission_comes_in_with_whole_rows(old: Workspace) -> None:
    outcome = import_file(old, FILES / "argued.zip")
    assert (outcome.kind, outcome.rows, outcome.rejected) == ("submission", 6, ())
    with old.store.read() as db:
        sent, back = traces.rows(db, IDS["argued"]), traces.rows(db, run_lines.find(db, outcome.name).id)
        assert run_lines.find(db, outcome.name).method == "debate"
    for key, row in sent.items():
        assert back[key].events == row.events
        assert back[key].prediction == row.prediction


def test_the_preset_is_there_with_its_values(old: Workspace) -> None:
    knn = IDS["saved knn"]
    with old.store.read() as db:
        named = notes.presets_of_page(db, "what-if")
    values = {"over": "these rows", f"w_de_{knn}": 0.5, f"w_dir_{knn}": 0.7, "space": ["near"], "power": 2.0}
    assert named == {"mine": values}
    runs.delete_preset(old, "what-if", "mine")


def followed(visit: Visit, workspace: Workspace, link: str) -> AppTest:
    """The page that a link of version 0.1.0 leads to."""
    app = follow(visit, workspace, LINKS[link].format(d=DATASET))
    assert not app.warning
    return app


@pytest.mark.soak
def test_a_link_to_a_debate_shows_its_row(visit: Visit, old: Workspace) -> None:
    app = followed(visit, old, "debates")
    assert pair_of(app) == "### *Q0* ⟶ *H0*"
    assert "a note" in text_of(app)


@pytest.mark.soak
def test_a_link_to_what_if_shows_the_same_fusion_and_its_preset(visit: Visit, old: Workspace) -> None:
    app = followed(visit, old, "what_if")
    knn = IDS["saved knn"]
    assert [explorer_view.state_of(app)[name] for name in ("de", "up")] == [[0.5], [0.7]]
    move(app, **{f"w_de_{knn}": 0.1}).button(key="preset-mine").click().run()
    assert [explorer_view.state_of(app)[name] for name in ("de", "up")] == [[0.5], [0.7]]
    assert not app.exception


@pytest.mark.soak
def test_a_link_to_neighbours_shows_its_row_and_settings(visit: Visit, old: Workspace) -> None:
    app = followed(visit, old, "neighbours")
    assert "### *P0* ⟶ *G0*" in text_of(app)
    assert app.session_state["power"] == 3.0
    assert app.session_state["space"] == ["near"]


@pytest.mark.soak
def test_a_link_to_compare_shows_its_runs(visit: Visit, old: Workspace) -> None:
    text = text_of(followed(visit, old, "compare"))
    assert "fused" in text
    assert "llm train" in text
