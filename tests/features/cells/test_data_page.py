"""Data, tab Cells: the screen behind a dataset, what is found in a file before anything is computed, and what was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.features.cells import actions as cells
from core.features.cells.actions import LabelRequest
from core.runs.workspace import Workspace
from core.store import runs
from tests.features.cells.cases import write_case
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

pytestmark = pytest.mark.soak


@pytest.fixture
def screen(workspace: Workspace) -> Path:
    path = workspace.settings.workspace / "screen.h5ad"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_case(path)
    return path


def test_a_made_dataset_shows_its_screen(visit: Visit, workspace: Workspace, screen: Path) -> None:
    made = cells.label_cells(workspace, screen, LabelRequest("lab"), lambda _: None)
    app = visit(workspace, "data", tab="Import")
    text = text_of(app)
    assert f"lab: {made.record['rows']:,} pairs" in text.replace("\\", "")
    assert "Fold changes are not shrunk" in text
    assert len(app.get("plotly_chart")) == 3
    [which] = [box for box in app.selectbox if box.label == "Perturbation"]
    assert len(which.options) == 20


def test_other_datasets_say_what_a_screen_is(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "data", tab="Import")
    assert "was not made from a file of single cells" in text_of(app)
    assert not app.get("plotly_chart")


def test_a_file_is_described_and_a_start_carries_what_was_filled_in(
    visit: Visit, workspace: Workspace, screen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    monkeypatch.setattr(cells, "start_labels", lambda *given: started.append(given[1:]))
    monkeypatch.setenv("PERTURBDESK_IMPORT_ROOTS", str(screen.parent))
    app = visit(
        workspace, "data", tab="Import", cells_path=str(screen), cells_name="lab", cells_least="4"
    )
    assert "perturbations of one gene: 20" in text_of(app)
    next(button for button in app.button if button.label == "Make the dataset").click().run()
    [(path, asked, *_)] = started
    assert isinstance(asked, LabelRequest)
    assert (path, asked.name) == (str(screen), "lab")
    assert asked.settings.sampling.least_effects == 4


PATH, MAKE = "predicted_path", "Make a run from the file"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERTURBDESK_IMPORT_ROOTS", str(tmp_path))
    path = tmp_path / "model.csv"
    path.write_text("knockdown,gene,log2_fc\nPa,Ga,0.9\nPa,Gb,-0.1\nPb,Ga,-1.5\nPb,Gb,0.3\n")
    return path


def test_a_table_becomes_a_run_once_its_columns_are_named(
    visit: Visit, small_workspace: Workspace, table: Path
) -> None:
    app = visit(small_workspace, "data")
    assert next(button for button in app.button if button.label == MAKE).disabled
    app.text_input(key=PATH).set_value(str(table)).run()
    next(button for button in app.button if button.label == MAKE).click().run()
    [error] = app.error
    assert "no table of predicted changes" in error.value
    assert "knockdown" not in error.value  # pages say nothing of what a file on this machine holds
    app.text_input(key="predicted_name").set_value("model one").run()
    app.text_input(key="predicted_pert").set_value("knockdown").run()
    next(button for button in app.button if button.label == MAKE).click().run()
    assert not app.error
    assert "Imported model.csv: predicted expression" in text_of(app)
    run = the_run(small_workspace, "model one")
    with small_workspace.store.read() as db:
        assert runs.find(db, "model one").spec["read_as"]["pert"] == "knockdown"
    app = visit(small_workspace, "data", tab="Runs and notes", run=run.id)
    [record] = [element for element in app.main.expander if element.label.startswith("Record")]
    assert "read_as: {'gene': 'gene', 'log2_fc': 'log2_fc', 'pert'" in record.text[0].value
    assert "maps: {'DE': " in record.text[0].value


def test_a_path_outside_is_refused(visit: Visit, small_workspace: Workspace, table: Path) -> None:
    assert table.exists()
    app = visit(small_workspace, "data")
    app.text_input(key=PATH).set_value("/etc/passwd.csv").run()
    next(button for button in app.button if button.label == MAKE).click().run()
    assert [
        "outside the folders from which pages may import" in error.value for error in app.error
    ] == [True]
