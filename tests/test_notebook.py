"""The example notebook runs from top to bottom, and its score is the app's."""

from __future__ import annotations

import json

import pytest

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace
from core.scoring import run_scores

NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"


@pytest.mark.soak
def test_the_notebook_runs_on_the_demo(
    demo_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(demo_workspace.settings.workspace))
    names = {}
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}, cell {number}", "exec"), names)
            assert cell["outputs"] == []  # the file holds no data
    with demo_workspace.store.read() as db:
        shown = run_scores.score_run(run_scores.load_scored_rows(db, names["chosen"].id))
    assert shown.whole.n_labelled > 0
    assert names["score"].whole == shown.whole
    assert names["page"].startswith(b"<!doctype html>")
