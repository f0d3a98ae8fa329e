"""Scores, tab Genes and perturbations: cell-eval's table for the file of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions.cell_predictions import PredictionOptions, import_predictions
from core.actions.workspace import Workspace
from core.store import cell_evaluations, changes
from core.store.cell_evaluations import StoredEvaluation
from core.types import PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS
from core.ui.scores.other_scores import table_of
from tests.actions.test_cell_evaluation import TABLE
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

TAB = {"part": "Genes and perturbations"}
HEADING = "cell-eval's table for the same file"


@pytest.fixture
def run(small_workspace: Workspace, tmp_path: Path) -> str:
    path = tmp_path / "model.csv"
    path.write_text("pert,gene,log2_fc\nPa,Ga,0.9\nPa,Gb,-0.1\nPb,Ga,-1.5\nPb,Gb,0.3\n")
    import_predictions(small_workspace, path, PredictionOptions(name="model"))
    found = the_run(small_workspace, "model")
    assert found.method in (PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS)
    return found.id


def test_the_table_stands_beside_our_scores(visit: Visit, small_workspace: Workspace, run: str) -> None:
    with small_workspace.store.write() as db:
        cell_evaluations.put(db, StoredEvaluation(run, "a", "real.h5ad", "b", TABLE.as_json(), "tester"))
        changes.bump(db, f"run:{run}")
    app = visit(small_workspace, "scores", run=run, **TAB)
    assert not app.exception
    said = text_of(app).replace("\\", "")
    assert HEADING in said
    assert "cell-eval 0.6.8 on all genes of both files, against real.h5ad" in said
    assert "3 perturbations, 20 genes, 300 predicted and 300 real cells" in said
    assert "1 genes only in the real cells" in said
    frame = next(each.value for each in app.dataframe if "metric" in each.value)
    assert frame.iloc[0].to_dict() == {
        "about": "expression", "metric": "mae", "mean": 0.25, "SD": 0.1, "lowest": 0.1, "highest": 0.4, "n": 3, "best": "0",
    }  # fmt: skip


def test_it_says_why_there_is_none(visit: Visit, small_workspace: Workspace, run: str) -> None:
    app = visit(small_workspace, "scores", run=run, **TAB)
    assert "made from a table of predicted changes, but cell-eval needs predicted cells" in text_of(app)
    other = visit(small_workspace, "scores", run=the_run(small_workspace, "debate").id, **TAB)
    assert HEADING not in text_of(other)


def test_metrics_are_grouped_by_what_they_ask() -> None:
    assert table_of(TABLE)["about"].tolist() == ["expression"]
