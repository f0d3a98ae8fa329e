"""Data, tab Cells: the screen behind a dataset, what is found in a file before anything is computed, and what was started."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from core.actions import cells
from core.actions.imports import import_upload
from core.actions.label_request import LabelRequest
from core.actions.workspace import Workspace
from core.store import runs
from tests import cases
from tests.cells.cases import write_case
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


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
    assert len(app.get("plotly_chart")) == 4
    [which] = [box for box in app.selectbox if box.label == "Perturbation"]
    assert len(which.options) == 20
    assert not app.exception


@pytest.mark.soak
def test_other_datasets_say_what_a_screen_is(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "data", tab="Import")
    assert "was not made from a file of single cells" in text_of(app)
    assert not app.get("plotly_chart")


def test_a_file_is_described_and_a_start_carries_what_was_filled_in(
    visit: Visit, workspace: Workspace, screen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[object, ...]] = []
    monkeypatch.setattr(cells, "start_labels", lambda *given: started.append(given[1:]))
    monkeypatch.setenv("PERTURBDESK_IMPORT_ROOTS", str(screen.parent))
    app = visit(workspace, "data", tab="Import", cells_path=str(screen), cells_name="lab", cells_least="4")
    assert "perturbations of one gene: 20" in text_of(app)
    next(button for button in app.button if button.label == "Make the dataset").click().run()
    [(path, asked, *_)] = started
    assert isinstance(asked, LabelRequest)
    assert (path, asked.name) == (str(screen), "lab")
    assert asked.settings.sampling.least_effects == 4


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["table", "cells"])
def test_predictions_are_previewed_with_what_is_left_out(
    visit: Visit, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    folder = workspace.settings.workspace
    folder.mkdir(parents=True, exist_ok=True)
    import_upload(workspace, cases.as_csv(["id", "pert", "gene", "label"], [("A_G", "A", "G", "up")]), "train.csv")
    perts, genes = ["A", "A+ctrl", "A+B", "ctrl", "nan", "B"], ["G", "H"]
    path = folder / ("model.csv" if kind == "table" else "model.h5ad")
    if kind == "table":
        lines = [f"{pert},{gene},0.5" for pert in perts for gene in genes]
        path.write_text("\n".join(["pert,gene,log2_fc", *lines]))
    else:
        index = pd.Index([f"c{i}" for i in range(6)], dtype=object)
        obs = pd.DataFrame({"condition": pd.Series(perts, index=index, dtype=object)})
        var = pd.DataFrame(index=pd.Index(genes, dtype=object))
        anndata.AnnData(X=np.full((6, 2), 50, dtype=np.float32), obs=obs, var=var).write_h5ad(path)
    monkeypatch.setenv("PERTURBDESK_IMPORT_ROOTS", str(folder))
    text = text_of(visit(workspace, "data", tab="Import", predicted_path=str(path)))
    n, what = (2, "rows") if kind == "table" else (1, "cells")
    assert f"controls: {n} {what}: ctrl ({n})" in text
    assert f"perturbations of several genes: {n} {what}: A+B ({n})" in text
    assert f"missing, left out: {n} {what}: 'nan' ({n})" in text
    with workspace.store.read() as db:
        assert runs.list_all(db) == []  # nothing is made before it is asked for
